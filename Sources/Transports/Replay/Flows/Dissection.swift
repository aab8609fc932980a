internal import NIOCore
internal import RTPWire

/// Dissects the records of a file, layer by layer, down to possible RTP.
struct Dissection: Sendable {
  /// The most connections followed; the one silent for longest makes room.
  static let maximumConnections = 64
  /// The most of those in which media were described: such a connection may be silent for long
  /// beside its media, and hardly anything is kept of it.
  static let maximumDescribed = 256
  /// How far records of several interfaces may be out of order.
  private static let greatestDisorder: Int64 = 10_000_000_000
  /// So many records in a row are of a clock that was set back; fewer, of another interface's.
  private static let recordsOfProof = 64

  private(set) var statistics = DissectionStatistics()
  /// What is said of the media from outside the file.
  private let said: SessionDescription?
  /// The descriptions in comments of the file.
  private(set) var comments: [SessionDescription] = []
  private var calls = CallDescriptions()
  private var fragments = IPReassembly()
  private var connections: [Connection: RTSPDialogue] = [:]
  /// The connections in order of their last segment.
  private var order: [Connection] = []
  /// The time of the latest record; 0 before the first one with a time.
  private var time: Int64 = 0
  /// The time of the current record, as it is written.
  private var recorded: Int64?
  /// How far the clock of the machine that recorded was set back meanwhile.
  private var setBack: Int64 = 0
  /// How many records in a row are long past.
  private var pastRecords = 0

  /// A TCP connection in both directions.
  private struct Connection: Hashable {
    let ends: Set<IPEndpoint>

    /// Whether `flow` comes in the connection, or from a port that was agreed in it.
    func carries(_ flow: Flow, in dialogue: RTSPDialogue) -> Bool {
      switch flow.place {
      case .channel(let source, let destination, _): return ends == [source, destination]
      case .port:
        guard let source = flow.source else { return false }
        return dialogue.serverPorts.contains(source.port)
          && ends.contains { $0.address == source.address }
      case .file: return false
      }
    }
  }

  init(said: SessionDescription? = nil) { self.said = said }

  /// The most comments kept; our captures have one per connection.
  private static let maximumComments = 64

  /// All descriptions, from connections and from comments.
  var descriptions: [SessionDescription] {
    order.compactMap { connections[$0]?.description } + comments
  }

  /// The descriptions that may be of `flow`: what is said from outside, or by its own call, or
  /// those of its own RTSP session, or else all.
  ///
  /// Sessions of one server use the same payload types for different media.
  func descriptions(of flow: Flow) -> [SessionDescription] {
    if let said, said.media.contains(where: { $0.payloadTypes.contains(flow.payloadType) }) {
      return [said]
    }
    if let media = calls.media(of: flow) {
      var description = SessionDescription()
      description.media = [media]
      return [description]
    }
    let own: [SessionDescription] = order.compactMap { connection in
      connections[connection].flatMap { dialogue in
        connection.carries(flow, in: dialogue) ? dialogue.description : nil
      }
    }
    return own.isEmpty ? descriptions : own
  }

  /// The RTCP channel for an RTP channel of a connection, and the reverse; `nil` if SETUP was not
  /// recorded.
  func controlChannels(between source: IPEndpoint, and destination: IPEndpoint) -> [UInt8: UInt8] {
    connections[Connection(ends: [source, destination])]?.controlChannels ?? [:]
  }

  /// The client's RTCP port that was agreed in the RTSP session of `flow`, which goes to `port`.
  func controlPort(agreedFor flow: Flow, to port: UInt16) -> UInt16? {
    order.lazy.compactMap { connection in
      connections[connection].flatMap {
        connection.carries(flow, in: $0) ? $0.controlPorts[port] : nil
      }
    }.first
  }

  /// Examines a record, and hands out possible RTP or RTCP in it.
  ///
  /// `cut` gets what is recorded only in part, with zeros for the rest: it came, but cannot be
  /// played.
  mutating func receive(
    _ recording: Recording, _ body: (CarriedPacket) -> Void,
    cut: ((CarriedPacket) -> Void)? = nil
  ) {
    recorded = recording.time
    if let recorded { note(recorded) }
    switch recording.content {
    case .description(let text):
      guard comments.count < Self.maximumComments,
        let description = try? SessionDescription(parsing: text)
      else { return }
      comments.append(description)
    case .packet(let bytes, let channel):
      statistics.packets += 1
      guard recording.missing == 0 else { return statistics.cut += 1 }
      statistics.datagrams += 1
      body(
        CarriedPacket(bytes: bytes, time: time, carrier: .file(channel), recorded: recorded))
    case .frame(let frame, let link):
      statistics.packets += 1
      switch LinkLayer.payload(of: frame, on: link) {
      case .ip(let bytes): receive(ip: bytes, missing: recording.missing, body, cut)
      case .other: statistics.otherThanIP += 1
      case .truncated:
        if recording.missing > 0 { statistics.cut += 1 } else { statistics.malformed += 1 }
      case .unsupported: statistics.unsupportedLink += 1
      }
    }
  }

  /// Goes on to the time of a record.
  private mutating func note(_ recorded: Int64) {
    let earliest = time.subtractingSaturating(Self.greatestDisorder)
    // It was set right again.
    if recorded >= earliest { setBack = 0 }
    let next = recorded.addingSaturating(setBack)
    guard next < earliest else {
      pastRecords = 0
      time = max(time, next)
      return
    }
    pastRecords += 1
    guard pastRecords >= Self.recordsOfProof else { return }
    pastRecords = 0
    setBack = time.subtractingSaturating(recorded)
  }

  /// Hands out what follows holes at the end of the file.
  mutating func finish(_ body: (CarriedPacket) -> Void) {
    for connection in order {
      guard var dialogue = connections.removeValue(forKey: connection) else { continue }
      let holes = dialogue.holes
      dialogue.finish(at: time) { source, frame in
        let other = connection.ends.first { $0 != source } ?? source
        hand(out: frame, from: source, to: other, body)
      }
      statistics.holes += dialogue.holes - holes
      connections[connection] = dialogue
    }
  }

  private mutating func receive(
    ip bytes: ByteBuffer, missing: Int, _ body: (CarriedPacket) -> Void,
    _ cut: ((CarriedPacket) -> Void)?
  ) {
    do throws(IPPacket.Fault) {
      let packet = try IPPacket(parsing: bytes, missing: missing)
      guard let fragment = packet.fragment else { return receive(packet, body, cut) }
      statistics.fragments += 1
      switch fragments.receive(packet, fragment, at: time) {
      case .whole(let whole): receive(whole, body, cut)
      case .incomplete: break
      case .duplicate: statistics.duplicateFragments += 1
      case .overlapping: statistics.overlappingFragments += 1
      case .mixed: statistics.mixedFragments += 1
      case .impossible: statistics.impossibleFragments += 1
      }
    } catch {
      switch error {
      case .cut: statistics.cut += 1
      case .malformed: statistics.malformed += 1
      }
      // Some recorders say of a cut frame that it was as short on the wire.
      guard let cut,
        let packet = try? IPPacket(
          parsing: bytes.filled(by: missing > 0 ? missing : .max), missing: 0),
        packet.fragment == nil, packet.number == IPPacket.Number.udp,
        let datagram = UDPDatagram(parsing: packet.payload)
      else { return }
      cut(carried(datagram, in: packet))
    }
  }

  private mutating func receive(
    _ packet: IPPacket, _ body: (CarriedPacket) -> Void, _ cut: ((CarriedPacket) -> Void)?
  ) {
    switch packet.number {
    case IPPacket.Number.udp:
      guard let datagram = UDPDatagram(parsing: packet.payload) else {
        statistics.malformed += 1
        if let cut, let datagram = UDPDatagram(parsing: packet.payload.filled(by: .max)) {
          cut(carried(datagram, in: packet))
        }
        return
      }
      statistics.datagrams += 1
      calls.observe(datagram.payload, at: time)
      body(carried(datagram, in: packet))
    case IPPacket.Number.tcp:
      guard let segment = TCPSegment(parsing: packet.payload) else {
        return statistics.malformed += 1
      }
      statistics.segments += 1
      receive(segment, from: packet.source, to: packet.destination, body)
    default: statistics.otherProtocols += 1
    }
  }

  private func carried(_ datagram: UDPDatagram, in packet: IPPacket) -> CarriedPacket {
    CarriedPacket(
      bytes: datagram.payload, time: time,
      carrier: .udp(
        source: IPEndpoint(address: packet.source, port: datagram.sourcePort),
        destination: IPEndpoint(address: packet.destination, port: datagram.destinationPort)),
      recorded: recorded)
  }

  private mutating func receive(
    _ segment: TCPSegment, from source: IPAddress, to destination: IPAddress,
    _ body: (CarriedPacket) -> Void
  ) {
    let source = IPEndpoint(address: source, port: segment.sourcePort)
    let destination = IPEndpoint(address: destination, port: segment.destinationPort)
    let connection = Connection(ends: [source, destination])
    var dialogue = connections.removeValue(forKey: connection) ?? RTSPDialogue()
    let holes = dialogue.holes
    var frames: [RTSPDialogue.Frame] = []
    let outcome = dialogue.receive(segment, from: source, at: time) { frames.append($0) }
    if outcome == .retransmission { statistics.retransmissions += 1 }
    statistics.holes += dialogue.holes - holes
    keep(dialogue, of: connection)
    for frame in frames { hand(out: frame, from: source, to: destination, body) }
  }

  private mutating func keep(_ dialogue: RTSPDialogue, of connection: Connection) {
    connections[connection] = dialogue
    if order.last == connection { return }
    order.removeAll { $0 == connection }
    order.append(connection)
    makeRoom(described: true, limit: Self.maximumDescribed)
    makeRoom(described: false, limit: Self.maximumConnections)
  }

  /// Forgets the connection that has been silent for longest, where there are too many of its kind.
  private mutating func makeRoom(described: Bool, limit: Int) {
    guard order.count > limit else { return }
    let alike = order.indices.filter {
      (connections[order[$0]]?.description != nil) == described
    }
    guard alike.count > limit, let first = alike.first else { return }
    connections.removeValue(forKey: order.remove(at: first))
  }

  private mutating func hand(
    out frame: RTSPDialogue.Frame, from source: IPEndpoint, to destination: IPEndpoint,
    _ body: (CarriedPacket) -> Void
  ) {
    statistics.frames += 1
    body(
      CarriedPacket(
        bytes: frame.bytes, time: time,
        carrier: .interleaved(source: source, destination: destination, channel: frame.channel)))
  }
}

extension ByteBuffer {
  /// The bytes with `count` zeros behind them, at most as many as a packet can lack.
  fileprivate func filled(by count: Int) -> ByteBuffer {
    var bytes = self
    bytes.writeRepeatingByte(0, count: min(count, Int(UInt16.max)))
    return bytes
  }
}
