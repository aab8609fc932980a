import Bitstream
import BlockingIO
import CFFmpeg
import Defragment
import Glibc
import NIOCore
import RTPWire
import Synchronization

/// What this process and one decoder's process have to do with each other.
///
/// Nothing that the other side says is believed.
final class BoxSession {
  /// Pieces of memory for pictures: those that libavcodec refers to, and those of frames that this
  /// process has.
  private static let mostPieces = 512
  /// For most access units.
  private static let leastInput = 1 << 20

  private let box: DecoderBox
  private let channel: BoxChannel
  private let maximumPixels: Int
  private var input: SharedMemory?
  private var pieces: [UInt32: SharedMemory] = [:]
  private var pieceNumber: UInt32 = 0
  private var memory = 0
  private let returned = ReturnedFrames()
  /// The memory of each frame that is used here.
  private var lent: [UInt32: UInt32] = [:]
  private let pool: FramePool

  /// Opens a decoder in the process behind `channel`, once that is ready.
  ///
  /// - Throws: ``BoxFault``.
  init(
    over channel: BoxChannel, of box: DecoderBox, codec: VideoCodec,
    configuration: VideoDecoder.Configuration, pool: FramePool,
    onReady: (BoxWalls) throws(BoxFault) -> Void
  ) throws(BoxFault) {
    self.channel = channel
    self.box = box
    self.pool = pool
    maximumPixels = configuration.maximumPixels
    switch try report(within: box.startingPatience) {
    case .ready(let walls): try onReady(walls)
    case .refused(let error): throw .refused(error)
    default: throw .breach("it did not say that it is ready")
    }
    let opening = BoxOpening(codec: codec, configuration: configuration)
    try channel.send(BoxRequest.open(opening).message)
    switch try report(within: box.startingPatience) {
    case .opened: break
    case .refused(let error): throw .refused(error)
    default: throw .breach("it did not say whether it is open")
    }
  }

  /// Hands over the parameter sets that came so far.
  func take(parameterSets sets: [ByteBuffer]) throws(BoxFault) {
    guard !sets.isEmpty else { return }
    var bytes = ByteBuffer()
    bytes.put(sets) { bytes, set in
      bytes.put(set.readableBytes)
      bytes.writeImmutableBuffer(set)
    }
    try write([bytes])
    try channel.send(BoxRequest.parameterSets(count: bytes.readableBytes).message)
  }

  /// Hands over an access unit; ``reports(_:)`` follows.
  func begin(_ unit: AccessUnit, number: Int64) throws(BoxFault) {
    let head = BoxedUnit.head(of: unit)
    try write([head, unit.bytes])
    let request = BoxRequest.decode(
      number: number, head: head.readableBytes, body: unit.bytes.readableBytes,
      returned: takeReturned())
    try channel.send(request.message)
  }

  /// Has every picture come out; ``reports(_:)`` follows.
  func beginFlush() throws(BoxFault) {
    try channel.send(BoxRequest.flush(returned: takeReturned()).message)
  }

  /// The frames that are not used here any more, of which the process is told now.
  private func takeReturned() -> [UInt32] {
    let numbers = returned.take()
    for number in numbers { lent[number] = nil }
    return numbers
  }

  /// Takes what the process says until it is done with what was asked.
  ///
  /// - Returns: how many threads decode, and how busy they are in thousandths.
  func reports(
    _ take: (BoxReport) throws(BoxFault) -> Void
  ) throws(BoxFault) -> (threads: Int, permille: Int) {
    var end = Instant.now.advanced(by: box.longestWork)
    while true {
      let rest = Instant.now.duration(to: end)
      // Also where it has said more already.
      guard rest > .zero else { throw .silent }
      let report = try report(within: box.patience, longest: rest)
      switch report {
      case .done(let threads, let permille): return (threads, permille)
      case .needsMemory(let count): try grant(count)
      case .dropsMemory(let number): try drop(number)
      case .frame, .failure:
        // Whoever takes it may make this wait, which is not the process's time.
        let began = Instant.now
        try take(report)
        end = end.advanced(by: began.duration(to: .now))
      case .ready, .opened, .refused: throw .breach("a report came at the wrong time")
      }
    }
  }

  private func report(
    within limit: Duration, longest: Duration? = nil
  ) throws(BoxFault) -> BoxReport {
    let (message, descriptor) = try channel.receive(
      within: limit, longest: longest ?? limit * 3)
    if descriptor >= 0 {
      close(descriptor)
      throw .breach("it sent a descriptor")
    }
    return try BoxReport(message)
  }

  // MARK: - Memory

  /// Writes `buffers` one behind the other to the input.
  private func write(_ buffers: [ByteBuffer]) throws(BoxFault) {
    let count = buffers.reduce(0) { $0 + $1.readableBytes }
    if input == nil || input.map({ $0.count < count }) == true { try makeInput(of: count) }
    guard let input else { return }
    var offset = 0
    for buffer in buffers {
      unsafe buffer.withUnsafeReadableBytes { bytes in
        unsafe UnsafeMutableRawBufferPointer(rebasing: input.bytes[offset...])
          .copyMemory(from: bytes)
      }
      offset += buffer.readableBytes
    }
  }

  private func makeInput(of count: Int) throws(BoxFault) {
    var size = Self.leastInput
    while size < count { size *= 2 }
    guard let (memory, descriptor) = SharedMemory.make(size, otherMayWrite: false) else {
      throw .notStarted(code: ENOMEM)
    }
    defer { close(descriptor) }
    try channel.send(BoxRequest.input(count: size).message, with: descriptor)
    input = memory
  }

  /// Gives memory for a picture, or none if that would be too much.
  private func grant(_ count: Int) throws(BoxFault) {
    guard pieceNumber < .max else { throw .breach("it has asked for memory too often") }
    guard count > 0, count <= box.pictureMemory - memory, pieces.count < Self.mostPieces,
      let (piece, descriptor) = SharedMemory.make(count, otherMayWrite: true)
    else { return try channel.send(BoxRequest.memory(number: 0, count: count).message) }
    defer { close(descriptor) }
    pieceNumber += 1
    let request = BoxRequest.memory(number: pieceNumber, count: count)
    try channel.send(request.message, with: descriptor)
    pieces[pieceNumber] = piece
    memory += count
  }

  private func drop(_ number: UInt32) throws(BoxFault) {
    guard let piece = pieces.removeValue(forKey: number) else {
      throw .breach("it drops memory that it does not have")
    }
    // It would not count any more, and still be there.
    guard !lent.values.contains(number) else { throw .breach("it drops memory of a frame") }
    memory -= piece.count
  }

  // MARK: - Frames

  /// The frame that `report` describes, of the access unit of `record`.
  func frame(_ report: BoxedFrame, of record: UnitRecord) throws(BoxFault) -> RawFrame {
    guard let piece = pieces[report.memory] else { throw .breach("a frame is in no memory") }
    let properties = report.properties
    guard let format = PixelFormat(AVPixelFormat(rawValue: properties.format)),
      report.planes.count == format.planeCount
    else { throw .breach("a frame's samples are unknown") }
    guard report.width > 0, report.height > 0, report.width <= maximumPixels / report.height
    else { throw .breach("a frame's size is out of range") }
    for (number, plane) in report.planes.enumerated() {
      let (bytes, rows) = format.extent(
        ofPlane: number, width: report.width, height: report.height)
      // No product is beyond 2^31 · 2^16. Vector code may read a little behind the last sample.
      guard plane.stride >= bytes, plane.stride % format.bytesPerSample == 0,
        plane.offset % format.bytesPerSample == 0,
        plane.offset <= piece.count - SharedPictures.slack,
        plane.stride * (rows - 1) + bytes <= piece.count - SharedPictures.slack - plane.offset
      else { throw .breach("a frame is beyond its memory") }
    }
    guard let base = unsafe piece.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
      let frame = unsafe pool.take()
    else { throw .notStarted(code: ENOMEM) }
    guard lent.updateValue(report.memory, forKey: report.number) == nil else {
      unsafe pool.recycle(frame)
      throw .breach("a frame has the number of another")
    }
    let loan = unsafe Unmanaged.passRetained(LentFrame(report.number, piece, returned))
    let buffer = unsafe av_buffer_create(
      base, piece.count,
      { opaque, _ in
        if let opaque = unsafe opaque { unsafe Unmanaged<LentFrame>.fromOpaque(opaque).release() }
      }, loan.toOpaque(), AV_BUFFER_FLAG_READONLY)
    guard unsafe buffer != nil else {
      unsafe loan.release()
      unsafe pool.recycle(frame)
      throw .notStarted(code: ENOMEM)
    }
    unsafe frame.pointee.buf.0 = buffer
    unsafe frame.fill(from: report, base: base)
    guard
      let raw = unsafe RawFrame(
        taking: frame, from: pool, of: record, codedFrameRate: report.frameRate)
    else {
      unsafe pool.recycle(frame)
      throw .breach("a frame's samples are unknown")
    }
    return raw
  }
}

extension UnsafeMutablePointer<AVFrame> {
  fileprivate func fill(from report: BoxedFrame, base: UnsafeMutablePointer<UInt8>) {
    let planes = report.planes
    unsafe pointee.data.0 = base + planes[0].offset
    unsafe pointee.linesize.0 = Int32(planes[0].stride)
    if planes.count == 3 {
      unsafe pointee.data.1 = base + planes[1].offset
      unsafe pointee.linesize.1 = Int32(planes[1].stride)
      unsafe pointee.data.2 = base + planes[2].offset
      unsafe pointee.linesize.2 = Int32(planes[2].stride)
    }
    let properties = report.properties
    unsafe pointee.width = Int32(report.width)
    unsafe pointee.height = Int32(report.height)
    unsafe pointee.format = properties.format
    unsafe pointee.pict_type = AVPictureType(UInt32(bitPattern: properties.type))
    unsafe pointee.interlaced_frame = properties.isInterlaced ? 1 : 0
    unsafe pointee.top_field_first = properties.isTopFieldFirst ? 1 : 0
    unsafe pointee.color_primaries = AVColorPrimaries(UInt32(bitPattern: properties.primaries))
    unsafe pointee.color_trc = AVColorTransferCharacteristic(
      UInt32(bitPattern: properties.transfer))
    unsafe pointee.colorspace = AVColorSpace(UInt32(bitPattern: properties.matrix))
    unsafe pointee.color_range = AVColorRange(UInt32(bitPattern: properties.range))
    unsafe pointee.chroma_location = AVChromaLocation(
      UInt32(bitPattern: properties.chromaLocation))
    if let ratio = properties.aspectRatio, let width = Int32(exactly: ratio.numerator),
      let height = Int32(exactly: ratio.denominator)
    {
      unsafe pointee.sample_aspect_ratio = AVRational(num: width, den: height)
    }
  }
}

/// The frames that are not used here any more, from any thread.
private final class ReturnedFrames: Sendable {
  private let numbers = Mutex<[UInt32]>([])

  func add(_ number: UInt32) { numbers.withLock { $0.append(number) } }

  /// Takes as many as fit into a message.
  func take() -> [UInt32] {
    numbers.withLock { numbers in
      let taken = Array(numbers.prefix(BoxRequest.mostReturned))
      numbers.removeFirst(taken.count)
      return taken
    }
  }
}

/// A frame that the other side must not write to; it goes back with the last reference.
private final class LentFrame: Sendable {
  private let number: UInt32
  private let piece: SharedMemory
  private let returned: ReturnedFrames

  init(_ number: UInt32, _ piece: SharedMemory, _ returned: ReturnedFrames) {
    self.number = number
    self.piece = piece
    self.returned = returned
  }

  deinit { returned.add(number) }
}
