import Defragment
import NIOCore
import RTPProcessor
import RTPWire

/// The sound beside the pictures, or without them.
extension Reception {
  /// After such a pause, another source on the same channel is the sound.
  private static let patienceWithSound: Duration = .seconds(2)
  /// How long sound waits for the first picture.
  private static let patienceWithPictures: Duration = .seconds(2)
  /// More units of sound than come in that time.
  private static let mostHeld = 1024

  /// When sound that waits for the first picture waits no longer.
  var soundDeadline: Instant? {
    heldSound.first?.lastArrival.advanced(by: Self.patienceWithPictures)
  }

  /// Packets of sound in order so far.
  var soundDelivered: UInt64 { soundTrack.map { others[$0].processor.statistics.delivered } ?? 0 }

  /// Whether sound alone shows that the far end is alive: there is no video, or nobody takes it.
  var livesBySound: Bool {
    guard let soundTrack, configuration.wantsSound else { return false }
    if !configuration.wantsPictures { return true }
    // Where nothing is described, there is no video until its codec is known.
    return others[soundTrack].place == nil
      ? places.isEmpty && !video.isReceiving : !places.contains(.video)
  }

  var soundHasSaidGoodbye: Bool { soundTrack.map { others[$0].processor.hasSaidGoodbye } ?? false }

  /// Whether a track of the description is the sound.
  var hasDescribedSound: Bool { soundTrack.map { others[$0].place != nil } ?? false }

  /// Queues the units of sound that are complete.
  mutating func takeSound() {
    for index in others.indices where others[index].sound != nil {
      while let unit = others[index].nextSound() {
        guard isSound(index, at: unit.lastArrival) else { continue }
        if unit.isDiscontinuity {
          releaseSound()
          alignment.restart()
        }
        alignment.noteSound(unit.time, arrival: unit.firstArrival)
        alignment.noteClocks(sound: others[index].processor.clock, pictures: video.clock)
        heldSound.append(unit)
      }
    }
    // What waited for a late packet comes together: the least of its delays counts for all.
    releaseSound()
  }

  /// Hands on the held sound, which has its place now, or will not get another.
  ///
  /// `isLast` when nothing more comes.
  mutating func releaseSound(isLast: Bool = false) {
    while let unit = heldSound.first {
      guard let placed = place(unit, isLast: isLast) else { return }
      heldSound.removeFirst()
      if carrier.packetsWait {
        recordedSound.append(placed)
      } else {
        wait(with: .sound(placed))
      }
    }
  }

  /// Whether the track at `index` is the sound; the first one that has any is.
  private mutating func isSound(_ index: Int, at now: Instant) -> Bool {
    guard let soundTrack, soundTrack != index else {
      soundTrack = index
      return true
    }
    // A sender that begins anew may do so under another SSRC.
    guard others[soundTrack].place == nil, let last = others[soundTrack].lastArrival,
      last.advanced(by: Self.patienceWithSound) < now
    else { return false }
    self.soundTrack = index
    return true
  }

  /// `unit` with its time on the timeline of the pictures, or on its own where there are none;
  /// `nil` while pictures may still come.
  private mutating func place(_ unit: SoundUnit, isLast: Bool) -> SoundUnit? {
    var unit = unit
    let hasNoPictures = !configuration.wantsPictures || !places.isEmpty && !places.contains(.video)
    let isLate = unit.lastArrival.advanced(by: Self.patienceWithPictures) <= now
    let mayWait = !isSoundAlone && !isLast && !isLate && heldSound.count <= Self.mostHeld
    if !hasNoPictures, let aligned = alignment.align(unit.time, mayWait: mayWait) {
      unit.alignedTime = aligned
      if isSoundAlone {
        // Where the sound was by itself, its times had nothing to do with those of the pictures.
        isSoundAlone = false
        unit.isDiscontinuity = true
      }
      return unit
    }
    guard hasNoPictures || !mayWait else { return nil }
    isSoundAlone = true
    unit.alignedTime = unit.time
    return unit
  }
}
