import Bitstream
import BlockingIO
import CFrameRing
import Decode
import Defragment
import Glibc
import RTPWire

/// The memory of a ring: a memfd that other processes can map to read, and nobody can shrink, grow
/// or write but this object.
///
/// One thread at a time writes frames; the state, the epoch and the heartbeat may be set by any.
@safe final class RingMemory: @unchecked Sendable {
  let layout: RingLayout
  let descriptor: Int32
  /// The first frame that is written here.
  let first: UInt64
  private let base: UnsafeMutableRawPointer
  private let header: UnsafeMutablePointer<rtp_recv_ring_header>

  /// How much memory must stay free for everything else.
  private static let reserve: UInt64 = 16 << 20

  /// Allocates all of the memory.
  ///
  /// - Throws: ``RingError/noMemory(bytes:errno:)``.
  init(
    _ layout: RingLayout, first: UInt64, epoch: UInt64, state: RingState
  ) throws(RingError) {
    self.layout = layout
    self.first = first
    let size = layout.byteCount
    // The kernel would rather end processes than refuse pages of a memfd.
    guard UInt64(size) + Self.reserve < frame_ring_available_memory() else {
      throw .noMemory(bytes: size, errno: ENOMEM)
    }
    var memory: UnsafeMutableRawPointer?
    descriptor = unsafe frame_ring_memory(size, &memory)
    guard descriptor >= 0, let memory = unsafe memory else {
      throw .noMemory(bytes: size, errno: errno)
    }
    unsafe base = memory
    unsafe header = memory.bindMemory(to: rtp_recv_ring_header.self, capacity: 1)
    unsafe header.pointee.magic = RTP_RECV_RING_MAGIC
    unsafe header.pointee.version = UInt16(RTP_RECV_RING_VERSION)
    unsafe header.pointee.header_size = UInt32(RTP_RECV_RING_HEADER_SIZE)
    unsafe header.pointee.slot_header_size = UInt32(RTP_RECV_RING_SLOT_HEADER_SIZE)
    unsafe header.pointee.slot_count = UInt32(layout.slotCount)
    unsafe header.pointee.slot_stride = UInt64(layout.slotStride)
    unsafe header.pointee.size = UInt64(size)
    unsafe header.pointee.first = first
    unsafe header.pointee.writer_pid = UInt32(getpid())
    unsafe withUnsafeMutableBytes(of: &header.pointee.boot_id) { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe frame_ring_boot_id(start.assumingMemoryBound(to: UInt8.self))
    }
    set(epoch)
    set(state)
    beat()
  }

  deinit {
    unsafe munmap(base, layout.byteCount)
    close(descriptor)
  }

  /// Writes frame `sequence` in place of the oldest one.
  ///
  /// - Parameters:
  ///   - frame: is described beside the samples.
  ///   - sequence: one more than that of the frame before.
  ///   - epoch: that of the connection.
  ///   - isFirstOfConnection: whether another connection was lost before it.
  ///   - fill: writes the samples, given where they begin, and says what they are.
  /// - Throws: what `fill` throws; the slot then holds nothing.
  func write(
    _ frame: RawFrame, as sequence: UInt64, epoch: UInt64, isFirstOfConnection: Bool,
    fill: (UnsafeMutableRawPointer, PictureLayout) throws(OutputError) -> RawFrame.Conversion
  ) throws(OutputError) {
    guard let number = layout.slot(of: sequence), let picture = layout.picture else { return }
    let start = unsafe base + layout.offset(ofSlot: number)
    let slot = unsafe start.assumingMemoryBound(to: rtp_recv_ring_slot.self)
    unsafe frame_ring_begin(slot, sequence)
    let made = try unsafe fill(start + RingLayout.samplesOffset, picture)
    unsafe slot.pointee.sequence = sequence
    unsafe slot.pointee.epoch = epoch
    unsafe slot.pointee.describe(frame, as: made, in: picture)
    if isFirstOfConnection {
      unsafe slot.pointee.flags |= UInt32(RTP_RECV_RING_DISCONTINUITY)
    }
    unsafe slot.pointee.published_ns = Instant.now.nanoseconds
    unsafe frame_ring_publish(header, slot, sequence)
  }

  func set(_ state: RingState) { unsafe frame_ring_set_state(header, state.rawValue) }

  func set(_ epoch: UInt64) { unsafe frame_ring_set_epoch(header, epoch) }

  /// Shows that the writer lives.
  func beat() {
    unsafe frame_ring_set_heartbeat(header, UInt64(clamping: Instant.now.nanoseconds))
  }
}

extension rtp_recv_ring_slot {
  /// Describes `frame` after a conversion, but for its number and the time it is published.
  fileprivate mutating func describe(
    _ frame: RawFrame, as made: RawFrame.Conversion, in picture: PictureLayout
  ) {
    pts_ns = frame.time.nanoseconds
    capture_ns = frame.captureTime?.nanoseconds ?? 0
    first_arrival_ns = frame.firstArrival.nanoseconds
    last_arrival_ns = frame.lastArrival.nanoseconds
    rtp_ticks = frame.time.ticks
    rtp_rate = frame.time.timescale
    width = UInt32(clamping: made.geometry.width)
    height = UInt32(clamping: made.geometry.height)
    condition = UInt32(frame.condition.ringValue)
    flags = frame.ringFlags | (made.colour.isFullRange ? UInt32(RTP_RECV_RING_FULL_RANGE) : 0)
    sar_width = frame.sampleAspectRatio?.numerator ?? 0
    sar_height = frame.sampleAspectRatio?.denominator ?? 0
    rate_numerator = frame.frameRate?.numerator ?? 0
    rate_denominator = frame.frameRate?.denominator ?? 0
    (primaries, transfer, matrix) = (
      made.colour.primaries, made.colour.transfer, made.colour.matrix
    )
    unsafe withUnsafeMutableBytes(of: &pixel_format) {
      unsafe $0.copyText(made.geometry.pixelFormat.name)
    }
    unsafe withUnsafeMutableBytes(of: &damage) {
      unsafe $0.copyText(frame.damage?.rawValue ?? "")
    }
    let all = picture.planes.map { plane in
      rtp_recv_ring_plane(
        offset: UInt32(RingLayout.samplesOffset + plane.offset), stride: UInt32(plane.rows.stride),
        row_bytes: UInt32(plane.rows.rowBytes), rows: UInt32(plane.rows.rows))
    }
    plane_count = UInt32(all.count)
    unsafe withUnsafeMutableBytes(of: &planes) { bytes in
      unsafe all.withUnsafeBytes { unsafe bytes.copyMemory(from: $0) }
    }
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Writes the text, cut to the space, and zeros after it.
  fileprivate func copyText(_ text: String) {
    for index in indices { unsafe self[index] = 0 }
    for (index, byte) in zip(indices.dropLast(), text.utf8) { unsafe self[index] = byte }
  }
}

extension RawFrame {
  fileprivate var ringFlags: UInt32 {
    var flags = 0
    if isKeyFrame { flags |= Int(RTP_RECV_RING_KEY) }
    if isRangeKnown { flags |= Int(RTP_RECV_RING_RANGE_KNOWN) }
    if scan != .progressive { flags |= Int(RTP_RECV_RING_INTERLACED) }
    if scan == .topFieldFirst { flags |= Int(RTP_RECV_RING_TOP_FIELD_FIRST) }
    return UInt32(flags)
  }
}

extension RawFrame.Condition {
  fileprivate var ringValue: Int {
    let value =
      switch self {
      case .intact: RTP_RECV_RING_INTACT
      case .concealed: RTP_RECV_RING_CONCEALED
      case .damaged: RTP_RECV_RING_DAMAGED
      case .repeated: RTP_RECV_RING_REPEATED
      }
    return Int(value)
  }
}
