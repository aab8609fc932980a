import Decode
import Impairment
import Outputs
import RTPSend
import RTPWire
import Receiver
import Testing

/// The conditions reported for frames after a network that loses packets, and the frames.
struct IntegrityTests {
  /// A stream with some structure of references.
  struct Material: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let codec: RTPSend.Codec
    let encoder: [String]
    /// The least share of frames that has to be intact where one packet in a hundred is lost.
    let leastIntact: Double
  }

  static let materials = [
    Material(
      testDescription: "H.264, P pictures alone", codec: .h264,
      encoder: ["libx264", "-tune", "zerolatency", "-g", "20"], leastIntact: 0.4),
    Material(
      testDescription: "H.264, B pictures that refer to one another", codec: .h264,
      encoder: ["libx264", "-bf", "3", "-b_strategy", "0", "-g", "20"], leastIntact: 0.4),
    Material(
      testDescription: "H.264, intra refresh instead of key pictures", codec: .h264,
      encoder: ["libx264", "-bf", "0", "-refs", "1", "-x264-params", "intra-refresh=1:keyint=16"],
      leastIntact: 0.2),
    Material(
      testDescription: "H.264, open groups of pictures", codec: .h264,
      encoder: ["libx264", "-bf", "2", "-x264-params", "open-gop=1:keyint=15"], leastIntact: 0.2),
    Material(
      testDescription: "H.265, P pictures alone", codec: .h265,
      encoder: ["libx265", "-tune", "zerolatency", "-x265-params", "log-level=error:keyint=20"],
      leastIntact: 0.4),
    Material(
      testDescription: "H.265, temporal levels and open groups of pictures", codec: .h265,
      encoder: [
        "libx265", "-x265-params",
        "log-level=error:keyint=20:open-gop=1:bframes=3:b-adapt=0:temporal-layers=1",
      ], leastIntact: 0.4),
  ]

  /// A frame that is called intact is the one that was sent, and what came whole with all
  /// that it refers to is called intact.
  @Test("frames that are called intact are exact", arguments: materials)
  func intactFramesAreExact(_ material: Material) async throws {
    let stream = try EncodedStream(material.codec, material.encoder, frames: 120)
    let golden = try await stream.frames(through: Impairments(), seed: 0)
    #expect(golden.count == 120)
    #expect(golden.values.allSatisfy { $0.condition == .intact })
    for seed in UInt64(1)...4 {
      var impairments = Impairments()
      if seed.isMultiple(of: 2) {
        impairments.burstLoss = .init(probability: 0.01, meanLength: 4)
      } else {
        impairments.loss = 0.01
      }
      let frames = try await stream.frames(through: impairments, seed: seed)
      let intact = frames.filter { $0.value.condition == .intact }
      for (time, frame) in intact {
        #expect(frame.samples == golden[time]?.samples, "seed \(seed), frame at \(time)")
      }
      #expect(intact.count < frames.count)
      #expect(Double(intact.count) >= 120 * material.leastIntact, "seed \(seed)")
    }
  }

  @Test("only intact pictures come out where others are skipped", arguments: materials.prefix(1))
  func skipped(_ material: Material) async throws {
    let stream = try EncodedStream(material.codec, material.encoder, frames: 60)
    var impairments = Impairments()
    impairments.loss = 0.02
    let shown = try await stream.frames(through: impairments, seed: 3)
    let kept = try await stream.frames(through: impairments, seed: 3, treatment: .skip)
    #expect(kept.values.allSatisfy { $0.condition == .intact })
    #expect(Set(kept.keys) == Set(shown.filter { $0.value.condition == .intact }.keys))
    #expect(kept.count < shown.count)
  }

  @Test("the last intact picture stays until the next one", arguments: materials.prefix(1))
  func frozen(_ material: Material) async throws {
    let stream = try EncodedStream(material.codec, material.encoder, frames: 60)
    var impairments = Impairments()
    impairments.loss = 0.02
    let shown = try await stream.frames(through: impairments, seed: 3)
    let frozen = try await stream.frames(through: impairments, seed: 3, treatment: .freeze)
    #expect(Set(frozen.keys) == Set(shown.keys))
    var last: Int?
    for (time, frame) in frozen.sorted(by: { $0.key < $1.key }) {
      if shown[time]?.condition == .intact {
        #expect(frame.condition == .intact)
        last = frame.samples
      } else {
        #expect(frame.condition == .repeated)
        #expect(frame.samples == last)
      }
    }
    #expect(frozen.values.contains { $0.condition == .repeated })
  }

  @Test("nothing is made up where pictures are wanted as decoded", arguments: materials.prefix(1))
  func corrupt(_ material: Material) async throws {
    let stream = try EncodedStream(material.codec, material.encoder, frames: 60)
    var impairments = Impairments()
    impairments.loss = 0.02
    let frames = try await stream.frames(through: impairments, seed: 3, treatment: .corrupt)
    #expect(Set(frames.values.map(\.condition)) == [.intact, .damaged])
  }
}

extension EncodedStream {
  /// The frames after a network, by their times.
  fileprivate func frames(
    through impairments: Impairments, seed: UInt64, treatment: LossTreatment = .conceal
  ) async throws -> [Int64: ShownFrame] {
    var simulator = NetworkSimulator(impairments, seed: seed)
    var datagrams: [Datagram] = []
    let packets = packets(.init(ssrc: 1, initialSequence: 65_500, initialTimestamp: 0))
    for (number, packet) in packets.enumerated() {
      let now = Instant(nanoseconds: Int64(number) * 1_000_000)
      // The first picture comes, so that there is one to begin with.
      guard number >= 40 else {
        datagrams.append(Datagram(bytes: packet, arrival: now))
        continue
      }
      simulator.offer(packet, at: now)
      while let release = simulator.release(by: now) {
        datagrams.append(Datagram(bytes: release.bytes, arrival: release.time))
      }
    }
    let shown = try await frames(of: datagrams, treatment: treatment)
    return Dictionary(shown.map { ($0.time.ticks, $0) }) { _, last in last }
  }
}
