import CNATS
import NIOCore

/// A consumer of a camera's stream, from one place on; libnats delivers on a thread of its own.
final class StreamSubscription {
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

  private final class Delivery: PushConsumer.Taker {
    let taker: any Taker
    let names: StreamNames
    let number: Int

    init(_ taker: any Taker, _ names: StreamNames, _ number: Int) {
      (self.taker, self.names, self.number) = (taker, names, number)
    }

    func take(_ message: NATSMessage, at place: NATSMessage.Place) {
      taker.take(
        Message(
          subject: names.subject(named: message.subject), sequence: place.sequence,
          time: place.time, payload: message.payload),
        from: number)
    }

    func lost() { taker.lost(from: number) }
  }

  private let consumer: PushConsumer

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
    to names: StreamNames, from start: PushConsumer.Start, by context: JetStreamContext,
    number: Int, delivering taker: any Taker
  ) throws(JetStreamError) {
    consumer = try PushConsumer(
      of: names.stream, matching: names.all, from: start, by: context,
      delivering: Delivery(taker, names, number))
  }
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
    // A server may say that there is one, and not send it.
    guard let found = unsafe message else { return nil }
    return unsafe (natsMsg_GetSequence(found), NATSMessage(found).payload)
  }
}
