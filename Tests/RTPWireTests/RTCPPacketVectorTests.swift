import NIOCore
import TestSupport
import Testing

@testable import RTPWire

private let senderReport =
  "81c8000c 6d2453ea de46475b151a005c 66a8dd3e 0000010d 000034f5 "
  + "8ef891ed 00000000 000000f6 0000007f 00000000 00000000"
/// The description in aiortc's file, whose name is 38 characters long.
private let aiortcDescription =
  "81ca000c6d2453ea01267b36336634353965612d343166652d343437342d396433332d"
  + "3937303763396565373964317d00000000"

private let report = RTCPPacket.SenderReport(
  ssrc: 1_831_097_322, ntpTime: 16_016_567_581_311_369_308, timestamp: 1_722_342_718,
  packetCount: 269, octetCount: 13557)
private let name = "{63f459ea-41fe-4474-9d33-9707c9ee79d1}"

/// Compounds from the tests of aiortc and retina, as data.
///
/// Feedback (205, 206) is stepped over by its length and not read, so a body that is too short for
/// its kind is no error here, although it is one in aiortc.
private let goodCompounds: [(String, String, [RTCPPacket])] = [
  ("a goodbye", "81cb0001 ae528b43", [.goodbye([2_924_645_187])]),
  ("a goodbye of nobody, with padding", "a0cb0001 04040404", [.goodbye([])]),
  (
    "a picture loss indication", "81ce0002 54506265 23013fb9",
    [.feedback(.pictureLossIndication(media: 0x2301_3FB9), sender: 0x5450_6265)]
  ),
  ("a payload feedback without a target", "81ce0001 ae528b43", [.other(type: 206)]),
  ("a transport feedback without a target", "81cd0001 ae528b43", [.other(type: 205)]),
  (
    "a transport feedback",
    "81cd000c 8b4477bb f71deee4 000c0000 00200040 00360000 004c0000 006e1000 "
      + "008e0000 00b70008 00df1000 010f0000 01240000",
    [
      .feedback(
        .genericNACK(
          media: 0xF71D_EEE4,
          [
            (12, 0), (32, 64), (54, 0), (76, 0), (110, 0x1000), (142, 0), (183, 8), (223, 0x1000),
            (271, 0), (292, 0),
          ].map { RTCPFeedback.LostPackets(first: SequenceNumber($0), mask: $1) }),
        sender: 0x8B44_77BB)
    ]
  ),
  (
    "a receiver report",
    "81c90007 30b68407 479437af 00000000 00000276 00000772 00000000 00000000",
    [.receiverReport(ssrc: 817_267_719)]
  ),
  ("a source description", aiortcDescription, [.sourceDescription([1_831_097_322: name])]),
  ("a sender report", senderReport, [.senderReport(report)]),
  (
    "a sender report and a description", senderReport + aiortcDescription,
    [.senderReport(report), .sourceDescription([1_831_097_322: name])]
  ),
  (
    "a report of a Dahua camera",
    "80c80006 66426ae1 e4362f99cccccccc 852ef807 002a4333 2f4c341d "
      + "81ca0004 66426ae1 0106286e6f6e6529 00000000",
    [
      .senderReport(
        .init(
          ssrc: 0x6642_6AE1, ntpTime: 16_444_383_427_002_420_428, timestamp: 2_234_447_879,
          packetCount: 0x002A_4333, octetCount: 0x2F4C_341D)),
      .sourceDescription([0x6642_6AE1: "(none)"]),
    ]
  ),
  ("a packet of no known type with padding", "a7000002 61736466 00000004", [.other(type: 0)]),
  (
    "a Hanwha description without its end", "81ca0003 00000007 0106 63616d657261",
    [.sourceDescription([7: "camera"])]
  ),
  (
    "two sources described, the first with padding",
    "82ca0005 00000007 01026162 00000000 00000009 01016200",
    [.sourceDescription([7: "ab", 9: "b"])]
  ),
  (
    "two sources described", "82ca0004 00000007 01016100 00000009 01016200",
    [.sourceDescription([7: "a", 9: "b"])]
  ),
]

private let badCompounds: [(String, String, RTCPPacketError)] = [
  ("nothing at all", "", .truncatedHeader(available: 0)),
  ("a goodbye of seventeen sources in one word", "91cb0001 ae528b43", .truncatedGoodbye),
  ("a receiver report without its block", "81c90001 ae528b43", .truncatedReport),
  ("a sender report without its times", "81c80001 ae528b43", .truncatedReport),
  (
    "an item longer than its chunk",
    "81ca0007 30b68407 479437af 00000000 00000276 00000772 00000000 00000000",
    .truncatedSourceDescription
  ),
  (
    "a chunk outside its packet", "81ca0000 9000001b 10000080 d100", .truncatedSourceDescription
  ),
  ("version 3", "c0c90007 30b68407", .version(3)),
  ("three bytes", "81c900", .truncatedHeader(available: 3)),
  ("a header alone", "81c90007", .truncatedPacket(needed: 28, available: 0)),
  (
    "a report cut by two bytes",
    "81c90007 30b68407 479437af 00000000 00000276 00000772 00000000 0000",
    .truncatedPacket(needed: 28, available: 26)
  ),
  ("a good packet and then text", "a7000002 61736466 00000004 72657374", .version(1)),
]

private let compoundsOfSources: [(String, String, [UInt32])] = [
  ("a report and a goodbye of two", "80c90001 00000007 82cb0002 00000007 00000008", [7, 8]),
  ("names cut short, behind a report", "80c90001 00000007 81ca0002 00000009", [7]),
  ("a goodbye that promises three", "83cb0001 00000005", [5]),
  ("another version behind a report", "80c90001 00000007 40c90001 00000009", [7]),
  ("another version alone", "00c90001 00000009", []), ("nothing", "", []),
]

@Suite struct RTCPPacketVectorTests {
  @Test(arguments: goodCompounds)
  func isRead(_ name: String, _ compound: String, _ expected: [RTCPPacket]) throws {
    for delivery in deliveries(of: bytes(compound)) {
      #expect(try RTCPPacket.parse(compound: delivery) == expected, "\(name)")
    }
  }

  @Test(arguments: badCompounds)
  func isRefused(_ name: String, _ compound: String, _ expected: RTCPPacketError) {
    for delivery in deliveries(of: bytes(compound)) {
      #expect(throws: expected, "\(name)") { try RTCPPacket.parse(compound: delivery) }
    }
  }

  @Test(arguments: compoundsOfSources)
  func namesItsSources(_ name: String, _ compound: String, _ expected: [UInt32]) {
    for delivery in deliveries(of: bytes(compound)) {
      #expect(RTCPPacket.sources(in: delivery) == expected, "\(name)")
    }
  }

  @Test(arguments: [
    ("80c8", true), ("81cb0001", true), ("bfdf", true), ("80c0", true), ("8060", false),
    ("80e0", false), ("80bf", false), ("40c8", false), ("80", false), ("", false),
  ])
  func isToldFromMedia(_ packet: String, _ expected: Bool) {
    for delivery in deliveries(of: bytes(packet)) {
      #expect(RTCPPacket.recognizes(delivery) == expected)
    }
  }
}
