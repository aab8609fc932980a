internal import NIOCore

/// Reads pcapng files (draft-ietf-opsawg-pcapng): sections in either byte order, with any number of
/// interfaces; skips blocks without packets.
struct PcapngReader: RecordingReader {
  /// The types of the blocks that are read (§4).
  enum BlockType {
    /// The same in either byte order.
    static let section: UInt32 = 0x0A0D_0D0A
    static let interface: UInt32 = 1
    /// Obsolete, as Wireshark wrote it before 2007.
    static let packet: UInt32 = 2
    static let simplePacket: UInt32 = 3
    static let enhancedPacket: UInt32 = 6
  }

  static let byteOrderMagic: UInt32 = 0x1A2B_3C4D
  /// The largest block that is read: a packet and 64 KiB of options.
  static let maximumBlock = PcapReader.maximumRecord + (64 << 10)
  /// The most interfaces per section; a capture has one per captured interface.
  static let maximumInterfaces = 1024

  private var oddPackets: UInt64 = 0
  private var bytes = RecordBytes()
  private var order = Endianness.little
  private var interfaces: [PcapngInterface] = []
  private var stage = Stage.head

  private enum Stage: Sendable {
    case head
    /// After the head of a section header; the byte order follows.
    case magic(head: ByteBuffer)
    /// Type and length are known; `rest` bytes of the block are still to come.
    case body(type: UInt32, length: UInt32, rest: Int)
    case skipping(UInt64)
  }

  var unfinished: Int {
    switch stage {
    case .head: bytes.count
    case .magic, .body: bytes.count + 8
    case .skipping(let rest): Int(clamping: rest)
    }
  }

  var oddities: [String] {
    oddPackets == 0
      ? [] : ["\(oddPackets.counted("packet")) left out: of no interface of the file"]
  }

  mutating func append(_ bytes: ByteBuffer) { self.bytes.append(bytes) }

  mutating func next() throws(DamagedRecording) -> Recording? {
    while true {
      switch stage {
      case .head:
        guard let head = bytes.take(8) else { return nil }
        try begin(head)
      case .magic(let head):
        guard let magic = bytes.take(4) else { return nil }
        try beginSection(head, magic)
      case .body(let type, let length, let rest):
        guard let body = bytes.take(rest) else { return nil }
        stage = .head
        if let recording = try read(type, length, body) { return recording }
      case .skipping(let count):
        let rest = count - UInt64(bytes.skip(Int(clamping: count)))
        stage = rest == 0 ? .head : .skipping(rest)
        guard rest == 0 else { return nil }
      }
    }
  }

  // MARK: Frames of blocks

  private mutating func begin(_ head: ByteBuffer) throws(DamagedRecording) {
    guard
      let (type, length) = head.getMultipleIntegers(
        at: head.readerIndex, endianness: order, as: (UInt32, UInt32).self)
    else { return }
    guard type != BlockType.section else {
      stage = .magic(head: head)
      return
    }
    try check(length, shortest: 12, behind: 8)
    guard length > Self.maximumBlock else {
      stage = .body(type: type, length: length, rest: Int(length) - 8)
      return
    }
    let packets = [BlockType.packet, BlockType.simplePacket, BlockType.enhancedPacket]
    guard !packets.contains(type) else { throw tooLong(length, behind: 8) }
    stage = .skipping(UInt64(length) - 8)
  }

  /// Starts a section; nothing of the previous one applies to it.
  private mutating func beginSection(
    _ head: ByteBuffer, _ magic: ByteBuffer
  ) throws(DamagedRecording) {
    switch magic.getInteger(at: magic.readerIndex, as: UInt32.self) {
    case Self.byteOrderMagic: order = .big
    case Self.byteOrderMagic.byteSwapped: order = .little
    default: throw damage(.section, behind: 12)
    }
    interfaces = []
    let length = head.getInteger(at: head.readerIndex + 4, endianness: order, as: UInt32.self) ?? 0
    try check(length, shortest: 28, behind: 12)
    guard length <= Self.maximumBlock else { throw tooLong(length, behind: 12) }
    stage = .body(type: BlockType.section, length: length, rest: Int(length) - 12)
  }

  private func check(
    _ length: UInt32, shortest: UInt32, behind count: UInt64
  ) throws(DamagedRecording) {
    guard length >= shortest, length.isMultiple(of: 4) else {
      throw damage(.blockLength(length), behind: count)
    }
  }

  private func tooLong(_ length: UInt32, behind count: UInt64) -> DamagedRecording {
    damage(.recordTooLong(UInt64(length), limit: Self.maximumBlock), behind: count)
  }

  /// Damage in a block of which `count` bytes have been taken.
  private func damage(
    _ reason: DamagedRecording.Reason, behind count: UInt64
  ) -> DamagedRecording {
    DamagedRecording(offset: bytes.offset - min(count, bytes.offset), reason: reason)
  }

  // MARK: Contents of blocks

  private mutating func read(
    _ type: UInt32, _ length: UInt32, _ body: ByteBuffer
  ) throws(DamagedRecording) -> Recording? {
    var body = body
    let end = body.getInteger(at: body.writerIndex - 4, endianness: order, as: UInt32.self) ?? 0
    guard end == length else {
      throw damage(.lengthsDiffer(length, end), behind: UInt64(length))
    }
    body.moveWriterIndex(to: body.writerIndex - 4)
    switch type {
    case BlockType.section: return isKnown(body) ? nil : try unknownSection(length)
    case BlockType.interface: return addInterface(body)
    case BlockType.enhancedPacket: return enhancedPacket(body)
    case BlockType.packet: return obsoletePacket(body)
    case BlockType.simplePacket: return simplePacket(body)
    default: return nil
    }
  }

  /// Whether the version is 1, the only one (§4.1); `body` begins with it.
  private func isKnown(_ body: ByteBuffer) -> Bool {
    body.getInteger(at: body.readerIndex, endianness: order, as: UInt16.self) == 1
  }

  private func unknownSection(_ length: UInt32) throws(DamagedRecording) -> Recording? {
    throw damage(.section, behind: UInt64(length))
  }

  private mutating func addInterface(_ body: ByteBuffer) -> Recording? {
    guard interfaces.count < Self.maximumInterfaces,
      let interface = PcapngInterface(body, order)
    else { return nil }
    interfaces.append(interface)
    return interface.description.map { Recording(content: .description($0)) }
  }

  /// An Enhanced Packet Block (§4.3).
  private mutating func enhancedPacket(_ body: ByteBuffer) -> Recording? {
    var body = body
    guard
      let (index, high, low, captured, original) = body.readMultipleIntegers(
        endianness: order, as: (UInt32, UInt32, UInt32, UInt32, UInt32).self)
    else { return odd() }
    return packet(
      body, of: Int(index), ticks: UInt64(high) << 32 | UInt64(low), captured, original)
  }

  /// A Packet Block (appendix A).
  private mutating func obsoletePacket(_ body: ByteBuffer) -> Recording? {
    var body = body
    guard
      let (index, _, high, low, captured, original) = body.readMultipleIntegers(
        endianness: order, as: (UInt16, UInt16, UInt32, UInt32, UInt32, UInt32).self)
    else { return odd() }
    return packet(
      body, of: Int(index), ticks: UInt64(high) << 32 | UInt64(low), captured, original)
  }

  /// A Simple Packet Block (§4.4), which belongs to the first interface and has no time.
  private mutating func simplePacket(_ body: ByteBuffer) -> Recording? {
    var body = body
    guard let original = body.readInteger(endianness: order, as: UInt32.self),
      let interface = interfaces.first
    else { return odd() }
    let limit = interface.snapLength == 0 ? UInt32.max : interface.snapLength
    let captured = min(original, limit, UInt32(clamping: body.readableBytes))
    return packet(body, of: 0, ticks: nil, captured, original)
  }

  private mutating func packet(
    _ body: ByteBuffer, of index: Int, ticks: UInt64?, _ captured: UInt32, _ original: UInt32
  ) -> Recording? {
    var body = body
    guard index < interfaces.count, let frame = body.readSlice(length: Int(captured)) else {
      return odd()
    }
    let interface = interfaces[index]
    return Recording(
      time: ticks.map(interface.time), content: .frame(frame, interface.link),
      missing: max(0, Int(original) - Int(captured)))
  }

  private mutating func odd() -> Recording? {
    oddPackets += 1
    return nil
  }
}
