import CNATS
import NIOCore
import RTPWire
import Synchronization

/// A consumer of a camera's stream, from one place on; libnats delivers on a thread of its own.
@safe final class StreamSubscription {
  /// Where a consumer begins.
  enum Start: Sendable, Hashable {
    /// At a message of the stream, or at the next one behind it.
    case sequence(UInt64)
    /// With what was published since, in nanoseconds since 1970.
    case time(nanoseconds: Int64)
  }

  /// A message of the stream.
  struct Message: Sendable {
    /// `nil` for one that means nothing here.
    let subject: Publication.Subject?
    let sequence: UInt64
    /// When the server took it, in nanoseconds since 1970.
    let time: Int64
    let payload: ByteBuffer
  }

  /// Who takes the messages, on a thread of libnats.
  protocol Taker: AnyObject, Sendable {
    /// Takes a message; blocks while there is no room.
    func take(_ message: Message, from consumer: Int)
    /// What comes from now on from the same consumer does not follow what came before.
    func lost(from consumer: Int)
  }

  private final class Delivery: Sendable {
    let taker: any Taker
    let names: StreamNames
    let number: Int
    /// The number of the last message of this consumer.
    private let last = Atomic<UInt64>(0)

    init(_ taker: any Taker, _ names: StreamNames, _ number: Int) {
      (self.taker, self.names, self.number) = (taker, names, number)
    }

    /// Reads a message of libnats.
    func take(_ message: OpaquePointer?) {
      var metadata: UnsafeMutablePointer<jsMsgMetaData>?
      guard unsafe natsMsg_GetMetaData(&metadata, message) == NATS_OK,
        let (sequence, time) = unsafe metadata.map({
          unsafe ($0.pointee.Sequence, $0.pointee.Timestamp)
        })
      else { return }
      unsafe jsMsgMetaData_Destroy(metadata)
      // libnats drops what it has no room for; another consumer brings it again.
      guard sequence.Consumer == last.load(ordering: .relaxed) + 1 else {
        return taker.lost(from: number)
      }
      last.store(sequence.Consumer, ordering: .relaxed)
      let text = unsafe natsMsg_GetSubject(message).map { unsafe String(cString: $0) } ?? ""
      let length = Int(max(0, unsafe natsMsg_GetDataLength(message)))
      var payload = ByteBuffer()
      if let data = unsafe natsMsg_GetData(message) {
        unsafe payload.writeBytes(UnsafeRawBufferPointer(start: data, count: length))
      }
      taker.take(
        Message(
          subject: names.subject(named: text), sequence: sequence.Stream, time: time,
          payload: payload),
        from: number)
    }
  }

  /// How often the server says that it is there, in nanoseconds.
  private static let heartbeat: Int64 = 2_000_000_000
  /// How long the server keeps a consumer that nobody listens to, in nanoseconds.
  private static let inactivity: Int64 = 10_000_000_000

  private let subscription: OpaquePointer
  private let handle: CallbackHandle<Delivery>
  /// The context outlives its subscriptions.
  private let context: JetStreamContext

  /// Makes a consumer, and begins to deliver.
  ///
  /// - Parameters:
  ///   - names: those of the camera.
  ///   - start: where it begins.
  ///   - context: what JetStream is asked with.
  ///   - number: by which the taker tells consumers apart.
  ///   - taker: who takes the messages.
  /// - Throws: why the server makes none.
  init(
    to names: StreamNames, from start: Start, by context: JetStreamContext, number: Int,
    delivering taker: any Taker
  ) throws(JetStreamError) {
    let handle = CallbackHandle(Delivery(taker, names, number))
    self.handle = handle
    self.context = context
    var options = unsafe jsSubOptions()
    unsafe jsSubOptions_Init(&options)
    switch start {
    case .sequence(let sequence):
      unsafe options.Config.DeliverPolicy = js_DeliverByStartSequence
      unsafe options.Config.OptStartSeq = max(sequence, 1)
    case .time(let nanoseconds):
      unsafe options.Config.DeliverPolicy = js_DeliverByStartTime
      unsafe options.Config.OptStartTime = nanoseconds
    }
    unsafe options.Config.AckPolicy = js_AckNone
    unsafe options.Config.MaxDeliver = 1
    unsafe options.Config.FlowControl = true
    unsafe options.Config.Heartbeat = Self.heartbeat
    unsafe options.Config.InactiveThreshold = Self.inactivity
    unsafe options.Config.MemoryStorage = true
    unsafe options.Config.Replicas = 1
    var made: OpaquePointer?
    var code = jsErrCode(0)
    let status = unsafe names.stream.withCString { stream in
      unsafe options.Stream = unsafe stream
      return unsafe js_Subscribe(
        &made, context.pointer, names.all,
        { _, _, message, context in
          defer { unsafe natsMsg_Destroy(message) }
          unsafe CallbackHandle<Delivery>.target(context)?.take(message)
        }, handle.context, nil, &options, &code)
    }
    guard status == NATS_OK, let made = unsafe made else { throw context.error(status, code) }
    unsafe subscription = made
  }

  deinit { unsafe natsSubscription_Destroy(subscription) }
}

extension JetStreamContext {
  /// The newest message of a stream, and when the server took it, in nanoseconds since 1970.
  ///
  /// - Throws: also where there is no such stream, with ``JetStreamError/noCamera(_:server:)``.
  func newest(
    in names: StreamNames, camera: String, server: String
  ) throws(JetStreamError) -> (sequence: UInt64, time: Int64) {
    var information: UnsafeMutablePointer<jsStreamInfo>?
    var code = jsErrCode(0)
    let status = unsafe js_GetStreamInfo(&information, pointer, names.stream, nil, &code)
    defer { unsafe jsStreamInfo_Destroy(information) }
    guard status == NATS_OK, let state = unsafe information?.pointee.State else {
      if code == JSStreamNotFoundErr { throw .noCamera(camera, server: server) }
      throw error(status, code)
    }
    return unsafe (state.LastSeq, state.LastTime)
  }

  /// The newest message of a subject; `nil` if there is none.
  ///
  /// - Throws: also where there is no such stream, with ``JetStreamError/noCamera(_:server:)``.
  func last(
    of subject: Publication.Subject, in names: StreamNames, camera: String, server: String
  ) throws(JetStreamError) -> (sequence: UInt64, payload: ByteBuffer)? {
    var message: OpaquePointer?
    var code = jsErrCode(0)
    let status = unsafe js_GetLastMsg(
      &message, pointer, names.stream, names.subject(subject), nil, &code)
    defer { unsafe natsMsg_Destroy(message) }
    guard status == NATS_OK else {
      if code == JSStreamNotFoundErr { throw .noCamera(camera, server: server) }
      if status == NATS_NOT_FOUND || code == JSNoMessageFoundErr { return nil }
      throw error(status, code)
    }
    var payload = ByteBuffer()
    if let data = unsafe natsMsg_GetData(message) {
      let length = Int(max(0, unsafe natsMsg_GetDataLength(message)))
      unsafe payload.writeBytes(UnsafeRawBufferPointer(start: data, count: length))
    }
    return unsafe (natsMsg_GetSequence(message), payload)
  }
}
