import Defragment
import NIOCore
import RTPWire
import Testing

@testable import Decode

/// How far damage spreads, where messages and types of pictures say that it ends.
struct DamageTrailTests {
  private func unit(
    _ number: Int64, _ references: PictureDependency.References, recovery: Int? = nil,
    isReference: Bool = true, integrity: AccessUnit.Integrity = .whole
  ) -> AccessUnit {
    let now = Instant(nanoseconds: 0)
    return AccessUnit(
      codec: H264.codec, bytes: ByteBuffer(), units: [],
      time: MediaTime(ticks: number, timescale: 90_000), firstArrival: now, lastArrival: now,
      integrity: integrity, isRandomAccess: recovery != nil || references == .none,
      dependency: PictureDependency(references: references, isReference: isReference),
      recoveryPoint: recovery.map(RecoveryPoint.init(distance:)))
  }

  private func conditions(_ units: [AccessUnit]) -> [RawFrame.Condition] {
    var trail = DamageTrail()
    return units.map { trail.condition(of: $0) }
  }

  /// Encoders with open groups of pictures send one IDR picture, or none at all.
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

  @Test("a key picture with a message does not make right what refers past it")
  func skippedPictures() {
    let units = [
      unit(0, .none), unit(1, .earlier, integrity: .damaged), unit(5, .none, recovery: 0),
      unit(3, .beforeRandomAccessPoint, isReference: false), unit(6, .earlier),
    ]
    #expect(conditions(units) == [.intact, .concealed, .intact, .damaged, .intact])
  }
}
