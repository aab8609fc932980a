import NIOCore
import Testing

@testable import RTPWire

private enum Verdict: Hashable {
  case packets([RTCPPacket])
  case refused(RTCPPacketError)
}

/// What the parser says to `compound`, the same wherever in a buffer it lies.
private func verdict(on compound: [UInt8]) -> Verdict {
  let verdicts = Set(
    deliveries(of: compound).map { delivery -> Verdict in
      do throws(RTCPPacketError) {
        return .packets(try RTCPPacket.parse(compound: delivery))
      } catch {
        return .refused(error)
      }
    })
  #expect(verdicts.count == 1, "the place in the buffer must not matter")
  return verdicts.first ?? .packets([])
}

@Suite struct RTCPPacketHostileTests {
  @Test(arguments: 0...8)
  func veryShortPacketsAreRefusedUnlessWhole(length: Int) {
    var noise = Noise(seed: UInt64(length) + 6)
    for first in UInt8.min ... .max {
      var compound = noise.bytes(length)
      if length > 0 { compound[0] = first }
      if case .packets = verdict(on: compound) {
        #expect(length >= 4 && length % 4 == 0 && first >> 6 == 2)
      }
    }
  }

  @Test(arguments: [0, 1, 2, 5, 6, 7, 255, 0x4000, 0xFFFF])
  func aLengthFieldThatLiesIsRefusedOrLeadsToTheNextHeader(words: Int) {
    var compound = bytes("80c80006 00000001 0000000200000003 00000004 00000005 00000006")
    compound[2] = UInt8(words >> 8)
    compound[3] = UInt8(words & 0xFF)
    let expected: Verdict =
      switch words {
      case 0, 1, 2, 5: .refused(.truncatedReport)
      case 6:
        .packets([
          .senderReport(
            .init(
              ssrc: 1, ntpTime: 0x2_0000_0003, timestamp: 4, packetCount: 5, octetCount: 6))
        ])
      default: .refused(.truncatedPacket(needed: 4 * words, available: 24))
      }
    #expect(verdict(on: compound) == expected)
  }

  @Test(arguments: [0, 4, 8])
  func aGoodbyeWhoseReasonPassesTheEndIsRefused(extra: Int) {
    let words = UInt8(2 + extra / 4)
    let body = [UInt8](repeating: 0x61, count: 3 + extra)
    let head: [UInt8] = [0x81, 203, 0, words, 0, 0, 0, 7]
    #expect(verdict(on: head + [255] + body) == .refused(.truncatedGoodbye))
    #expect(verdict(on: head + [UInt8(4 + extra)] + body) == .refused(.truncatedGoodbye))
    #expect(verdict(on: head + [UInt8(3 + extra)] + body) == .packets([.goodbye([7])]))
  }

  @Test func aGoodbyeOfThirtyOneSourcesNeedsThemAll() {
    let sources = [UInt8]((1...31).map { [0, 0, 0, $0] }.joined())
    #expect(verdict(on: [0x9F, 203, 0, 31] + sources) == .packets([.goodbye(Array(1...31))]))
    #expect(
      verdict(on: [0x9F, 203, 0, 30] + sources.dropLast(4)) == .refused(.truncatedGoodbye))
    #expect(verdict(on: [0x9F, 203, 0, 0]) == .refused(.truncatedGoodbye))
    #expect(verdict(on: [0x80, 203, 0, 0]) == .packets([.goodbye([])]))
  }

  @Test(arguments: [0, 1, 254, 255])
  func descriptionItemsOfAnyLengthComeToAnEnd(itemLength: Int) {
    for chunks in [1, 2, 31] {
      for room in [0, 4, 8, 64, 256, 1024] {
        for type in [UInt8(1), 2, 8, 255] {
          var body: [UInt8] = [0, 0, 0, 7]
          while body.count + 2 + itemLength <= room + 4 {
            body += [type, UInt8(itemLength)] + [UInt8](repeating: 0x61, count: itemLength)
          }
          while body.count % 4 != 0 { body.append(type) }
          let words = body.count / 4
          let head = [0x80 | UInt8(chunks), 202, UInt8(words >> 8), UInt8(words & 0xFF)]
          if case .packets(let packets) = verdict(on: head + body) {
            #expect(packets.count == 1 && chunks == 1)
          }
        }
      }
    }
  }

  @Test func anEndlessDescriptionOfEmptyItemsIsReadInOnePass() {
    let items = [UInt8]((0..<64_000).map { $0 % 2 == 0 ? 1 : 0 })
    let words = (items.count + 4) / 4
    let head: [UInt8] = [0x81, 202, UInt8(words >> 8), UInt8(words & 0xFF), 0, 0, 0, 7]
    #expect(verdict(on: head + items) == .packets([.sourceDescription([7: ""])]))
  }

  @Test(arguments: [0, 1, 2, 0xFFFF])
  func extendedReportBlocksAreSteppedOver(blockWords: Int) {
    let block: [UInt8] = [4, 0, UInt8(blockWords >> 8), UInt8(blockWords & 0xFF), 0, 0, 0, 0]
    #expect(verdict(on: [0x80, 207, 0, 3, 0, 0, 0, 1] + block) == .packets([.other(type: 207)]))
  }

  @Test func thousandsOfEmptyPacketsAreOneCompound() {
    let empty: [UInt8] = [0x80, 204, 0, 0]
    let compound = [UInt8](repeatElement(empty, count: 10_000).joined())
    #expect(
      verdict(on: compound) == .packets(Array(repeating: .other(type: 204), count: 10_000)))
  }

  @Test func fiveReportsThatClaimThirtyOneBlocksEachAreRefused() {
    let report = bytes("9fc80006 00000001 0000000200000003 00000004 00000005 00000006")
    #expect(
      verdict(on: Array(repeatElement(report, count: 5).joined())) == .refused(.truncatedReport))
  }

  @Test func reportsWithAllTheirBlocksAreRead() {
    let words = 6 + 31 * 6
    let report =
      [0x9F, 200, UInt8(words >> 8), UInt8(words & 0xFF)]
      + bytes("00000001 0000000200000003 00000004 00000005 00000006")
      + [UInt8](repeating: 0xEE, count: 31 * 24)
    guard case .packets(let packets) = verdict(on: report + report) else {
      Issue.record("two reports of 31 blocks are refused")
      return
    }
    #expect(packets.count == 2)
  }

  @Test(arguments: 200...213)
  func everyTypeAndFormatOfEveryLengthComesToAnEnd(type: Int) {
    var noise = Noise(seed: UInt64(type))
    for format in 0...31 {
      for length in 4...64 {
        var compound = noise.bytes(length)
        for padding in [UInt8(0), 0x20] {
          compound[0] = 0x80 | padding | UInt8(format)
          compound[1] = UInt8(type)
          compound[2] = 0
          compound[3] = UInt8(length / 4 - 1)
          let whole = (try? RTCPPacket.parse(compound: ByteBuffer(bytes: compound))) != nil
          #expect(!whole || length % 4 == 0)
          if format == 31 || length == 4 { _ = verdict(on: compound) }
        }
      }
    }
  }

  @Test(arguments: [
    ("a count of 0", "a0cb0001 00000000"), ("a count above the body", "a0cb0001 00000005"),
    ("no body", "a0cb0000"),
  ])
  func paddingThatDoesNotFitIsRefused(_ name: String, _ compound: String) {
    #expect(verdict(on: bytes(compound)) == .refused(.padding), "\(name)")
  }

  @Test func noiseIsNeverReadPastItsEnd() {
    var noise = Noise(seed: 203)
    for _ in 0..<1_000 {
      var compound = noise.bytes(Int.random(in: 0...80, using: &noise))
      if compound.count >= 4 {
        compound[0] = 0x80 | (compound[0] & 0x3F)
        compound[1] = 200 + compound[1] % 8
        compound[2] = 0
        compound[3] %= 20
      }
      _ = verdict(on: compound)
    }
  }
}
