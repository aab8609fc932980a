import NIOCore
import RTPSend
import RTPWire
import TestSupport

/// A stream of made-up access units, with parameter sets that name nothing, as packets.
struct SyntheticStream {
  private(set) var packets: [ByteBuffer] = []
  /// The NAL units of every access unit, by its ticks from the start.
  private(set) var units: [Int64: [ByteBuffer]] = [:]
  let media: MediaDescription
  let firstTicks: Int64

  init(
    codec: Codec, accessUnits: Int, seed: UInt64, correction: RTPStream.Correction? = nil
  ) {
    var generator = SeededGenerator(seed: seed)
    let timestamp = UInt32.max - 90_000
    firstTicks = Int64(timestamp)
    media = MediaDescription(
      payloadType: 96, encodingName: codec == .h264 ? "H264" : "H265",
      correctionFormats: correction.map { [$0.payloadType: .ulpfec] } ?? [:])
    var configuration = RTPStream.Configuration(
      ssrc: UInt32(truncatingIfNeeded: seed), initialSequence: 65_000, initialTimestamp: timestamp)
    configuration.payloadType = 96
    configuration.correction = correction
    var stream = RTPStream(configuration)
    var packetizer = Packetization.nonInterleaved.packetizer(
      for: codec, payloadLimit: 300, aggregates: true)
    for index in 0..<accessUnits {
      let isKey = index.isMultiple(of: 25)
      let ticks = Int64(index) * 3000
      var nalUnits: [ByteBuffer] = []
      if isKey {
        for header in codec == .h264
          ? [[0x67, 66, 0, 30], [0x68]] : [[0x40, 1], [0x42, 1], [0x44, 1]]
        {
          nalUnits.append(
            Self.unit(header: header.map { UInt8($0) }, length: 8, &generator))
        }
      }
      for slice in 0..<3 {
        let first: UInt8 = slice == 0 ? 0x80 : 0x40
        let header: [UInt8] =
          codec == .h264 ? [isKey ? 0x65 : 0x41, first] : [isKey ? 0x26 : 0x02, 1, first]
        nalUnits.append(
          Self.unit(header: header, length: 20 + generator.number(upTo: 900), &generator))
      }
      units[ticks] = nalUnits
      let accessUnit = SourceAccessUnit(
        units: nalUnits, presentationTicks: ticks, decodingTicks: ticks, isRandomAccess: isKey)
      if isKey { stream.beginGroupOfPictures() }
      packets += stream.packets(with: packetizer.packetize(accessUnit))
    }
    packets += stream.packets(with: packetizer.finish()) + stream.finish()
  }

  /// A NAL unit without anything that could be a start code.
  private static func unit(
    header: [UInt8], length: Int, _ generator: inout SeededGenerator
  ) -> ByteBuffer {
    var bytes = ByteBuffer(bytes: header)
    for _ in 0..<length { bytes.writeInteger(UInt8(truncatingIfNeeded: generator.next()) | 1) }
    return bytes
  }
}
