import ArgumentParser
import BlockingIO
import Glibc
import JetStream
import NIOCore
import Synchronization
import Transports

/// The machines among which a fleet is divided, as one of them sees it.
final class FleetCluster: Sendable {
  let member: ClusterMember
  private let told: Told

  /// How many cameras a processor carries, unless somebody says otherwise.
  private static let camerasPerProcessor = 100

  /// - Parameters:
  ///   - url: the server of NATS, and maybe the name of the cluster.
  ///   - capacity: how many cameras this machine carries; `nil` for what its processors do.
  /// - Throws: `JetStreamError`.
  init(_ url: String, capacity: Int?) throws(JetStreamError) {
    let address = try StreamAddress(
      parsing: url, known: ClusterMember.addressKeys, defaultName: ClusterMember.usualName)
    let tool = CommandLineTool.current
    let told = Told()
    self.told = told
    member = ClusterMember(
      address, as: try NATSLogin(), identity: Self.identity,
      capacity: capacity ?? Self.camerasPerProcessor * System.coreCount,
      accepts: { name, row in
        CommandLineTool.$current.withValue(tool) {
          do throws(FleetFile.Fault) {
            _ = try Self.camera(name, row, isShown: false)
            return true
          } catch {
            StandardError.say(.error("\("\(error)".printable); it is left to other machines"))
            return false
          }
        }
      }, handle: { event in told.tell(.cluster(event)) })
  }

  /// Who is told, once that is known.
  private final class Told: Sendable {
    private let listener = Mutex<AsyncStream<Fleet.Event>.Continuation?>(nil)

    func listen(_ continuation: AsyncStream<Fleet.Event>.Continuation) {
      listener.withLock { $0 = continuation }
    }

    func tell(_ event: Fleet.Event) { _ = listener.withLock(\.self)?.yield(event) }
  }

  /// Begins to take cameras; `rows` become those of the cluster, if there are any.
  func begin(
    with rows: [String: String]?, telling events: AsyncStream<Fleet.Event>.Continuation
  ) throws(ThreadError) {
    told.listen(events)
    if let rows { member.replaceRows(by: rows) }
    try member.start()
  }

  /// The camera that a row says.
  static func camera(
    _ name: String, _ row: String, isShown: Bool
  ) throws(FleetFile.Fault) -> FleetPlan.Camera {
    let path = "camera '\(name)' of the cluster"
    // Aliases in aliases take a parser of YAML for ever, and no row that is written here has any.
    guard !row.contains(#/(^|[\s\[{,]|["']:)[&*][^\s]/#.anchorsMatchLineEndings()) else {
      throw FleetFile.Fault(path: path, place: nil, words: "a row has no anchors and no aliases")
    }
    let plan = try FleetPlan(FleetFile(row, path: path), path: path, isShown: isShown)
    guard let camera = plan.cameras.first, plan.cameras.count == 1, camera.name == name else {
      throw FleetFile.Fault(path: path, place: nil, words: "the row is of another camera")
    }
    return camera
  }

  /// A name that no other process has.
  private static var identity: String {
    var name = [CChar](repeating: 0, count: 256)
    _ = unsafe gethostname(&name, name.count - 1)
    let host = String(
      decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let letters = host.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }.prefix(40)
    return "\(letters)-\(getpid())-\(UInt64.random(in: 0 ... .max))"
  }
}
