import NIOCore
import RTPWire

@testable import RTPSend

extension FuzzTarget {
  /// The RTSP server: bytes of a client, in any pieces and at any times (RFC 2326).
  static let server = FuzzTarget("rtsp-server") { choices in
    var configuration = RTSPServerSession.Configuration(
      streams: [
        RTSPServerSession.Stream(
          name: "live", trackCount: 2,
          groups: [
            MulticastGroup(address: "239.1.2.3", port: 6000),
            MulticastGroup(address: "239.1.2.3", port: 6002),
          ]),
        RTSPServerSession.Stream(name: "film", trackCount: 1, duration: 60_000_000_000),
      ], origin: "rtsp://192.0.2.1:8554", serverPorts: (7000, 7001))
    if choices.flag() { configuration.isSecure = true }
    var now = Instant(nanoseconds: 0)
    var session = RTSPServerSession(configuration, entropy: SplitMix64(seed: 1), at: now)
    var (isOver, received, sent) = (false, 0, 0)
    func run() throws {
      while let action = session.next(at: now) {
        try require(!isOver, "\(action) after the end")
        switch action {
        case .send(let bytes):
          sent += bytes.readableBytes
          try require(!bytes.array.starts(with: [0]), "it sends nothing that has a beginning")
        case .describe: session.described("v=0\r\n", at: now)
        case .setUp: session.setUp(choices.pick([.ready(ssrc: 1), .taken, .full]), at: now)
        case .play(_, let passage):
          _ = passage
          session.played(
            PassageBeginning(packets: [0: .init(sequence: 17, timestamp: 1000)]), at: now)
        case .openTunnel: session.tunnelOpened(.opened)
        case .joinTunnel:
          // The rest belongs to another connection, if there is one.
          if choices.flag() { session.tunnelMissing() } else { isOver = true }
        case .close: isOver = true
        case .start, .pause, .drop, .end, .control: break
        }
      }
      try require(
        session.sessions.count <= RTSPServerSession.mostSessions, "\(session.sessions.count)")
    }
    while !choices.isEmpty, !isOver {
      if choices.byte() & 7 == 7 {
        now = now.advanced(byNanoseconds: Int64(choices.byte()) * 500_000_000)
        session.expire(at: now)
        try run()
        if !isOver, let deadline = session.deadline {
          try require(deadline > now, "what was due at \(deadline) is not done at \(now)")
        }
        continue
      }
      let bytes = choices.piece()
      received += bytes.count
      session.receive(ByteBuffer(sliceOf: bytes), at: now)
      try run()
    }
    // Somebody who sends little must not be sent much.
    try require(sent <= 2000 + 200 * received, "\(sent) bytes for \(received)")
  }

  /// The messages and frames of clients, however they are cut.
  static let serverRequests = FuzzTarget("rtsp-requests") { choices in
    let (whole, reads) = choices.reads()
    let expected = items([whole])
    let found = items(reads)
    try requireEqual(found.0, expected.0, "\(reads.map(\.count))")
    try requireEqual(found.1, expected.1, "\(reads.map(\.count))")
    for case .request(let request) in expected.0 {
      _ = RTSPTarget(request.target)
      _ = try? TransportOffer.offers(in: request.headers.map(\.value))
      for header in request.headers { _ = PlayRange(header.value) }
    }
  }

  private static func items(
    _ reads: [[UInt8]]
  ) -> ([RTSPRequestReader.Item], RTSPRequestReader.Fault?) {
    var reader = RTSPRequestReader()
    var items: [RTSPRequestReader.Item] = []
    do throws(RTSPRequestReader.Fault) {
      for read in reads {
        reader.append(ByteBuffer(sliceOf: read))
        while let item = try reader.next() { items.append(item) }
      }
    } catch { return (items, error) }
    return (items, nil)
  }

  /// What a proxy passes on: all of it, in its order, with other ports and addresses.
  static let proxy = FuzzTarget("rtsp-proxy") { choices in
    let (whole, reads) = choices.reads()
    var rewriting = RTSPRewriting(server: ["camera", "::1"], port: 554, proxy: "proxy:8554")
    func pieces(_ reads: [[UInt8]]) -> [RTSPPieces.Piece] {
      var pieces = RTSPPieces()
      var found: [RTSPPieces.Piece] = []
      for read in reads {
        pieces.append(ByteBuffer(sliceOf: read))
        while let piece = pieces.next() {
          // What is not understood comes as it is cut.
          if case .unknown(let more) = piece, case .unknown(var former)? = found.last {
            former.writeImmutableBuffer(more)
            found[found.count - 1] = .unknown(former)
          } else {
            found.append(piece)
          }
        }
      }
      return found
    }
    let found = pieces([whole])
    try requireEqual(pieces(reads), found, "\(reads.map(\.count))")
    for case .message(var text) in found {
      rewriting.note(request: text)
      _ = RTSPRewriting.clientPorts(in: text)
      _ = RTSPRewriting.server(in: text)
      RTSPRewriting.set(clientPort: 5000, in: &text)
      let passed = text.bytes.array
      try require(passed.count <= whole.count + 1000 + whole.count * 8, "\(passed.count) bytes")
    }
  }
}
