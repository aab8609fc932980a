import CNATS
import RTPWire

/// A bucket of keys and values in JetStream.
@safe final class KeyValueBucket {
  /// What became of a change that only one can make.
  enum Change: Sendable, Hashable {
    case made(revision: UInt64)
    /// Somebody else was first.
    case refused
    /// It is not known whether it was made.
    case unknown
  }

  /// What happens to a key.
  enum Event: Sendable, Hashable {
    case value(key: String, String)
    case gone(key: String)
  }

  /// Bytes of the largest value.
  private static let largestValue: Int32 = 64 << 10

  private let store: OpaquePointer
  /// The context outlives its buckets.
  private let context: JetStreamContext
  /// Whether it was not there before.
  let isNew: Bool

  /// Opens a bucket, or makes it.
  ///
  /// - Parameters:
  ///   - name: letters, digits, `-` and `_`.
  ///   - timeToLive: how long a value stays that is not put again; `nil` for ever.
  ///   - context: what JetStream is asked with.
  /// - Throws: why there is none.
  init(
    _ name: String, timeToLive: Duration? = nil, in context: JetStreamContext
  ) throws(JetStreamError) {
    self.context = context
    var made: OpaquePointer?
    var status = unsafe js_KeyValue(&made, context.pointer, name)
    isNew = status == NATS_NOT_FOUND
    if isNew {
      var config = unsafe kvConfig()
      unsafe kvConfig_Init(&config)
      status = unsafe name.withCString { name in
        unsafe config.Bucket = unsafe name
        unsafe config.History = 1
        unsafe config.TTL = timeToLive?.wholeNanoseconds ?? 0
        unsafe config.MaxValueSize = Self.largestValue
        unsafe config.StorageType = js_FileStorage
        return unsafe js_CreateKeyValue(&made, context.pointer, &config)
      }
    }
    guard status == NATS_OK, let made = unsafe made else {
      throw context.error(status, jsErrCode(0))
    }
    unsafe store = made
  }

  deinit { unsafe kvStore_Destroy(store) }

  /// Puts a value where there is none.
  func create(_ key: String, _ value: String) -> Change {
    var revision: UInt64 = 0
    let status = unsafe kvStore_CreateString(&revision, store, key, value)
    return Self.change(status, revision)
  }

  /// Puts a value where that of `revision` still is.
  func update(_ key: String, _ value: String, revision former: UInt64) -> Change {
    var revision: UInt64 = 0
    let status = unsafe kvStore_UpdateString(&revision, store, key, value, former)
    return Self.change(status, revision)
  }

  /// Puts a value whatever there is; returns whether it did.
  @discardableResult
  func put(_ key: String, _ value: String) -> Bool {
    unsafe kvStore_PutString(nil, store, key, value) == NATS_OK
  }

  @discardableResult
  func delete(_ key: String) -> Bool { unsafe kvStore_Delete(store, key) == NATS_OK }

  /// The value of a key, and its revision; `nil` if there is none, or if it is not known.
  func value(of key: String) -> (text: String, revision: UInt64)? {
    var entry: OpaquePointer?
    guard unsafe kvStore_Get(&entry, store, key) == NATS_OK, let entry = unsafe entry else {
      return nil
    }
    defer { unsafe kvEntry_Destroy(entry) }
    return unsafe (Self.text(of: entry), kvEntry_Revision(entry))
  }

  /// What happens to the keys, beginning with what there is.
  func watch() throws(JetStreamError) -> Watch {
    var watcher: OpaquePointer?
    let status = unsafe kvStore_WatchAll(&watcher, store, nil)
    guard status == NATS_OK, let watcher = unsafe watcher else {
      throw context.error(status, jsErrCode(0))
    }
    return unsafe Watch(watcher, self)
  }

  /// What happens to the keys of a bucket.
  @safe final class Watch {
    private let watcher: OpaquePointer
    /// The bucket outlives those that watch it.
    private let bucket: KeyValueBucket
    /// Whether what there was at the beginning has been handed out.
    private(set) var isCurrent = false

    fileprivate init(_ watcher: OpaquePointer, _ bucket: KeyValueBucket) {
      unsafe self.watcher = watcher
      self.bucket = bucket
    }

    deinit { unsafe kvWatcher_Destroy(watcher) }

    /// The next event; `nil` if none came in time.
    func next(within time: Duration) -> Event? {
      var entry: OpaquePointer?
      let status = unsafe kvWatcher_Next(&entry, watcher, max(time.milliseconds, 1))
      guard status == NATS_OK else { return nil }
      guard let entry = unsafe entry else {
        isCurrent = true
        return next(within: .milliseconds(1))
      }
      defer { unsafe kvEntry_Destroy(entry) }
      let key = unsafe String(cString: kvEntry_Key(entry))
      guard unsafe kvEntry_Operation(entry) == kvOp_Put else { return .gone(key: key) }
      return unsafe .value(key: key, KeyValueBucket.text(of: entry))
    }
  }

  private static func text(of entry: OpaquePointer) -> String {
    guard let bytes = unsafe kvEntry_Value(entry) else { return "" }
    let count = Int(max(0, unsafe kvEntry_ValueLen(entry)))
    return unsafe String(
      decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  private static func change(_ status: natsStatus, _ revision: UInt64) -> Change {
    switch status {
    case NATS_OK: .made(revision: revision)
    case NATS_TIMEOUT, NATS_CONNECTION_DISCONNECTED, NATS_CONNECTION_CLOSED, NATS_NO_RESPONDERS,
      NATS_IO_ERROR, NATS_INSUFFICIENT_BUFFER:
      .unknown
    default: .refused
    }
  }
}
