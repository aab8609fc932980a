import NIOCore
import TestSupport
import Testing

@testable import RTPWire

private enum Verdict: Hashable {
  case packets([RTCPPacket])
  case refused(RTCPPacketError)
}

/// What the parser says to `compound`.
private func parsed(_ compound: ByteBuffer) -> Verdict {
  do throws(RTCPPacketError) {
    return .packets(try RTCPPacket.parse(compound: compound))
  } catch {
    return .refused(error)
  }
}

/// What the parser says to `compound`, the same wherever in a buffer it lies.
private func verdict(on compound: [UInt8]) -> Verdict {
  let verdicts = Set(deliveries(of: compound).map(parsed))
  #expect(verdicts.count == 1, "the place in the buffer must not matter")
  return verdicts.first ?? .packets([])
}

/// The types of the packets in `compound` by RFC 3550 §6, worked out without the parser; `nil` when
/// one of them does not hold what its header promises.
private func outline(of compound: [UInt8]) -> [UInt8]? {
  var types: [UInt8] = []
  var rest = compound[...]
  repeat {
    let head = Array(rest.prefix(4))
    guard head.count == 4, head[0] >> 6 == 2 else { return nil }
    rest = rest.dropFirst(4)
    let length = 4 * (Int(head[2]) << 8 | Int(head[3]))
    guard rest.count >= length else { return nil }
    var body = Array(rest.prefix(length))
    rest = rest.dropFirst(length)
    if head[0] & 0x20 != 0 {
      guard let padding = body.last, padding > 0, padding <= body.count else { return nil }
      body.removeLast(Int(padding))
    }
    guard holds(body, type: head[1], count: Int(head[0] & 0x1F)) else { return nil }
    types.append(head[1])
  } while !rest.isEmpty
  return types
}

/// Whether `body` is long enough for what a packet of `type` with `count` entries says.
private func holds(_ body: [UInt8], type: UInt8, count: Int) -> Bool {
  switch type {
  case 200: return body.count >= 24 + 24 * count
  case 201: return body.count >= 4 + 24 * count
  case 202:
    var place = 0
    for _ in 0..<count {
      guard place + 4 <= body.count else { return false }
      place += 4
      // Items up to the zero that ends the chunk, or to the end of the packet.
      while place < body.count, body[place] != 0 {
        guard place + 1 < body.count else { return false }
        place += 2 + Int(body[place + 1])
        guard place <= body.count else { return false }
      }
      place = min(place + 1, body.count)
      place += (body.count - place) % 4
    }
    return true
  case 203:
    guard body.count >= 4 * count else { return false }
    let reason = body.dropFirst(4 * count)
    return reason.first.map { Int($0) < reason.count } ?? true
  default: return true
  }
}

/// Expects that all packets of `compound` come out with their types, or that it is refused.
private func expectOutline(
  of compound: [UInt8], _ verdict: Verdict, sourceLocation: SourceLocation = #_sourceLocation
) {
  let types: [UInt8]? =
    switch verdict {
    case .refused: nil
    case .packets(let packets):
      packets.enumerated().map { index, packet in
        switch packet {
        case .senderReport: 200
        case .receiverReport: 201
        case .sourceDescription: 202
        case .goodbye: 203
        // Transport and payload feedback are one case (RFC 4585 §6.1).
        case .feedback: outline(of: compound)?[index] == 206 ? 206 : 205
        case .other(let type): type
        }
      }
    }
  #expect(types == outline(of: compound), "\(compound)", sourceLocation: sourceLocation)
}

@Suite struct RTCPPacketHostileTests {
  @Test(arguments: 0...8)
  func veryShortPacketsAreRefusedUnlessWhole(length: Int) {
    var noise = SeededGenerator(seed: UInt64(length) + 6)
    for first in UInt8.min ... .max {
      var compound = noise.bytes(length)
      if length > 0 { compound[0] = first }
      let verdict = verdict(on: compound)
      expectOutline(of: compound, verdict)
      if case .packets = verdict {
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
          let verdict = verdict(on: head + body)
          expectOutline(of: head + body, verdict)
          if case .packets(let packets) = verdict {
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
  func everyTypeAndFormatOfEveryLengthIsReadByItsHeader(type: Int) {
    var noise = SeededGenerator(seed: UInt64(type))
    for format in 0...31 {
      for length in 4...64 {
        var compound = noise.bytes(length)
        for padding in [UInt8(0), 0x20] {
          compound[0] = 0x80 | padding | UInt8(format)
          compound[1] = UInt8(type)
          compound[2] = 0
          compound[3] = UInt8(length / 4 - 1)
          // In all places of a buffer where that is likeliest to matter, else in one.
          let isTriedEverywhere = format == 31 || length == 4
          let verdict =
            isTriedEverywhere ? verdict(on: compound) : parsed(ByteBuffer(bytes: compound))
          expectOutline(of: compound, verdict)
          if case .packets = verdict { #expect(length % 4 == 0) }
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

  @Test func noiseIsRefusedUnlessItHoldsWhatItsHeadersSay() {
    var noise = SeededGenerator(seed: 203)
    for _ in 0..<1_000 {
      var compound = noise.bytes(Int.random(in: 0...80, using: &noise))
      if compound.count >= 4 {
        compound[0] = 0x80 | (compound[0] & 0x3F)
        compound[1] = 200 + compound[1] % 8
        compound[2] = 0
        compound[3] %= 20
      }
      expectOutline(of: compound, verdict(on: compound))
    }
  }
}
