import BlockingIO
import CAVFormat
import CFFmpeg
import Glibc
import NIOCore

/// A pipe that a thread reads: by itself, or for libavformat.
@safe final class PipeInput {
  /// What tells Annex B from what libavformat reads.
  private static let beginning = 64
  private static let bufferLength = 64 << 10

  private let descriptor: Int32
  private let output: LiveStream
  private let waker: Waker
  /// What was read to find out what it is.
  private var first = ByteBuffer()

  init(_ descriptor: Int32, for output: LiveStream, _ waker: Waker) {
    self.descriptor = descriptor
    self.output = output
    self.waker = waker
  }

  /// The first bytes, as soon as there are enough; they are read again afterwards.
  func peek() -> ByteBuffer {
    while first.readableBytes < Self.beginning {
      let more = readOn(Self.beginning - first.readableBytes)
      if more.readableBytes == 0 { break }
      first.writeImmutableBuffer(more)
    }
    return first
  }

  /// The next bytes, at most `count`; none at the end, or when nobody wants any more.
  func read(_ count: Int) -> ByteBuffer {
    if first.readableBytes > 0 {
      return first.readSlice(length: min(count, first.readableBytes)) ?? ByteBuffer()
    }
    return readOn(count)
  }

  /// Whether bytes come, or the end, within `milliseconds`.
  func hasMore(within milliseconds: Int32) -> Bool {
    if first.readableBytes > 0 || output.isStopped { return true }
    var descriptors = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    return unsafe poll(&descriptors, 2, milliseconds) != 0
  }

  private func readOn(_ count: Int) -> ByteBuffer {
    while hasMore(within: -1), !output.isStopped {
      var bytes = ByteBufferAllocator().buffer(capacity: count)
      var failure: Int32 = 0
      let length = unsafe bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
        let length = unsafe Glibc.read(descriptor, room.baseAddress, count)
        if length < 0 { failure = errno }
        return max(0, length)
      }
      if length == 0, failure == EINTR || failure == EAGAIN { continue }
      return bytes
    }
    return ByteBuffer()
  }

  /// Opens what libavformat makes of the bytes; close it with ``close(_:)``.
  ///
  /// - Throws: ``SendError`` when it makes nothing of them.
  func open() throws(SendError) -> UnsafeMutablePointer<AVFormatContext> {
    let buffer = unsafe av_malloc(Self.bufferLength)?.assumingMemoryBound(to: UInt8.self)
    let opaque = unsafe Unmanaged.passUnretained(self).toOpaque()
    let io = unsafe avio_alloc_context(
      buffer, Int32(Self.bufferLength), 0, opaque,
      { opaque, room, count in
        guard let opaque = unsafe opaque, let room = unsafe room, count > 0 else {
          return cffmpeg_error_end_of_file()
        }
        let input = unsafe Unmanaged<PipeInput>.fromOpaque(opaque).takeUnretainedValue()
        let bytes = input.read(Int(count))
        guard bytes.readableBytes > 0 else { return cffmpeg_error_end_of_file() }
        return unsafe bytes.withUnsafeReadableBytes { bytes in
          unsafe UnsafeMutableRawBufferPointer(start: room, count: Int(count)).copyMemory(
            from: bytes)
          return Int32(bytes.count)
        }
      }, nil, nil)
    let input = unsafe avformat_alloc_context()
    unsafe input?.pointee.pb = io
    // What is read for this is sent too, but comes late.
    unsafe input?.pointee.max_analyze_duration = 1_000_000
    do throws(SendError) {
      return try unsafe Libav.open(input, url: nil, name: output.name)
    } catch {
      unsafe Self.free(io)
      throw error
    }
  }

  /// Closes what ``open()`` gave.
  func close(_ opened: UnsafeMutablePointer<AVFormatContext>) {
    let io = unsafe opened.pointee.pb
    unsafe Libav.close(opened)
    unsafe Self.free(io)
  }

  private static func free(_ io: UnsafeMutablePointer<AVIOContext>?) {
    var io = unsafe io
    if let buffer = unsafe io?.pointee.buffer { unsafe av_free(buffer) }
    unsafe avio_context_free(&io)
  }
}
