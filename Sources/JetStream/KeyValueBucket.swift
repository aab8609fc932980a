import BlockingIO
import CNATS
import NIOCore
import RTPWire

/// A bucket of keys and values in JetStream.
///
/// Edits go out many at a time, and libnats's calls for single ones would not say why one is
/// refused; those that open and watch a bucket end the process where a server answers with less
/// than they expect. So all is done here as all clients of NATS do it: a key is a subject of the
/// bucket's stream, a revision the number of a message.
final class KeyValueBucket {
  /// One edit of one key.
  struct Edit: Sendable, Hashable {
    /// Where it is made.
    enum Condition: Sendable, Hashable {
      case always
      /// Where there is nothing, not even what says that a value was deleted.
      case nothing
      /// Where this still is the newest.
      case revision(UInt64)
    }

    let key: String
    /// `nil` deletes what there is.
    let text: String?
    let condition: Condition

    init(_ key: String, _ text: String?, where condition: Condition = .always) {
      (self.key, self.text, self.condition) = (key, text, condition)
    }
  }

  /// What became of an edit.
  enum Change: Sendable, Hashable {
    case made(revision: UInt64)
    /// Its condition did not hold.
    case refused
    /// It is not known whether it was made, or the server could not make it.
    case unknown
  }

  /// What a key has.
  enum Newest: Sendable, Hashable {
    case value(String, revision: UInt64)
    case deleted(revision: UInt64)
    case nothing
    /// The server did not say.
    case unknown
  }

  /// What happens to a key.
  enum Event: Sendable, Hashable {
    case value(key: String, String, revision: UInt64)
    case gone(key: String)
  }

  /// Bytes of the largest value.
  static let largestValue = 64 << 10
  /// The header of what is no value.
  static let operation = "KV-Operation"
  private static let deletion = "DEL"

  private let stream: String
  private let prefix: String
  private let access: BucketAccess
  /// Whether it was not there before.
  let isNew: Bool

  /// Opens a bucket, or makes it.
  ///
  /// - Parameters:
  ///   - name: letters, digits, `-` and `_`.
  ///   - timeToLive: how long a value stays that is not put again; `nil` for ever.
  ///   - access: what the buckets of the connection are reached with.
  /// - Throws: why there is none.
  init(
    _ name: String, timeToLive: Duration? = nil, by access: BucketAccess
  ) throws(JetStreamError) {
    stream = "KV_\(name)"
    prefix = "$KV.\(name)."
    self.access = access
    let context = access.context
    var information: UnsafeMutablePointer<jsStreamInfo>?
    var code = jsErrCode(0)
    let status = unsafe js_GetStreamInfo(&information, context.pointer, stream, nil, &code)
    defer { unsafe jsStreamInfo_Destroy(information) }
    isNew = code == JSStreamNotFoundErr
    if isNew {
      unsafe try context.makeStream(stream, for: prefix + ">") { config in
        unsafe config.MaxMsgsPerSubject = 1
        unsafe config.MaxAge = timeToLive?.wholeNanoseconds ?? 0
        unsafe config.MaxMsgSize = Int32(Self.largestValue)
        unsafe config.Discard = js_DiscardNew
        unsafe config.AllowRollup = true
        unsafe config.DenyDelete = true
        unsafe config.AllowDirect = true
      }
      return
    }
    guard status == NATS_OK else { throw context.error(status, code) }
    guard let config = unsafe information?.pointee.Config,
      unsafe config.pointee.MaxMsgsPerSubject > 0
    else { throw .refused(server: context.link.server, reason: "\(stream) is no bucket") }
  }

  /// Makes `edits` without waiting for one before the next, and says what became of each.
  func make(_ edits: [Edit]) -> [Change] {
    guard !edits.isEmpty else { return [] }
    let deadline = Instant.now.advanced(by: access.context.link.patience)
    access.pending.begin(edits.count)
    for (place, edit) in edits.enumerated() {
      // libnats may wait for the socket.
      guard send(edit, at: place), .now < deadline else { break }
    }
    return access.pending.changes(until: deadline)
  }

  /// Puts `text` for each of `keys`, unless another value is there.
  ///
  /// - Returns: of each whether it has `text` now; ``Change/refused`` where another value was seen.
  func claim(_ keys: [String], for text: String) -> [Change] {
    var changes = make(keys.map { Edit($0, text, where: .nothing) })
    var isReachable = !changes.contains(.unknown)
    for (place, key) in keys.enumerated() where changes[place] == .refused {
      changes[place] = .unknown
      guard isReachable else { continue }
      switch newest(of: key) {
      // An acknowledgement was lost.
      case .value(text, revision: let revision): changes[place] = .made(revision: revision)
      case .value: changes[place] = .refused
      case .deleted(let revision):
        changes[place] = make([Edit(key, text, where: .revision(revision))])[0]
        // Another was faster, and is seen next time.
        if changes[place] == .refused { changes[place] = .unknown }
      // It has run out meanwhile.
      case .nothing: break
      case .unknown: isReachable = false
      }
    }
    return changes
  }

  /// What a key has now.
  func newest(of key: String) -> Newest {
    var message: OpaquePointer?
    var code = jsErrCode(0)
    let status = unsafe js_GetLastMsg(
      &message, access.context.pointer, stream, prefix + key, nil, &code)
    defer { unsafe natsMsg_Destroy(message) }
    guard status == NATS_OK else {
      let isNothing = status == NATS_NOT_FOUND && code != JSStreamNotFoundErr
      return isNothing || code == JSNoMessageFoundErr ? .nothing : .unknown
    }
    guard let found = unsafe message.map({ unsafe NATSMessage($0) }) else { return .unknown }
    let revision = unsafe natsMsg_GetSequence(message)
    guard found.header(Self.operation) == nil else { return .deleted(revision: revision) }
    return .value(String(buffer: found.payload), revision: revision)
  }

  /// Sends an edit; `false` if that is impossible now.
  private func send(_ edit: Edit, at place: Int) -> Bool {
    var text = edit.text ?? ""
    var made: OpaquePointer?
    var status = text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) {
        unsafe natsMsg_Create(
          &made, prefix + edit.key, nil, $0.baseAddress, Int32(clamping: $0.count))
      }
    }
    defer { unsafe natsMsg_Destroy(made) }
    if edit.text == nil, status == NATS_OK {
      status = unsafe natsMsgHeader_Set(made, Self.operation, Self.deletion)
    }
    guard status == NATS_OK else { return false }
    var options = unsafe jsPubOptions()
    unsafe jsPubOptions_Init(&options)
    unsafe options.MaxWait = access.context.link.patience.milliseconds
    switch edit.condition {
    case .always: break
    case .nothing: unsafe options.ExpectNoMessage = true
    case .revision(let revision): unsafe options.ExpectLastSubjectSeq = revision
    }
    let address = UInt(bitPattern: made)
    // It may be answered before it is said to be sent.
    access.pending.note(address, at: place)
    guard unsafe access.context.publish(&made, &options) == NATS_OK else {
      access.pending.settle(address, as: .unknown)
      return false
    }
    return true
  }

  /// What happens to the keys, beginning with what there is.
  ///
  /// - Parameter lost: called once if something is missing from then on, on a thread of libnats.
  /// - Returns: what hears of them until it is freed.
  /// - Throws: why there is none.
  func watch(whenLost lost: @escaping @Sendable () -> Void) throws(JetStreamError) -> Watch {
    try Watch(stream, prefix, by: access.context, whenLost: lost)
  }
}
