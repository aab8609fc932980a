import CNATS
import RTPWire
import Synchronization

/// A consumer of a stream, to whom the server sends what there is; libnats hands that over on a
/// thread of its own.
///
/// libnats's own (`js_Subscribe`) ends the process where a server answers without the name of the
/// consumer, or without its configuration. So the consumer is made here, and what the server asks
/// of it is answered here.
@safe final class PushConsumer {
  /// Where a consumer begins.
  enum Start: Sendable, Hashable {
    /// At a message of the stream, or at the next one behind it.
    case sequence(UInt64)
    /// With what was published since, in nanoseconds since 1970.
    case time(nanoseconds: Int64)
    /// With the newest message of each subject.
    case newestOfEach
  }

  /// Who takes the messages, on a thread of libnats.
  protocol Taker: AnyObject, Sendable {
    /// Takes a message, which is gone afterwards; blocks while there is no room.
    func take(_ message: NATSMessage, at place: NATSMessage.Place)
    /// Nothing comes any more that follows what came before; said once.
    func lost()
  }

  private final class Delivery: Sendable {
    private let taker: any Taker
    /// The number of the last message of this consumer.
    private let last = Atomic<UInt64>(0)
    private let isLost = Atomic(false)

    init(_ taker: any Taker) { self.taker = taker }

    /// Takes a message of libnats, or that none came for as long as the server may be silent.
    func take(_ message: NATSMessage?, over connection: OpaquePointer?) {
      guard !isLost.load(ordering: .relaxed) else { return }
      guard let message else { return lose() }
      // What others have put into the stream is a message, whatever its headers say.
      guard let place = message.place else { return unsafe heed(message, over: connection) }
      // libnats drops what it has no room for; another consumer brings it again.
      guard place.consumerSequence == last.load(ordering: .relaxed) &+ 1 else { return lose() }
      last.store(place.consumerSequence, ordering: .relaxed)
      taker.take(message, at: place)
    }

    /// Takes what the server says of the consumer: heartbeats, and questions whether all before
    /// them has been taken, as it has by now.
    private func heed(_ message: NATSMessage, over connection: OpaquePointer?) {
      guard message.header("Status") == "100" else { return }
      // A heartbeat says where it still waits for an answer.
      let answer = message.replySubject ?? message.header("Nats-Consumer-Stalled")
      // Nobody else gets something to be sent with this login.
      if let answer, answer.hasPrefix("$JS.FC.") {
        unsafe _ = natsConnection_Publish(connection, answer, nil, 0)
      }
      guard let number = message.header("Nats-Last-Consumer").flatMap({ UInt64($0) }) else {
        return
      }
      if number != last.load(ordering: .relaxed) { lose() }
    }

    private func lose() {
      isLost.store(true, ordering: .relaxed)
      taker.lost()
    }
  }

  /// How often the server says that it is there.
  private static let heartbeat = Duration.seconds(2)
  /// How long the server keeps a consumer that nobody listens to.
  private static let inactivity = Duration.seconds(10)

  /// How many messages there were for it when it was made.
  let pending: UInt64
  private let subscription: OpaquePointer
  private let handle: CallbackHandle<Delivery>
  /// The context outlives its consumers.
  private let context: JetStreamContext
  /// What ends it on the server.
  private let deletion: String

  /// Makes a consumer, and begins to deliver.
  ///
  /// - Parameters:
  ///   - stream: the name of the stream.
  ///   - subject: of which messages, with wildcards.
  ///   - start: where it begins.
  ///   - context: what JetStream is asked with.
  ///   - taker: who takes the messages.
  /// - Throws: why the server makes none.
  init(
    of stream: String, matching subject: String, from start: Start, by context: JetStreamContext,
    delivering taker: any Taker
  ) throws(JetStreamError) {
    let handle = CallbackHandle(Delivery(taker))
    var made: UnsafeMutablePointer<natsInbox>?
    guard unsafe natsInbox_Create(&made) == NATS_OK, let inbox = unsafe made else {
      throw context.error(NATS_NO_MEMORY, jsErrCode(0))
    }
    defer { unsafe natsInbox_Destroy(inbox) }
    // It comes before the consumer, so that nothing is sent that nobody gets.
    let subscription = unsafe try Self.subscribe(to: inbox, by: context, handle)
    do throws(JetStreamError) {
      let made = unsafe try Self.make(of: stream, matching: subject, start, context, to: inbox)
      pending = made.pending
      deletion = "$JS.API.CONSUMER.DELETE.\(stream).\(made.name)"
    } catch {
      unsafe context.link.end(subscription)
      throw error
    }
    unsafe self.subscription = subscription
    self.handle = handle
    self.context = context
  }

  deinit {
    // It is not waited for: what is not deleted runs out.
    unsafe context.link.withConnection { connection in
      unsafe _ = natsConnection_Publish(connection, deletion, nil, 0)
    }
    unsafe context.link.end(subscription)
  }

  private static func subscribe(
    to inbox: UnsafePointer<natsInbox>, by context: JetStreamContext,
    _ handle: CallbackHandle<Delivery>
  ) throws(JetStreamError) -> OpaquePointer {
    var made: OpaquePointer?
    // Two heartbeats that did not come.
    let silence = (heartbeat * 2).milliseconds
    let status = unsafe context.link.withConnection { connection in
      unsafe natsConnection_SubscribeTimeout(
        &made, connection, inbox, silence,
        { connection, _, message, context in
          defer { unsafe natsMsg_Destroy(message) }
          unsafe CallbackHandle<Delivery>.target(context)?.take(
            message.map { unsafe NATSMessage($0) }, over: connection)
        }, handle.context)
    }
    guard status == NATS_OK, let made = unsafe made else {
      throw context.error(status, jsErrCode(0))
    }
    return unsafe made
  }

  /// Asks the server for a consumer that sends to `inbox`.
  private static func make(
    of stream: String, matching subject: String, _ start: Start, _ context: JetStreamContext,
    to inbox: UnsafePointer<natsInbox>
  ) throws(JetStreamError) -> (name: String, pending: UInt64) {
    var config = unsafe jsConsumerConfig()
    unsafe jsConsumerConfig_Init(&config)
    switch start {
    case .sequence(let sequence):
      unsafe config.DeliverPolicy = js_DeliverByStartSequence
      unsafe config.OptStartSeq = max(sequence, 1)
    case .time(let nanoseconds):
      unsafe config.DeliverPolicy = js_DeliverByStartTime
      unsafe config.OptStartTime = nanoseconds
    case .newestOfEach: unsafe config.DeliverPolicy = js_DeliverLastPerSubject
    }
    unsafe config.DeliverSubject = unsafe inbox
    unsafe config.AckPolicy = js_AckNone
    unsafe config.MaxDeliver = 1
    unsafe config.FlowControl = true
    unsafe config.Heartbeat = heartbeat.wholeNanoseconds
    unsafe config.InactiveThreshold = inactivity.wholeNanoseconds
    unsafe config.MemoryStorage = true
    unsafe config.Replicas = 1
    var information: UnsafeMutablePointer<jsConsumerInfo>?
    var code = jsErrCode(0)
    let status = unsafe subject.withCString { subject in
      unsafe config.FilterSubject = unsafe subject
      return unsafe js_AddConsumer(&information, context.pointer, stream, &config, nil, &code)
    }
    defer { unsafe jsConsumerInfo_Destroy(information) }
    guard status == NATS_OK else { throw context.error(status, code) }
    // Servers call them by letters and digits.
    guard let found = unsafe information?.pointee,
      let name = unsafe found.Name.map({ unsafe String(cString: $0) }), StreamAddress.isName(name)
    else {
      throw .refused(server: context.link.server, reason: "its answer names no consumer")
    }
    return unsafe (name, found.NumPending &+ found.Delivered.Consumer)
  }
}
