import CNATS
import RTPWire

/// How much of a camera a server of NATS keeps, and how: what the address says, and otherwise what
/// is there already.
struct StreamLimits: Sendable, Hashable {
  /// What can follow the question mark of an address.
  static let keys: Set = ["max-age", "max-bytes", "storage", "replicas"]

  private var age: Duration?
  private var bytes: Int64?
  private var storage: jsStorageType?
  private var replicas: Int64?

  /// Where nothing is said: enough to look again at what has just happened.
  private static let usualAge = Duration.seconds(600)
  /// How long repetitions are recognized, where that is not longer than messages are kept.
  private static let usualWindow = Duration.seconds(120)
  /// Where nothing is said: ten minutes of 3.5 Mbit/s; the server reserves it for each camera.
  private static let usualBytes: Int64 = 256 << 20

  init(_ address: StreamAddress) throws(JetStreamError) {
    for (key, text) in address.options {
      switch key {
      case "max-age": age = try Self.value(StreamAddress.duration(text), key, "10m")
      case "max-bytes": bytes = try Self.value(StreamAddress.bytes(text), key, "1GiB")
      case "storage":
        let kinds = ["file": js_FileStorage, "memory": js_MemoryStorage]
        storage = try Self.value(kinds[text], key, "file or memory")
      default: replicas = try Self.value(Int64(text).flatMap { 1...5 ~= $0 ? $0 : nil }, key, "3")
      }
    }
  }

  private static func value<Value>(
    _ value: Value?, _ key: String, _ example: String
  ) throws(JetStreamError) -> Value {
    guard let value else { throw .address("\(key) is written as in \(key)=\(example)") }
    return value
  }

  /// Makes the stream `name` for `subjects`, or changes it where it is otherwise.
  func apply(
    to name: String, subjects: String, of jetStream: JetStreamContext
  ) throws(JetStreamError) {
    var information: UnsafeMutablePointer<jsStreamInfo>?
    var code = jsErrCode(0)
    let found = unsafe js_GetStreamInfo(&information, jetStream.pointer, name, nil, &code)
    defer { unsafe jsStreamInfo_Destroy(information) }
    if found == NATS_OK, let config = unsafe information?.pointee.Config {
      guard unsafe set(on: config) else { return }
      let status = unsafe js_UpdateStream(nil, jetStream.pointer, config, nil, &code)
      guard status == NATS_OK else { throw jetStream.error(status, code) }
      return
    }
    guard code == JSStreamNotFoundErr else { throw jetStream.error(found, code) }
    var config = unsafe jsStreamConfig()
    unsafe jsStreamConfig_Init(&config)
    var all = self
    all.age = age ?? Self.usualAge
    all.bytes = bytes ?? Self.usualBytes
    let status = unsafe name.withCString { name in
      unsafe subjects.withCString { subject in
        var subjects: [UnsafePointer<CChar>?] = unsafe [subject]
        return unsafe subjects.withUnsafeMutableBufferPointer { subjects in
          unsafe config.Name = unsafe name
          unsafe config.Subjects = subjects.baseAddress
          unsafe config.SubjectsLen = 1
          unsafe config.Discard = js_DiscardOld
          _ = unsafe all.set(on: &config)
          return unsafe js_AddStream(nil, jetStream.pointer, &config, nil, &code)
        }
      }
    }
    // Another publisher may have made it meanwhile.
    guard status == NATS_OK || code == JSStreamNameExistErr else {
      throw jetStream.error(status, code)
    }
  }

  /// Sets what is chosen; returns whether that changes anything.
  private func set(on config: UnsafeMutablePointer<jsStreamConfig>) -> Bool {
    var changes = false
    func set<Value: Equatable>(
      _ field: WritableKeyPath<jsStreamConfig, Value>, _ value: Value?
    ) {
      guard let value, unsafe config.pointee[keyPath: field] != value else { return }
      unsafe config.pointee[keyPath: field] = value
      changes = true
    }
    unsafe set(\.MaxAge, age?.wholeNanoseconds)
    // Repetitions are not recognized for longer than messages are kept; the server insists. Where
    // they are kept for longer again, so are they.
    let window = unsafe max(config.pointee.Duplicates, Self.usualWindow.wholeNanoseconds)
    unsafe set(\.Duplicates, age.map { min($0.wholeNanoseconds, window) })
    unsafe set(\.MaxBytes, bytes)
    unsafe set(\.Storage, storage)
    unsafe set(\.Replicas, replicas)
    return changes
  }
}
