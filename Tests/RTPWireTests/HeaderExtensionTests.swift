import NIOCore
import RTPWire
import TestSupport
import Testing

private func packet(profile: UInt16, extension data: [UInt8]) -> [UInt8] {
  let padded = data + [UInt8](repeating: 0, count: (4 - data.count % 4) % 4)
  let words = padded.count / 4
  return bytes("90e0 0001 00000002 00000003")
    + [UInt8(profile >> 8), UInt8(profile & 0xFF), UInt8(words >> 8), UInt8(words & 0xFF)]
    + padded + [0x65, 0x88]
}

/// The identifiers that are found in `data`; the payload must be untouched whatever it holds.
private func identifiers(profile: UInt16, in data: String) throws -> [UInt8] {
  var found: Set<[UInt8]> = []
  for delivery in deliveries(of: packet(profile: profile, extension: bytes(data))) {
    let packet = try RTPPacket(parsing: delivery)
    #expect(Array(buffer: packet.payload) == [0x65, 0x88])
    found.insert(HeaderExtensions(of: packet).map(\.identifier))
  }
  #expect(found.count == 1)
  return found.first ?? []
}

@Suite struct HeaderExtensionTests {
  @Test(
    arguments: [
      ("first", "f0aa 10bb 20cc", []),
      ("in the middle", "10bb f0aa 20cc", [1]),
      ("last", "10bb 20cc f0aa", [1, 2]),
      ("with all lengths at once", "10bb ffaa", [1]),
    ] as [(String, String, [UInt8])])
  func theReservedIdentifierEndsTheElements(_ place: String, _ data: String, _ expected: [UInt8])
    throws
  {
    #expect(try identifiers(profile: 0xBEDE, in: data) == expected, "\(place)")
  }

  @Test(
    arguments: [
      ("first", "01aaaa 10bb 20cc", []),
      ("in the middle", "10bb 01aaaa 20cc", [1]),
      ("last", "10bb 20cc 01aaaa", [1, 2]),
    ] as [(String, String, [UInt8])])
  func identifierZeroWithALengthEndsTheElements(
    _ place: String, _ data: String, _ expected: [UInt8]
  ) throws {
    #expect(try identifiers(profile: 0xBEDE, in: data) == expected, "\(place)")
  }

  @Test(
    arguments: [
      ("one-byte form", 0xBEDE, "10bb 2faaaa", [1]),
      ("two-byte form", 0x1000, "0101bb 02ff aa", [1]),
      ("two-byte form with application bits", 0x100F, "0101bb 02ff aa", [1]),
      ("two-byte form without a length", 0x1000, "0101bb 02", [1]),
      ("empty", 0xBEDE, "", []),
      ("padding alone", 0xBEDE, "00000000", []),
      ("a profile of somebody's own", 0xABAC, "10bb", []),
    ] as [(String, UInt16, String, [UInt8])])
  func anElementPastTheEndEndsTheElements(
    _ name: String, _ profile: UInt16, _ data: String, _ expected: [UInt8]
  ) throws {
    #expect(try identifiers(profile: profile, in: data) == expected, "\(name)")
  }
}
