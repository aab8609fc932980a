import Foundation
import TestSupport
import Testing

@testable import Transports

struct DiscoveryDialogueTests {
  private var dialogue: DiscoveryDialogue
  private let identifier: String

  init() throws {
    var randomness = SeededGenerator(seed: 3)
    dialogue = DiscoveryDialogue(randomness: &randomness)
    let probe = try XMLElement(parsing: Array((dialogue.probes.first ?? "").utf8))
    identifier = try #require(probe["Header"]?["MessageID"]?.text)
  }

  /// An answer of a camera of this kind to a probe.
  private func answer(
    _ identity: String = "urn:uuid:1419d68a-1dd2-11b2-a105-000000000000",
    types: String = "dn:NetworkVideoTransmitter tds:Device",
    scopes: String = "onvif://www.onvif.org/name/HIKVISION%20DS-2CD2142FWD-I "
      + "onvif://www.onvif.org/hardware/DS-2CD2142FWD-I onvif://www.onvif.org/location/city/hangzhou",
    addresses: String = "http://192.168.1.64/onvif/device_service", relatesTo: String? = nil
  ) -> [UInt8] {
    Array(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope"><env:Header>
      <wsa:RelatesTo>\(relatesTo ?? identifier)</wsa:RelatesTo></env:Header><env:Body>
      <d:ProbeMatches><d:ProbeMatch><wsa:EndpointReference><wsa:Address>\(identity)</wsa:Address>
      </wsa:EndpointReference><d:Types>\(types)</d:Types><d:Scopes>\(scopes)</d:Scopes>
      <d:XAddrs>\(addresses)</d:XAddrs><d:MetadataVersion>1</d:MetadataVersion></d:ProbeMatch>
      </d:ProbeMatches></env:Body></env:Envelope>
      """.utf8)
  }

  @Test func probesAreOneLineEachAndNoTwoSearchesHaveTheSame() throws {
    var randomness = SeededGenerator(seed: 4)
    let other = DiscoveryDialogue(randomness: &randomness)
    #expect(Set(dialogue.probes + other.probes).count == 6)
    for probe in dialogue.probes {
      #expect(!probe.contains("\n"))
      let document = try XMLElement(parsing: Array(probe.utf8))
      #expect(document["Body"]?["Probe"] != nil)
      let identifier = try #require(document["Header"]?["MessageID"]?.text.dropFirst(9))
      #expect(UUID(uuidString: String(identifier)) != nil)
    }
  }

  @Test mutating func aCameraIsListedOnce() throws {
    let cameras =
      (0..<3).flatMap { _ in dialogue.take(answer(), from: "192.168.1.64") }
      + dialogue.take(answer(), from: "fe80::2%eth0")
    #expect(cameras.count == 1)
    let camera = try #require(cameras.first)
    #expect(camera.url == "onvif://192.168.1.64")
    #expect(camera.name == "HIKVISION DS-2CD2142FWD-I")
    #expect(camera.hardware == "DS-2CD2142FWD-I")
    #expect(camera.location == "city/hangzhou")
    #expect(camera.addresses == ["http://192.168.1.64/onvif/device_service"])
  }

  @Test(
    "the URL leads to who answered",
    arguments: [
      (
        "http://192.168.1.64:8000/onvif/device_service", "192.168.1.64", "onvif://192.168.1.64:8000"
      ),
      // An Axis camera with two addresses, and another behind a translation.
      (
        "http://169.254.20.85:81/onvif/services http://192.168.1.64:82/onvif/services",
        "192.168.1.64", "onvif://192.168.1.64:82"
      ),
      ("http://0.0.0.0:2020/onvif/device_service", "10.0.0.9", "onvif://10.0.0.9:2020"),
      ("http://evil.example/x", "10.0.0.9", "onvif://10.0.0.9"),
      ("https://10.0.0.9/onvif/device_service", "10.0.0.9", "onvifs://10.0.0.9"),
      ("", "10.0.0.9", "onvif://10.0.0.9"), ("file:///etc/passwd", "10.0.0.9", "onvif://10.0.0.9"),
      (
        "http://[fe80::2]/onvif/device_service", "fe80::2%eth0", "onvif://[fe80::2%25eth0]"
      ),
      ("http://[fe80::2]:81/", "fd00::2", "onvif://[fd00::2]:81"),
    ])
  mutating func addresses(given: String, sender: String, url: String) throws {
    let camera = try #require(dialogue.take(answer(addresses: given), from: sender).first)
    #expect(camera.url == url)
    _ = try ServerURL(parsing: camera.url, as: .onvif)
  }

  @Test mutating func whatIsNoCameraOrAnswersNobodyIsLeftOut() {
    let answers = [
      answer(types: "wsdp:Device wprt:PrintDeviceType", scopes: ""),
      answer(relatesTo: "urn:uuid:0"), Array("<a/>".utf8), [], Array(repeating: 0, count: 65_507),
      Array(dialogue.probes[0].utf8),
      Array("<!DOCTYPE a [<!ENTITY b 'c'>]>".utf8) + answer(),
    ]
    for bytes in answers { #expect(dialogue.take(bytes, from: "10.0.0.9").isEmpty) }
  }

  @Test mutating func aStormIsBounded() {
    var found = 0
    for number in 0..<(DiscoveryDialogue.maximumCameras + 500) {
      found += dialogue.take(answer("urn:uuid:\(number)"), from: "10.0.0.9").count
    }
    #expect(found == DiscoveryDialogue.maximumCameras)
  }

  @Test mutating func whatACameraCallsItselfControlsNoTerminal() throws {
    let scopes =
      "onvif://www.onvif.org/name/a%1B%5B2J%0Ab onvif://www.onvif.org/hardware/"
      + String(repeating: "x", count: 10_000)
    let camera = try #require(dialogue.take(answer(scopes: scopes), from: "10.0.0.9").first)
    #expect(camera.name == "a\u{FFFD}[2J\u{FFFD}b")
    #expect((camera.hardware?.count ?? 0) < 300)
  }
}
