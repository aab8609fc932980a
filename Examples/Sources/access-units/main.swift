import Foundation
import Reception

// Turns a recording of RTP (rtpdump) into access units with the core alone: no transport, no
// decoder, no library of C.
//
// usage: access-units RECORDING

let path = CommandLine.arguments.dropFirst().first ?? "/dev/stdin"
guard var recording = FileManager.default.contents(atPath: path).map({ ByteBuffer(bytes: $0) }),
  let line = recording.readableBytesView.firstIndex(of: UInt8(ascii: "\n"))
else { exit(1) }
// A line of text, and the 16 bytes of time and source.
recording.moveReaderIndex(to: min(line + 1 + 16, recording.writerIndex))

var session = try Reception(
  Reception.Configuration(), on: Reception.Carrier(clock: .recorded),
  randomness: SystemRandomNumberGenerator(), at: Instant(nanoseconds: 0))

func takeActions(of session: inout Reception) {
  while let action = session.nextAction() {
    guard case .deliver(let unit) = action else { continue }
    print(
      unit.codec.name, unit.time.seconds, unit.units.count, unit.bytes.readableBytes,
      unit.integrity,
      unit.isRandomAccess ? "key" : "")
  }
}

while let (length, rtpLength, milliseconds) = recording.readMultipleIntegers(
  as: (UInt16, UInt16, UInt32).self), let packet = recording.readSlice(length: Int(length) - 8)
{
  let arrival = Instant(nanoseconds: Int64(milliseconds) * 1_000_000)
  // 0 marks a packet of RTCP, which is left out here.
  if rtpLength > 0 { session.receive(Datagram(bytes: packet, arrival: arrival)) }
  takeActions(of: &session)
}
session.transportEnded(.ended)
takeActions(of: &session)
session.finish(at: Instant(nanoseconds: .max))
takeActions(of: &session)
