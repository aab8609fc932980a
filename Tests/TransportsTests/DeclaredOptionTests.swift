import NIOCore
import NIOPosix
import Testing

@testable import Transports

/// The options that transports declare for the command line.
struct DeclaredOptionTests {
  private let catalogue = TransportCatalogue.standard

  private func options(_ typed: [(String, String)]) throws -> TransportOptions {
    var options = TransportOptions()
    for (name, value) in typed {
      let option = try #require(catalogue.options.first { $0.name == name })
      let change = try #require(try option.read(value), "\(value) for --\(name)")
      try change(&options)
    }
    return options
  }

  @Test func whatIsTypedIsInTheOptions() throws {
    let options = try options([
      ("hello", "hex:01 02"), ("heartbeat-interval", "1.5"), ("bind", ":5004"),
      ("receive-buffer", "8192"), ("rtsp-transport", "udp"), ("stream", "2"), ("all-streams", ""),
      ("http-proxy", "http://proxy:1"), ("tls-ca", "ca.pem"), ("ssrc", "0x0A"), ("port", "5004"),
      ("speed", "2"), ("framing", "rfc4571"), ("srtp-roc", "3"), ("srtp-key-file", "keys"),
    ])
    #expect(options.hello.hello == ByteBuffer(bytes: [1, 2]))
    #expect(options.hello.interval == .milliseconds(1500))
    #expect(options.sockets.bind == UDPTransport.LocalAddress(host: nil, port: 5004))
    #expect(options.sockets.receiveBuffer == 8192)
    #expect(options.rtsp.lowerTransport == .udp)
    #expect(options.media.number == 2)
    #expect(options.rtspInEffect.selection == .number(2))
    #expect(options.rtsp.setsUpEverything)
    #expect(options.http.proxy == "http://proxy:1")
    #expect(options.rtspInEffect.tls.authorities == "ca.pem")
    #expect(options.httpInEffect.tls.authorities == "ca.pem")
    #expect(options.replay.ssrc == 10)
    #expect(options.replay.port == 5004)
    #expect(options.replay.speed == 2)
    #expect(options.framed.framing == .rfc4571)
    #expect(options.srtp.rollover == 3)
    #expect(options.srtp.keySource == .file("keys"))
    #expect(options.srtp.keys.isEmpty)
  }

  @Test(arguments: [
    ("hello", ""), ("hello", String(repeating: "x", count: 65)), ("heartbeat", "hex:1"),
    ("heartbeat-interval", "0.9"), ("heartbeat-interval", "nan"), ("receive-buffer", "4095"),
    ("bind", "nowhere"), ("rtsp-transport", "tls"), ("stream", "-1"), ("tls-pin", "00"),
    ("speed", "0"), ("speed", "1000001"), ("framing", "rtp5"), ("srtp-key-fd", "-1"),
  ])
  func aValueOutsideOfItsBoundsIsRefused(name: String, value: String) throws {
    let option = try #require(catalogue.options.first { $0.name == name })
    #expect(throws: OptionFault.self) { try option.read(value) }
  }

  @Test(arguments: ["stream", "speed", "port", "ssrc", "srtp-roc", "receive-buffer"])
  func whatIsNoNumberIsNoValue(name: String) throws {
    let option = try #require(catalogue.options.first { $0.name == name })
    let change = try option.read("many")
    #expect(change == nil)
  }

  @Test func whatATransportHasOfItsOwnTakesPrecedence() {
    var options = TransportOptions()
    options.tls.authorities = "all.pem"
    options.rtsp.tls.pin = [1]
    options.media.number = 2
    options.rtsp.selection = .firstVideo
    #expect(options.rtspInEffect.tls == options.rtsp.tls)
    #expect(options.rtspInEffect.selection == .firstVideo)
    #expect(options.httpInEffect.tls.authorities == "all.pem")
  }

  @Test(arguments: [
    (SilenceLimit.standard, Duration?.some(.seconds(5))), (.after(.seconds(9)), .seconds(9)),
    (.never, nil),
  ])
  func aLimitOfSilenceHoldsForAll(limit: SilenceLimit, expected: Duration?) throws {
    var options = TransportOptions()
    options.silence = limit
    for source in ["rtsp://camera/live", "http://camera/live", "tcp://camera:5004"] {
      let transport = try catalogue.make(
        source: source, options: options, on: MultiThreadedEventLoopGroup.singleton.next())
      // UDP is tried before the connection.
      let attempt = source.hasPrefix("rtsp") ? RTSPSession.udpPatience : .zero
      #expect(transport.longestSilence == expected.map { $0 + attempt }, "\(source)")
    }
  }

  @Test func whatIsSaidOfTheMediaReachesThoseWhoUseIt() {
    var options = TransportOptions()
    options.replay.payloadType = 97
    options.replay.auxiliaryTypes = [98]
    #expect(options.recordings == options.replay)
    options.media.payloadType = 96
    options.media.auxiliaryTypes = [99]
    options.media.description = SessionDescription()
    #expect(options.recordings.payloadType == 96)
    #expect(options.recordings.auxiliaryTypes == [98, 99])
    #expect(options.recordings.description == SessionDescription())
    options.srtp.allowsWeak = true
    #expect(!options.rtspInEffect.setsUpEverything)
    #expect(options.rtspInEffect.protection == options.srtp)
    options.media.wantsEverything = true
    options.rtsp.protection.rollover = 3
    #expect(options.rtspInEffect.setsUpEverything)
    #expect(options.rtspInEffect.protection == options.rtsp.protection)
  }

  @Test func whatOptionsReadAndRiskIsKnown() throws {
    let options = try options([
      ("tls-ca", "ca.pem"), ("tls-certificate", "own.pem"), ("tls-key", "own.key"),
      ("srtp-key-file", "keys"), ("tls-insecure", ""),
    ])
    #expect(options.files.sorted() == ["ca.pem", "keys", "own.key", "own.pem"])
    #expect(options.warnings == ["--tls-insecure: whoever answers is trusted"])
  }

  @Test func optionsWithOneNameAreOneOption() {
    let ofKinds = catalogue.kinds.flatMap { $0.options + $0.scopes.flatMap(\.options) }
    let declared = Dictionary(grouping: ofKinds + DeclaredOption.ofSRTP, by: \.name)
    for (name, options) in declared {
      #expect(Set(options.map(\.help)).count == 1, "--\(name)")
      #expect(Set(options.map(\.section)).count == 1, "--\(name)")
      #expect(Set(options.map(\.valueName)).count == 1, "--\(name)")
    }
    #expect(Set(catalogue.options.map(\.name)) == Set(declared.keys))
  }

  @Test(arguments: [
    ("x", "--bind: the port is missing, as in 192.0.2.1:5004 or :5004"),
    (":0x1", "--bind: '0x1' is not a port; a port is a number from 1 to 65535"),
  ])
  func whatIsWrongWithAnAddressToBindIsSaid(value: String, words: String) throws {
    let option = try #require(catalogue.options.first { $0.name == "bind" })
    #expect(throws: OptionFault(words)) { try option.read(value) }
  }

  @Test func everyOptionIsDeclaredOnce() {
    let names = catalogue.options.map(\.name)
    #expect(Set(names).count == names.count)
  }
}
