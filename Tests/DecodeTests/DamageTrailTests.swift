import Bitstream
import Defragment
import NIOCore
import RTPWire
import Testing

@testable import Decode
@testable import Outputs

/// How far damage spreads, where messages and types of pictures say that it ends.
struct DamageTrailTests {
  private func unit(
    _ number: Int64, _ references: PictureDependency.References, recovery: Int? = nil,
    isReference: Bool = true, integrity: AccessUnit.Integrity = .whole, mayHaveFields: Bool = false,
    isExact: Bool = true, isBidirectional: Bool = false, lost: Int? = nil
  ) -> AccessUnit {
    let now = Instant(nanoseconds: 0)
    return AccessUnit(
      codec: H264.codec, bytes: ByteBuffer(), units: [],
      time: MediaTime(ticks: number, timescale: 90_000), firstArrival: now, lastArrival: now,
      integrity: integrity, gaps: lost.map { [AccessUnit.Gap(unitIndex: 0, packets: $0)] } ?? [],
      isRandomAccess: recovery != nil || references == .none,
      dependency: PictureDependency(
        references: references, isReference: isReference, isBidirectional: isBidirectional),
      recoveryPoint: recovery.map { RecoveryPoint(distance: $0, isExact: isExact) },
      format: FormatDescription(
        codec: H264.codec, width: 16, height: 16, profile: 100, level: 10,
        mayHaveFields: mayHaveFields))
  }

  private func conditions(_ units: [AccessUnit]) -> [RawFrame.Condition] {
    var trail = DamageTrail()
    return units.map { trail.condition(of: $0) }
  }

  /// Encoders with open groups of pictures send only one IDR picture, or none.
  @Test("leading pictures of later groups are intact again, where there is never an IDR picture")
  func openGroups() {
    let group = { (start: Int64) in
      [
        self.unit(start + 3, .earlier, recovery: 0),
        self.unit(start + 1, .earlier, isReference: false),
        self.unit(start + 2, .earlier, isReference: false),
        self.unit(start + 4, .earlier),
      ]
    }
    #expect(
      conditions(group(0) + group(10))
        == [.intact, .damaged, .damaged, .intact, .intact, .intact, .intact, .intact])
  }

  @Test(
    "a recovery point counts frames, of which each may come as two fields",
    arguments: [false, true]
  )
  func recoveryByFields(mayHaveFields: Bool) {
    let units = (0..<6).map {
      unit($0, .earlier, recovery: $0 == 0 ? 2 : nil, mayHaveFields: mayHaveFields)
    }
    let damaged = conditions(units).prefix { $0 == .damaged }
    #expect(damaged.count == (mayHaveFields ? 4 : 2))
  }

  @Test("a key picture with a message does not make right what refers past it")
  func skippedPictures() {
    let units = [
      unit(0, .none), unit(1, .earlier, integrity: .damaged), unit(5, .none, recovery: 0),
      unit(3, .beforeRandomAccessPoint, isReference: false), unit(6, .earlier),
    ]
    #expect(conditions(units) == [.intact, .concealed, .intact, .damaged, .intact])
  }

  @Test("a key picture whose parameter sets may be lost is not known to be right")
  func lostParameterSets() {
    let units = [
      unit(0, .none), unit(1, .none, integrity: .afterLoss, lost: 1), unit(2, .earlier),
      unit(3, .none, lost: 1), unit(4, .earlier),
    ]
    #expect(conditions(units) == [.intact, .damaged, .damaged, .intact, .intact])
  }

  @Test("after a restart of the numbers, what refers past a key picture is damaged")
  func restart() {
    let units = [
      unit(0, .none), unit(9, .none, lost: 0),
      unit(8, .beforeRandomAccessPoint, isReference: false), unit(10, .earlier),
    ]
    #expect(conditions(units) == [.intact, .intact, .damaged, .intact])
  }

  @Test("an approximate recovery counts only where that is accepted")
  func approximation() {
    let units = [
      unit(0, .none), unit(1, .earlier, lost: 1), unit(2, .earlier, recovery: 1, isExact: false),
      unit(3, .earlier), unit(4, .earlier),
    ]
    #expect(conditions(units) == [.intact, .damaged, .damaged, .damaged, .damaged])
    var trail = DamageTrail(acceptsApproximation: true)
    #expect(
      units.map { trail.condition(of: $0) } == [.intact, .damaged, .damaged, .intact, .intact])
  }

  @Test("B pictures after a recovery point refer past it, even with decoding times")
  func timesOfDecoding() {
    func group(at start: Int64, lost: Int?) -> [AccessUnit] {
      [
        unit(start, .earlier, recovery: 0, lost: lost),
        unit(start + 1, .earlier, isReference: false, isBidirectional: true),
        unit(start + 2, .earlier),
        unit(start + 3, .earlier, isReference: false, isBidirectional: true),
      ]
    }
    let units = [unit(0, .none)] + group(at: 1, lost: nil) + group(at: 5, lost: 2)
    #expect(
      conditions(units)
        == [.intact, .intact, .intact, .intact, .intact, .intact, .damaged, .intact, .intact])
  }
}
