import CNATS
import NIOCore

/// A message of libnats, for as long as whoever has it does not destroy it.
@safe struct NATSMessage {
  /// Where a message is in its stream, and among those of its consumer.
  struct Place: Sendable, Hashable {
    let sequence: UInt64
    /// How many the consumer has had with it.
    let consumerSequence: UInt64
    /// When the server took it, in nanoseconds since 1970.
    let time: Int64
    /// How many the consumer has not had yet.
    let pending: UInt64
  }

  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

  var subject: String {
    unsafe natsMsg_GetSubject(pointer).map { unsafe String(cString: $0) } ?? ""
  }

  /// Where its answer goes.
  var replySubject: String? {
    unsafe natsMsg_GetReply(pointer).map { unsafe String(cString: $0) }
  }

  /// The first value of a header.
  func header(_ name: String) -> String? {
    var text: UnsafePointer<CChar>?
    guard unsafe natsMsgHeader_Get(pointer, name, &text) == NATS_OK else { return nil }
    return unsafe text.map { unsafe String(cString: $0) }
  }

  var payload: ByteBuffer {
    var payload = ByteBuffer()
    if let data = unsafe natsMsg_GetData(pointer) {
      let length = Int(max(0, unsafe natsMsg_GetDataLength(pointer)))
      unsafe payload.writeBytes(UnsafeRawBufferPointer(start: data, count: length))
    }
    return payload
  }

  /// `nil` for what is no message of a stream.
  var place: Place? {
    var metadata: UnsafeMutablePointer<jsMsgMetaData>?
    guard unsafe natsMsg_GetMetaData(&metadata, pointer) == NATS_OK,
      let metadata = unsafe metadata
    else { return nil }
    defer { unsafe jsMsgMetaData_Destroy(metadata) }
    let found = unsafe metadata.pointee
    return unsafe Place(
      sequence: found.Sequence.Stream, consumerSequence: found.Sequence.Consumer,
      time: found.Timestamp, pending: found.NumPending)
  }
}
