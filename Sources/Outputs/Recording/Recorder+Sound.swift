import Defragment
import RTPWire

/// Sound, beside the pictures of a file or alone in it.
extension Recorder {
  /// How far sound may be ahead of the pictures, beyond what has passed since the last one came.
  private static let greatestLead = Duration.seconds(5)
  /// Less sound than this, at the end, makes no file of its own: it may be the last unit, or what
  /// an encoder had left.
  private static let shortestSound = Duration.milliseconds(300)
  /// More pieces than this, of any length, make one.
  private static let mostSound = 512

  /// Ends a file of sound alone if another can begin with `unit`, and only then: until then, the
  /// sound would be in no file.
  mutating func endSoundAlone(before unit: AccessUnit) throws(RecordingError) {
    _ = entries.noteSets(of: unit)
    guard configuration.container.holdsPictures, entries.isEntry(unit), !isPausing else { return }
    input.flush()
    try drain()
    let hadFile = if case .recording = state { true } else { false }
    let entries = entries
    try end(because: .track)
    guard !hadFile || configuration.canContinue else { throw .cannotChange(.track) }
    self.entries = entries
    input.endSoundAlone()
  }

  mutating func take(_ sample: SoundTrack.Sample) throws(RecordingError) {
    if input.isSoundOnly {
      guard try beginSoundFile(with: sample) else { return }
    } else if isFar(sample) {
      unfiled += sample.items
      return
    }
    switch takeState() {
    case .waiting:
      leaveEarlySound()
      earlySound = sample
    case .opening(var opening):
      let isEarly = !sample.canBegin(at: opening.first.time.nanoseconds)
      if isEarly { unfiled += sample.items } else { opening.append(sample) }
      state = .opening(opening)
      if !isEarly { try openIfReady() }
    case .recording(var file):
      if file.takes(sample) {
        write(sample, to: &file)
      } else {
        unfiled += sample.items
        if sample.sound != file.sound { noteOmission(from: file) }
      }
      state = .recording(file)
    }
  }

  /// Gives the last sound from before the first picture to `opening`, if it can begin with that.
  mutating func takeEarlySound(into opening: inout RecordingOpening) {
    guard let sample = earlySound, sample.canBegin(at: opening.first.time.nanoseconds) else {
      return leaveEarlySound()
    }
    earlySound = nil
    opening.append(sample)
  }

  /// The last sound from before the first picture is in no file.
  mutating func leaveEarlySound() {
    unfiled += earlySound?.items ?? 0
    earlySound = nil
  }

  /// Whether `sample` is so far ahead of the pictures that its time is wrong: in a file, it would
  /// keep out the sound after it.
  private func isFar(_ sample: SoundTrack.Sample) -> Bool {
    guard let newestPicture else { return false }
    let passed = max(0, newestPicture.arrival.nanoseconds(to: sample.arrival))
    return sample.start.subtractingSaturating(newestPicture.time).subtractingSaturating(passed)
      > Self.greatestLead.wholeNanoseconds
  }

  /// Notes that sound is not in `file`, which is a pipe and thus not followed by one that has it.
  private mutating func noteOmission(from file: RecordingFile) {
    guard !configuration.canContinue else { return }
    omission =
      file.sound == nil
      ? "it began after the header of a pipe, which is written once"
      : "its format changed, and the header of a pipe is written once"
  }

  /// Begins a file of sound alone, where one has to begin with `sample`.
  ///
  /// - Returns: whether `sample` can be recorded now; otherwise it waits for more.
  private mutating func beginSoundFile(
    with sample: SoundTrack.Sample
  ) throws(RecordingError) -> Bool {
    let time = MediaTime(ticks: sample.start, timescale: 1_000_000_000)
    if let reason = soundContinuity.judge(.sound, at: time, arrival: sample.arrival) {
      try separate(because: reason, at: time)
    }
    if case .recording(let file) = state {
      if file.sound != sample.sound {
        try end(because: .track)
        guard configuration.canContinue else { throw .cannotChange(.track) }
      } else if configuration.canContinue,
        let reason = reasonToEnd(
          after: file.age(at: sample.start), clockOffset: file.clockOffset)
      {
        guard reason == .time else {
          try end(because: reason)
          return try beginSoundFile(with: sample)
        }
        nextSound.append(sample)
        let enough = min(Self.shortestSound, configuration.segment ?? Self.shortestSound)
        let length = sample.start.subtractingSaturating(nextSound[0].start)
        // Times that stand still would have it grow for ever.
        guard length >= enough.wholeNanoseconds || nextSound.count >= Self.mostSound else {
          return false
        }
        let sound = nextSound
        nextSound = []
        try end(because: .time)
        for sample in sound { try take(sample) }
        return false
      }
    }
    guard case .waiting = state, !isPausing else { return true }
    var file: RecordingFile
    do {
      file = try RecordingFile(first: sample, configuration)
    } catch {
      // Where nothing could be recorded before, nothing else is to be expected.
      guard hasBegun else { throw error }
      try refuse(sample.items, error)
      return false
    }
    begin(&file)
    state = .recording(file)
    return true
  }

  mutating func write(_ sample: SoundTrack.Sample, to file: inout RecordingFile) {
    do {
      if let record = try file.write(sample) { actions.append(.write(record)) }
    } catch {
      unfiled += sample.items
    }
  }
}
