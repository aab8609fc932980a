internal import NIOCore
internal import RTPWire

/// The contents of a stream of bytes: length-prefixed packets or, in a pipe, perhaps a capture.
struct StreamContents {
  private enum Stage {
    /// The first bytes, until they show what the contents are.
    case beginning(ByteBuffer, at: Instant)
    case framed(FramedDelivery)
    case capture(CaptureDelivery)
  }

  private var stage: Stage
  private let framing: PacketFraming
  private let recordings: ReplayConfiguration
  private var captured: (packets: UInt64, bytes: UInt64) = (0, 0)

  /// The contents from a server, or with a framing that the user chose.
  init(_ framing: PacketFraming) {
    (self.framing, recordings) = (framing, ReplayConfiguration())
    stage = .framed(FramedDelivery(framing))
  }

  /// The contents of a pipe: a capture, if they begin like one.
  init(pipedFramed framing: PacketFraming, recordings: ReplayConfiguration) {
    (self.framing, self.recordings) = (framing, recordings)
    stage = .beginning(ByteBuffer(), at: Instant(nanoseconds: .min))
  }

  mutating func append(_ bytes: ByteBuffer, at arrival: Instant) {
    switch stage {
    case .beginning(var beginning, _):
      stage = .beginning(ByteBuffer(), at: arrival)
      beginning.writeImmutableBuffer(bytes)
      stage = .beginning(beginning, at: arrival)
      decide(isAll: false)
    case .framed(var packets):
      stage = .beginning(ByteBuffer(), at: arrival)
      packets.append(bytes, at: arrival)
      stage = .framed(packets)
    case .capture(var capture):
      stage = .beginning(ByteBuffer(), at: arrival)
      capture.append(bytes, at: arrival)
      stage = .capture(capture)
    }
  }

  /// Must be called at the end of the bytes.
  mutating func finish() {
    decide(isAll: true)
    guard case .capture(var capture) = stage else { return }
    capture.finish()
    stage = .capture(capture)
  }

  /// Recognizes the contents by their first bytes, once there are enough of them.
  private mutating func decide(isAll: Bool) {
    guard case .beginning(let bytes, let arrival) = stage else { return }
    let view = bytes.readableBytesView
    let count = RecordingFormat.signatureLength
    let isRecording = RecordingFormat.signatures.contains { view.starts(with: $0) }
    if isRecording {
      let isCompressed = view.starts(with: GzipReader.signature)
      var capture = CaptureDelivery(recordings, isCompressed: isCompressed)
      capture.append(bytes, at: arrival)
      stage = .capture(capture)
      return
    }
    let mayBecomeOne =
      view.count < count && RecordingFormat.signatures.contains { $0.starts(with: view) }
    guard !mayBecomeOne || isAll else { return }
    var packets = FramedDelivery(framing)
    if bytes.readableBytes > 0 { packets.append(bytes, at: arrival) }
    stage = .framed(packets)
  }

  /// The next event; `nil` when more bytes are needed, or at the end.
  ///
  /// - Throws: ``FramedError`` or ``ReplayError``.
  mutating func next() throws -> CaptureDelivery.Event? {
    switch stage {
    case .beginning: return nil
    case .framed(var packets):
      stage = .beginning(ByteBuffer(), at: Instant(nanoseconds: .min))
      defer { stage = .framed(packets) }
      do throws(FramedDelivery.Fault) {
        switch try packets.next() {
        case .packet(let datagram): return .packet(datagram)
        case .readCompleted(_, let arrival): return .readCompleted(at: arrival)
        case nil: return nil
        }
      } catch { throw FramedError(error, in: framing) }
    case .capture(var capture):
      stage = .beginning(ByteBuffer(), at: Instant(nanoseconds: .min))
      defer { stage = .capture(capture) }
      let event = try capture.next()
      if case .packet(let datagram) = event {
        captured.packets += 1
        captured.bytes += UInt64(datagram.bytes.readableBytes)
      }
      return event
    }
  }

  /// How the stream ended, once the far end has finished and nothing is left.
  var end: TransportEnd {
    switch stage {
    case .beginning: .failed(FramedError.empty)
    case .framed(let packets):
      packets.isInsidePacket
        ? .failed(packets.foreignContent.map(FramedError.foreign) ?? FramedError.endedInPacket)
        : packets.delivered == 0 ? .failed(FramedError.empty) : .ended
    case .capture: .ended
    }
  }

  /// When the last whole packet arrived.
  var lastPacket: Instant? {
    if case .framed(let packets) = stage { packets.lastPacket } else { nil }
  }

  /// Adds what has been counted here.
  func count(in counters: inout TransportCounters) {
    switch stage {
    case .beginning: break
    case .framed(let packets):
      counters.delivered = packets.delivered
      counters.deliveredBytes = packets.deliveredBytes
      counters.empty = packets.emptyPackets
    case .capture(let capture):
      (counters.delivered, counters.deliveredBytes) = captured
      counters.carriage = capture.carriage
      counters.isIncompleteRecording = capture.isIncomplete
      for remark in capture.remarks { counters.note(remark) }
    }
  }
}
