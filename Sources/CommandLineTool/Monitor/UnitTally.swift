import Bitstream
import Defragment
import NIOCore

/// Counts the NAL units and the pictures of a stream by their kinds.
struct UnitTally: Sendable {
  /// What a picture is to others, as far as NAL unit headers say.
  enum PictureKind: String, Sendable, Hashable, CaseIterable {
    /// Decoding can begin with it.
    case key
    /// Others refer to it.
    case reference
    /// No other refers to it.
    case disposable
  }

  struct Pictures: Sendable, Hashable {
    var count: UInt64 = 0
    var bytes: UInt64 = 0
  }

  /// How many NAL units of each type came, by the names of the codec.
  private(set) var types: [(name: String, count: UInt64)] = []
  private(set) var pictures: [PictureKind: Pictures] = [:]
  /// Bytes of the latest pictures.
  private(set) var sizes: [Double] = []

  private static let mostSizes = 300
  /// More types than any codec names.
  private static let mostTypes = 64

  mutating func note(_ unit: AccessUnit) {
    for unitOfIt in unit.units {
      let name = unit.codec.name(ofUnitType: unitOfIt.type)
      if let place = types.firstIndex(where: { $0.name == name }) {
        types[place].count += 1
      } else if types.count < Self.mostTypes {
        types.append((name, 1))
      }
    }
    guard let dependency = unit.dependency else { return }
    let kind: PictureKind =
      unit.isRandomAccess ? .key : dependency.isReference ? .reference : .disposable
    pictures[kind, default: Pictures()].count += 1
    pictures[kind, default: Pictures()].bytes += UInt64(unit.bytes.readableBytes)
    if sizes.count >= Self.mostSizes { sizes.removeFirst() }
    sizes.append(Double(unit.bytes.readableBytes))
  }
}
