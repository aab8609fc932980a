import Defragment
import NIOCore
import RTPProcessor
import RTPWire

/// The sound beside the pictures, or without them.
extension Reception {
  /// After such a pause, another source on the same channel is the sound.
  private static let patienceWithSound: Duration = .seconds(2)

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
        let aligned = align(unit, of: index)
        if carrier.time == .live {
          wait(with: .sound(aligned))
        } else {
          recordedSound.append(aligned)
        }
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

  /// `unit` with its time on the timeline of the pictures, or on its own where none come.
  ///
  /// While they may still come, nobody knows that timeline.
  private mutating func align(_ unit: SoundUnit, of index: Int) -> SoundUnit {
    var unit = unit
    if unit.isDiscontinuity { alignment.restart() }
    alignment.noteSound(unit.time, arrival: unit.firstArrival)
    alignment.noteClocks(sound: others[index].processor.clock, pictures: video.clock)
    let isAlone = places.isEmpty ? !configuration.wantsPictures : !places.contains(.video)
    unit.alignedTime = isAlone ? unit.time : alignment.align(unit.time)
    return unit
  }
}
