import Bitstream
import Decode
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// Pictures that never leave the sender, so that the numbers of its packets have no gap.
@Suite struct OmittedPictureTests {
  /// A stream, and which of its pictures are left out, in decoding order.
  struct Case: Sendable, CustomTestStringConvertible {
    var clip: Clip
    var omits: @Sendable (_ number: Int, _ unit: AccessUnit) -> Bool
    /// Whether others refer to these.
    var isReference: Bool

    var testDescription: String { clip.name }

    init(
      _ name: String, _ codec: VideoCodec, _ encoder: [String], _ parameters: String,
      isReference: Bool = true,
      omits: @escaping @Sendable (_ number: Int, _ unit: AccessUnit) -> Bool
    ) {
      clip = Clip(
        name: name, codec: codec, frames: 36, encoder: encoder, h264Parameters: parameters,
        codecParameters: parameters)
      (self.omits, self.isReference) = (omits, isReference)
    }
  }

  private static let group = ["-g", "12", "-sc_threshold", "0"]
  private static let h265Group = "keyint=12:min-keyint=12:scenecut=0"

  static let cases = [
    Case("H.264", .testH264, group + ["-bf", "0", "-refs", "3"], "open-gop=0") { number, _ in
      number == 16
    },
    Case("H.264, behind the key picture", .testH264, group + ["-bf", "0"], "open-gop=0") {
      number, _ in number == 1
    },
    Case("H.264, B pictures", .testH264, group + ["-bf", "2"], "open-gop=0:b-adapt=0") {
      number, _ in number == 13
    },
    Case("H.265", .testH265, [], h265Group + ":open-gop=0:bframes=0:ref=3") { number, _ in
      number == 16
    },
    Case("H.265, B pictures", .testH265, [], h265Group + ":open-gop=0:bframes=4:b-adapt=0") {
      number, _ in number == 13
    },
    Case(
      "H.264, what nothing refers to", .testH264, group + ["-bf", "2"],
      "open-gop=0:b-adapt=0:b-pyramid=none", isReference: false
    ) { $1.units.contains { $0.type == 1 } && !$1.isReferredTo },
    Case(
      "H.265, the highest level", .testH265, [],
      h265Group + ":open-gop=0:bframes=3:b-adapt=0:temporal-layers=1", isReference: false
    ) { !$1.isReferredTo },
    Case(
      "H.265, what precedes an open group", .testH265, [],
      h265Group + ":open-gop=1:bframes=3:b-adapt=0", isReference: false
    ) { _, unit in
      // RASL pictures, which follow the key picture, are shown before it.
      unit.time.ticks < 12 * 3000 && !unit.units.contains { $0.type == 8 || $0.type == 9 }
    },
  ]

  @Test(
    "what is called intact is what was encoded, though a picture was left out", arguments: cases)
  func omitted(_ example: Case) async throws {
    let clip = example.clip
    let stream = try clip.encoded()
    let golden = try clip.decodedByFFmpeg(stream)
    let units = try clip.timedUnits(of: stream)
    let sent = units.enumerated().filter { !example.omits($0, $1) }.map(\.element)
    try #require((12..<units.count).contains(sent.count))
    for (treatment, threads) in [(LossTreatment.conceal, 1), (.corrupt, 1), (.conceal, 2)] {
      var configuration = VideoDecoder.Configuration()
      (configuration.lossTreatment, configuration.threads) = (treatment, .count(threads))
      let frames = try await frames(of: sent, configuration)
      #expect(frames.count >= 12)
      let size = golden.count / clip.frames
      for frame in frames where frame.condition == .intact {
        let number = Int(frame.time.ticks / 3000)
        #expect(frame.packed[...] == golden[number * size..<(number + 1) * size], "\(number)")
      }
      let damaged = frames.filter { $0.condition != .intact }
      #expect(damaged.isEmpty != example.isReference)
      #expect(damaged.allSatisfy { $0.damage == .reference })
      // All that follows is right again with the next key picture.
      #expect(Set(damaged.map { $0.time.ticks / 3000 / 12 }).count <= 1)
    }
  }

  private func frames(
    of units: [AccessUnit], _ configuration: VideoDecoder.Configuration
  ) async throws -> [RawFrame] {
    let collector = Collector()
    let decoder = try collector.decoder(
      for: try #require(units.first).codec, configuration: configuration)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    return collector.frames
  }
}

extension AccessUnit {
  /// Whether a slice says that others may refer to it (H.264 §7.4.1, H.265 §7.4.2.2).
  fileprivate var isReferredTo: Bool {
    units.contains { unit in
      let head = bytes(of: unit).readableBytesView.first ?? 0
      return codec == .testH264
        ? (1...5).contains(unit.type) && head & 0x60 != 0
        : unit.type < 32 && (unit.type >= 16 || unit.type & 1 == 1)
    }
  }
}
