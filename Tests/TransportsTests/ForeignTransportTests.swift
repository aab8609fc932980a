import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Testing
import Transports

/// A transport of another package: its scheme, its files, its options and its errors are known
/// without a line of this one changed, so nothing here is `@testable`.
struct ForeignTransportTests {
  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
  private let catalogue = TransportCatalogue(TransportCatalogue.standard.kinds + [.carrierPigeon])

  @Test(arguments: [
    ("pigeon://loft/7", nil), ("loft", "pigeon"), ("letters.pigeon", nil), ("🕊", nil),
  ])
  func itIsFoundByWhatItSaysOfItself(source: String, name: String?) throws {
    let transport = try catalogue.make(source: source, transport: name, on: eventLoop)
    #expect(transport is CarrierPigeon)
  }

  @Test func itIsFoundByWhatAFileHolds() throws {
    let path = NSTemporaryDirectory() + "\(UUID().uuidString).txt"
    try "coo, coo".write(toFile: path, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(try catalogue.make(source: path, on: eventLoop) is CarrierPigeon)
    #expect(try TransportCatalogue.standard.make(source: path, on: eventLoop) is ReplayTransport)
  }

  @Test func itsOptionsReachItBesideTheOthers() throws {
    var options = TransportOptions()
    options[FlightPlan.self].altitude = 80
    options[RTSPConfiguration.self].lowerTransport = .tcp
    options.sockets.receiveBuffer = 4096
    let transport = try catalogue.make(source: "pigeon://loft/7", options: options, on: eventLoop)
    #expect((transport as? CarrierPigeon)?.plan.altitude == 80)
    #expect(options.rtsp.lowerTransport == .tcp)
    #expect(options[UDPTransport.SocketConfiguration.self].receiveBuffer == 4096)
    #expect(TransportOptions()[FlightPlan.self].altitude == 20)
  }

  @Test func theNextConnectionKnowsWhatTheFormerOneLearned() throws {
    var (former, latest) = (TransportCounters(), TransportCounters())
    former.delivered = 7
    former[finding: Sightings.self].hawks = [40, 90]
    latest[finding: Sightings.self].hawks = [300]
    for (counters, hawks) in [(former, [40, 90]), (latest.added(to: former), [40, 90, 300])] {
      let next = try catalogue.make(source: "pigeon://loft/7", after: counters, on: eventLoop)
      #expect((next as? CarrierPigeon)?.plan.hawks == hawks)
    }
    let transport = try catalogue.make(source: "pigeon://loft/7", after: former, on: eventLoop)
    #expect((transport as? CarrierPigeon)?.plan.altitude == 27)
    let first = try catalogue.make(source: "pigeon://loft/7", on: eventLoop)
    #expect((first as? CarrierPigeon)?.plan.altitude == 20)
  }

  @Test func itTellsWhatItsCountersMean() throws {
    var options = TransportOptions()
    options[FlightPlan.self].altitude = 90
    var situation = TransportHint.Situation(source: "pigeon://loft/7", options: options)
    situation.counters[.feathers] = 3
    func words(_ source: String) throws -> [String] {
      try catalogue.hints(of: source).filter { $0.occasion == .silence }
        .compactMap { $0.words(situation) }
    }
    #expect(try words("pigeon://loft/7") == ["3 feathers came down from 90 m"])
    #expect(try words("udp://loft:7").isEmpty)
    #expect(catalogue.counters.filter(\.isLocalLoss).map(\.name) == ["kernel_dropped", "feathers"])
    #expect(situation.counters.lostLocally == 3)
  }

  @Test func itsOptionsSayWhatTheyReadAndRisk() {
    var options = TransportOptions()
    #expect(options.files.isEmpty && options.warnings.isEmpty)
    options[FlightPlan.self].altitude = 200
    #expect(options.files == ["map"])
    #expect(options.warnings == ["there are hawks at 200 m"])
  }

  /// Only a catalogue that knows the scheme can take the login out of its URLs.
  @Test func theLoginInItsURLIsNotShown() throws {
    let source = SourceArgument("pigeon://joe:corn@loft/7?pwd=corn", transports: catalogue)
    #expect(source.bare == "pigeon://loft/7?pwd=corn")
    #expect(source.shown == "pigeon://joe@loft/7?pwd=…")
    #expect(source.user == "joe")
    #expect(source.password == "corn")
    var options = TransportOptions()
    options.credentials = Credentials(user: "joe", password: "corn")
    let transport = try catalogue.make(source: source.bare, options: options, on: eventLoop)
    #expect((transport as? CarrierPigeon)?.credentials == options.credentials)
  }

  @Test func whatItSaysOfItsSourcesIsKnown() throws {
    #expect(try catalogue.describesMedia(of: "pigeon://loft/7"))
    #expect(try !catalogue.describesMedia(of: "udp://loft:7"))
    let forms = catalogue.usage.map(\.text)
    #expect(forms.suffix(5) == ["pigeon://LOFT", "-", "🕊", "FILE.sdp", "FILE.pcapng"])
  }

  @Test func itSaysWhatThereIs() async throws {
    let listing = try await catalogue.describe(source: "pigeon://loft/7", on: eventLoop)
    #expect(listing.streams.map(\.description.encodingName) == ["H264"])
  }

  @Test func itsErrorsSayWhatFollowsFromThem() {
    #expect(ConnectionFault(of: PigeonFault.hawk) == .busy(for: .seconds(60)))
    #expect(ConnectionFault(of: PigeonFault.noSuchLoft) == .permanent)
    #expect((PigeonFault.hawk as any TransportFault).outcome == nil)
    #expect((PigeonFault.noSuchLoft as any TransportFault).outcome == .noSuchStream)
    // An unknown error may pass.
    #expect(ConnectionFault(of: CancellationError()) == .transient)
    let error = #expect(throws: PigeonFault.self) {
      try catalogue.make(source: "pigeon://", on: eventLoop)
    }
    #expect(error == .noSuchLoft)
  }

  @Test func itIsListedWithTheOthers() throws {
    #expect(catalogue.names.last == "pigeon")
    #expect(catalogue.schemes.contains("pigeon"))
    #expect(!TransportCatalogue.standard.schemes.contains("pigeon"))
    #expect(
      throws: TransportError.source("hawk://x", .unknownScheme("hawk", known: catalogue.schemes))
    ) { try catalogue.make(source: "hawk://x", on: eventLoop) }
  }
}

private struct FlightPlan: TransportOption {
  /// Metres.
  var altitude = 20
  /// Where hawks are, in metres.
  var hawks: [Int] = []

  var files: [String] { altitude > 100 ? ["map"] : [] }
  var warnings: [String] { altitude > 100 ? ["there are hawks at \(altitude) m"] : [] }
}

private struct Sightings: TransportFinding {
  /// In metres.
  var hawks: [Int] = []

  func joined(after earlier: Sightings) -> Sightings { Sightings(hawks: earlier.hawks + hawks) }
}

extension TransportCounter {
  fileprivate static let feathers = TransportCounter("feathers", unit: .events, isLocalLoss: true)
}

private enum PigeonFault: TransportFault {
  case hawk
  case noSuchLoft

  var description: String { self == .hawk ? "a hawk took it" : "nobody knows that loft" }

  var fault: ConnectionFault {
    switch self {
    case .hawk: .busy(for: .seconds(60))
    case .noSuchLoft: .permanent
    }
  }

  var outcome: TransportOutcome? { self == .noSuchLoft ? .noSuchStream : nil }
}

extension TransportKind {
  fileprivate static let carrierPigeon: TransportKind = {
    var kind = TransportKind(
      name: "pigeon", schemes: ["pigeon"],
      make: { source, options, eventLoop in
        guard source != "pigeon://" else { throw PigeonFault.noSuchLoft }
        return CarrierPigeon(options[FlightPlan.self], options.credentials, on: eventLoop)
      },
      describe: { _, _, _ in
        StreamListing([ListedStream(MediaDescription(payloadType: 96, encodingName: "H264"))])
      })
    kind.arguments = ["🕊"]
    kind.endings = [".pigeon"]
    kind.hasLogin = true
    kind.counters = [.feathers]
    kind.hints = [
      TransportHint(.silence) { situation in
        let altitude = situation.options[FlightPlan.self].altitude
        return "\(situation.counters[.feathers]) feathers came down from \(altitude) m"
      }
    ]
    kind.describesMedia = { _ in true }
    kind.usage = [
      SourceForm("🕊", "whatever lands"), SourceForm("pigeon://LOFT", "letters from a loft"),
    ]
    kind.learn = { options, former in
      options[FlightPlan.self].altitude += Int(former.delivered)
      options[FlightPlan.self].hawks = former[finding: Sightings.self].hawks
    }
    kind.recognizes = { file, _ in file.beginning.readableBytesView.starts(with: "coo".utf8) }
    return kind
  }()
}

/// RFC 1149, without the birds.
private final class CarrierPigeon: RTPTransport {
  let eventLoop: any EventLoop
  let plan: FlightPlan
  let credentials: Credentials?
  let clock = ArrivalClock.monotonic
  let isPassive = true
  let longestSilence: Duration? = nil
  let takesReports = false

  init(_ plan: FlightPlan, _ credentials: Credentials?, on eventLoop: any EventLoop) {
    (self.plan, self.credentials, self.eventLoop) = (plan, credentials, eventLoop)
  }

  func open(delivering sink: any DatagramSink) async throws { throw PigeonFault.hawk }
  func sendFeedback(_ bytes: ByteBuffer, track: Int) {}
  func holdReading(_ isHeld: Bool) {}
  func counters() async -> TransportCounters { TransportCounters() }
  func close() {}
}
