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
    if found == NATS_OK {
      guard let config = unsafe information?.pointee.Config, unsafe Self.isWhole(config.pointee)
      else {
        throw .refused(
          server: jetStream.link.server, reason: "its description of the stream lacks names")
      }
      guard unsafe set(on: config) else { return }
      let status = unsafe Self.update(config, of: jetStream, &code)
      guard status == NATS_OK else { throw jetStream.error(status, code) }
      return
    }
    guard code == JSStreamNotFoundErr else { throw jetStream.error(found, code) }
    var all = self
    all.age = age ?? Self.usualAge
    all.bytes = bytes ?? Self.usualBytes
    // Another publisher may make it meanwhile.
    unsafe try jetStream.makeStream(name, for: subjects) { config in
      unsafe config.Discard = js_DiscardOld
      _ = unsafe all.set(on: &config)
    }
  }

  /// Whether a configuration has all that libnats takes for granted when it writes it again.
  private static func isWhole(_ config: jsStreamConfig) -> Bool {
    let sources = unsafe UnsafeBufferPointer(
      start: config.Sources, count: Int(max(0, config.SourcesLen)))
    return unsafe ([config.Mirror] + sources).allSatisfy { source in
      guard let source = unsafe source?.pointee else { return true }
      guard unsafe source.Name != nil else { return false }
      guard let external = unsafe source.External?.pointee else { return true }
      return unsafe external.APIPrefix != nil && external.DeliverPrefix != nil
    }
  }

  private static func update(
    _ config: UnsafeMutablePointer<jsStreamConfig>, of jetStream: JetStreamContext,
    _ code: inout jsErrCode
  ) -> natsStatus {
    let placement = unsafe config.pointee.Placement
    guard let placement = unsafe placement, unsafe placement.pointee.Cluster == nil else {
      return unsafe js_UpdateStream(nil, jetStream.pointer, config, nil, &code)
    }
    // One that has tags alone has no cluster, which libnats takes for granted too.
    defer { unsafe placement.pointee.Cluster = nil }
    return unsafe "".withCString { none in
      unsafe placement.pointee.Cluster = unsafe none
      return unsafe js_UpdateStream(nil, jetStream.pointer, config, nil, &code)
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
