import CFFmpeg
import Synchronization

/// In a decoder's process: memory for libavcodec's pictures, which the other process reads.
///
/// Memory is asked for by the decoder's thread, and may be freed by any of libavcodec's.
@safe final class SharedPictures: Sendable {
  /// Bytes behind each plane that vector code may touch, and what planes begin at multiples of.
  static let slack = 128

  private final class Piece: Sendable {
    let number: UInt32
    let memory: SharedMemory
    /// Keeps the pictures' owner as long as libavcodec has a piece.
    let owner: SharedPictures

    init(_ number: UInt32, _ memory: SharedMemory, of owner: SharedPictures) {
      self.number = number
      self.memory = memory
      self.owner = owner
    }
  }

  /// A piece in use, by the buffers of all planes.
  private final class Lease: Sendable {
    private let piece: Piece

    init(_ piece: Piece) { self.piece = piece }

    deinit { piece.owner.state.withLock { $0.idle.append(piece) } }

    /// A buffer of `count` bytes from `start` on, which holds the lease; `nil` without memory.
    func buffer(
      _ start: UnsafeMutablePointer<UInt8>, _ count: Int
    ) -> UnsafeMutablePointer<AVBufferRef>? {
      let opaque = unsafe Unmanaged.passRetained(self)
      let buffer = unsafe av_buffer_create(
        start, count,
        { opaque, _ in
          if let opaque = unsafe opaque { unsafe Unmanaged<Lease>.fromOpaque(opaque).release() }
        }, opaque.toOpaque(), 0)
      if unsafe buffer == nil { unsafe opaque.release() }
      return unsafe buffer
    }
  }

  private struct State {
    var idle: [Piece] = []
    /// The numbers of all pieces, by their addresses.
    var numbers: [UInt: UInt32] = [:]
  }

  private let state = Mutex(State())
  /// Asks for memory of so many bytes.
  private let ask: @Sendable (Int) -> (number: UInt32, memory: SharedMemory)?
  /// Tells that a piece is not used any more.
  private let drop: @Sendable (UInt32) -> Void

  init(
    ask: @escaping @Sendable (Int) -> (number: UInt32, memory: SharedMemory)?,
    drop: @escaping @Sendable (UInt32) -> Void
  ) {
    self.ask = ask
    self.drop = drop
  }

  /// Where the planes of `frame` lie; `nil` where they are not in this memory.
  func place(
    of frame: UnsafeMutablePointer<AVFrame>, planes: Int
  ) -> (memory: UInt32, planes: [BoxedFrame.Plane])? {
    guard let base = unsafe frame.pointee.buf.0?.pointee.data,
      let number = state.withLock({ $0.numbers[UInt(bitPattern: base)] })
    else { return nil }
    let starts = unsafe [frame.pointee.data.0, frame.pointee.data.1, frame.pointee.data.2]
    let strides = unsafe [
      frame.pointee.linesize.0, frame.pointee.linesize.1, frame.pointee.linesize.2,
    ]
    var found: [BoxedFrame.Plane] = []
    for plane in 0..<planes {
      guard let start = unsafe starts[plane] else { return nil }
      unsafe found.append(BoxedFrame.Plane(offset: start - base, stride: Int(strides[plane])))
    }
    return (number, found)
  }

  /// Gives `frame` its buffer, as `avcodec_default_get_buffer2` would: the sizes of planes are
  /// those that the decoder's vector code needs.
  ///
  /// - Returns: 0, or libav's error.
  func allocate(
    _ frame: UnsafeMutablePointer<AVFrame>, in context: UnsafeMutablePointer<AVCodecContext>
  ) -> Int32 {
    let format = AVPixelFormat(rawValue: unsafe frame.pointee.format)
    var (width, height) = unsafe (frame.pointee.width, frame.pointee.height)
    var alignments = [Int32](repeating: 0, count: Int(AV_NUM_DATA_POINTERS))
    var strides = [Int32](repeating: 0, count: 4)
    unsafe avcodec_align_dimensions2(context, &width, &height, &alignments)
    // Strides become multiples of what each plane is aligned to.
    repeat {
      let code = unsafe av_image_fill_linesizes(&strides, format, width)
      guard code >= 0 else { return code }
      width += width & ~(width - 1)
    } while zip(strides, alignments).contains { $1 > 0 && $0 % $1 != 0 }
    var sizes = [Int](repeating: 0, count: 4)
    let code = unsafe av_image_fill_plane_sizes(&sizes, format, height, strides.map { Int($0) })
    guard code >= 0 else { return code }
    var (offsets, end): ([Int], Int) = ([], 0)
    for size in sizes {
      offsets.append(end)
      end += (size + 2 * Self.slack - 1) / Self.slack * Self.slack
    }
    guard let piece = piece(of: end + Self.slack),
      let base = unsafe piece.memory.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    else { return cffmpeg_error_out_of_memory() }
    // Each plane has a buffer of its own, as in libavcodec's memory: concealment finds the samples
    // there that are cropped.
    let lease = Lease(piece)
    func buffer(_ plane: Int) -> UnsafeMutablePointer<AVBufferRef>? {
      sizes[plane] > 0 ? unsafe lease.buffer(base + offsets[plane], sizes[plane]) : nil
    }
    unsafe frame.pointee.buf.0 = buffer(0)
    unsafe frame.pointee.buf.1 = buffer(1)
    unsafe frame.pointee.buf.2 = buffer(2)
    unsafe frame.pointee.buf.3 = buffer(3)
    let buffers = unsafe [
      frame.pointee.buf.0, frame.pointee.buf.1, frame.pointee.buf.2, frame.pointee.buf.3,
    ]
    // libavcodec unrefers a frame that could not be filled.
    guard unsafe zip(buffers, sizes).allSatisfy({ unsafe $1 == 0 || $0 != nil }) else {
      return cffmpeg_error_out_of_memory()
    }
    unsafe frame.pointee.data.0 = buffers[0]?.pointee.data
    unsafe frame.pointee.data.1 = buffers[1]?.pointee.data
    unsafe frame.pointee.data.2 = buffers[2]?.pointee.data
    unsafe frame.pointee.data.3 = buffers[3]?.pointee.data
    unsafe frame.pointee.linesize.0 = strides[0]
    unsafe frame.pointee.linesize.1 = strides[1]
    unsafe frame.pointee.linesize.2 = strides[2]
    unsafe frame.pointee.linesize.3 = strides[3]
    return 0
  }

  /// An idle piece of exactly `count` bytes, or a new one; idle ones of other sizes are dropped.
  private func piece(of count: Int) -> Piece? {
    let (found, dropped) = state.withLock { state in
      let dropped = state.idle.filter { $0.memory.count != count }
      state.idle.removeAll { $0.memory.count != count }
      for piece in dropped { state.numbers[piece.memory.address] = nil }
      return (state.idle.popLast(), dropped)
    }
    for piece in dropped { drop(piece.number) }
    return found ?? newPiece(of: count)
  }

  private func newPiece(of count: Int) -> Piece? {
    guard let (number, memory) = ask(count) else { return nil }
    state.withLock { $0.numbers[memory.address] = number }
    return Piece(number, memory, of: self)
  }
}

extension SharedMemory {
  var count: Int { unsafe bytes.count }
  fileprivate var address: UInt { unsafe UInt(bitPattern: bytes.baseAddress) }
}
