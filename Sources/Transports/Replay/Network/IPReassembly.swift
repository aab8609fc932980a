internal import NIOCore
internal import RTPWire

/// Reassembles fragmented IP packets (RFC 791 §3.2, RFC 8200 §4.5).
struct IPReassembly: Sendable {
  enum Outcome: Sendable, Hashable {
    case whole(IPPacket)
    case incomplete
    /// The same fragment again.
    case duplicate
    /// It overlaps another one, so the whole packet is dropped (RFC 5722).
    case overlapping
    /// All have come, but of several packets, by the checksum of UDP.
    case mixed
    /// It extends past 65,535 bytes, or past an end that was already known.
    case impossible
  }

  /// The most packets in reassembly; the oldest makes room.
  static let maximumPackets = 64
  /// Bytes of all waiting fragments.
  static let maximumBytes = 4 << 20
  /// After this time the rest will not come, as in Linux.
  ///
  /// An identification of IPv4 may come again before the 60 s of RFC 8200 §4.5 are over.
  static let patience: Int64 = 30_000_000_000

  /// Packets that were never completed.
  private(set) var incomplete: UInt64 = 0
  /// Whether a packet has had the right checksum, so that it means something in others.
  private var checksumsHold = false
  private var packets: [Packet] = []
  private var bytes = 0

  fileprivate struct Identity: Hashable {
    var source: IPAddress
    var destination: IPAddress
    var number: UInt8
    var identification: UInt32
  }

  fileprivate struct Packet {
    /// The most pieces per packet: no links with an MTU below 64 bytes are known.
    static let maximumPieces = 1024

    var identity: Identity
    var began: Int64
    /// In order of their offsets, without overlaps.
    var pieces: [(offset: Int, bytes: ByteBuffer)] = []
    /// Bytes of the whole packet, once its last fragment has come.
    var length: Int?
    var received = 0
  }

  /// Adds a fragment recorded at `time`, in nanoseconds.
  mutating func receive(
    _ packet: IPPacket, _ fragment: IPPacket.Fragment, at time: Int64
  ) -> Outcome {
    while let first = packets.first,
      packets.count > Self.maximumPackets || bytes > Self.maximumBytes
        || time.subtractingSaturating(first.began) > Self.patience
    {
      remove(at: 0)
      incomplete += 1
    }
    // IPv6 does not use the protocol here (RFC 8200 §4.5).
    let identity = Identity(
      source: packet.source, destination: packet.destination,
      number: packet.source.isVersion6 ? 0 : packet.number,
      identification: fragment.identification)
    let index =
      packets.firstIndex { $0.identity == identity }
      ?? {
        packets.append(Packet(identity: identity, began: time))
        return packets.count - 1
      }()
    let outcome = packets[index].insert(packet.payload, fragment)
    switch outcome {
    case .fits: bytes += packet.payload.readableBytes
    case .duplicate: return .duplicate
    case .other:
      // The rest of the former packet never came, and its identification has come again.
      remove(at: index)
      incomplete += 1
      return receive(packet, fragment, at: time)
    case .overlapping, .impossible:
      remove(at: index)
      return outcome == .overlapping ? .overlapping : .impossible
    }
    guard let whole = packets[index].whole else { return .incomplete }
    remove(at: index)
    let reassembled = IPPacket(reassembled: whole, of: packet)
    let holds = UDPDatagram.checksumHolds(reassembled)
    // Who takes names and addresses out of a capture may leave the checksums as they were.
    checksumsHold = checksumsHold || holds
    return holds || !checksumsHold ? .whole(reassembled) : .mixed
  }

  private mutating func remove(at index: Int) {
    bytes -= packets.remove(at: index).received
  }
}

extension IPReassembly.Packet {
  fileprivate enum Insertion { case fits, duplicate, other, overlapping, impossible }

  fileprivate mutating func insert(
    _ bytes: ByteBuffer, _ fragment: IPPacket.Fragment
  ) -> Insertion {
    let (start, count) = (fragment.offset, bytes.readableBytes)
    let end = start + count
    guard end <= 65_535, length.map({ end <= $0 }) ?? true, pieces.count < Self.maximumPieces else {
      return .impossible
    }
    let place = pieces.firstIndex { $0.offset >= start } ?? pieces.count
    if place < pieces.count, pieces[place].offset == start,
      pieces[place].bytes.readableBytes == count
    {
      return pieces[place].bytes == bytes ? .duplicate : .other
    }
    let before = place > 0 ? pieces[place - 1] : nil
    if let before, before.offset + before.bytes.readableBytes > start { return .overlapping }
    if place < pieces.count, pieces[place].offset < end { return .overlapping }
    if fragment.isLast {
      guard place == pieces.count, length == nil else { return .impossible }
      length = end
    }
    // A copy, because a slice would keep the read's whole slab in memory.
    pieces.insert((start, ByteBuffer(buffer: bytes)), at: place)
    received += count
    return .fits
  }

  /// The packet's payload, once complete.
  fileprivate var whole: ByteBuffer? {
    guard let length, received == length else { return nil }
    var whole = ByteBufferAllocator().buffer(capacity: length)
    for piece in pieces { whole.writeImmutableBuffer(piece.bytes) }
    return whole
  }
}
