internal import NIOCore
internal import RTPWire

/// Whether the packets of a recording stand in the file as they were recorded: merged files have
/// those of one machine behind those of another, and a receiver takes them for late.
struct FileOrder: Sendable {
  /// Packets that stand so far behind later ones that a receiver does not wait for them.
  ///
  /// In nanoseconds: the usual reorder window.
  static let patience: Int64 = 200_000_000

  /// Packets that stand behind later ones of their track.
  private(set) var misplaced: UInt64 = 0
  /// By track.
  private var newest: [Place?] = []

  private struct Place: Sendable {
    var ssrc: UInt32
    var number: SequenceNumber
    var time: Int64
  }

  /// Notes a packet of the media of `track`.
  mutating func note(_ packet: CarriedPacket, track: Int) {
    let (bytes, start) = (packet.bytes, packet.bytes.readerIndex)
    guard let time = packet.recorded, 0..<FlowChoice.maximumTracks ~= track,
      let number = bytes.getInteger(at: start + 2, as: UInt16.self),
      let ssrc = bytes.getInteger(at: start + 8, as: UInt32.self)
    else { return }
    while newest.count <= track { newest.append(nil) }
    let place = Place(ssrc: ssrc, number: SequenceNumber(number), time: time)
    guard let former = newest[track], former.ssrc == ssrc, time < former.time,
      // Where the numbers go on, the clock of the machine that recorded was set back.
      former.number.distance(to: place.number) < 0
    else {
      newest[track] = place
      return
    }
    if former.time.subtractingSaturating(time) > Self.patience { misplaced += 1 }
  }

  /// What is to be done about it; empty where all is in order.
  var remarks: [TransportDiagnostic] {
    guard misplaced > 0 else { return [] }
    return [
      .warning(
        "\(misplaced.counted("packet")) behind later ones in the file, so that they seem late; "
          + "Wireshark's reordercap puts them in order")
    ]
  }
}
