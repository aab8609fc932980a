import Foundation
import TestSupport

/// A stand-in for another machine: a network namespace at the other end of a virtual cable.
///
/// GStreamer's server keeps the multicast group's port to itself, so nothing on the same machine
/// can listen there.
final class NeighbouringMachine {
  /// Only root may lay cables, and not in every container.
  static let works = (try? NeighbouringMachine()) != nil

  /// Not every container has IPv6.
  static let hasIPv6 = FileManager.default.fileExists(atPath: "/proc/net/if_inet6")

  /// The address of the other machine.
  let address = "10.255.77.2"
  /// This machine's end of the cable.
  let interface: String
  private let name: String

  init() throws {
    name = "rtp-recv-\(ProcessInfo.processInfo.processIdentifier)"
    interface = "rr\(ProcessInfo.processInfo.processIdentifier)"
    try Self.ip("netns", "add", name)
    try Self.ip("link", "add", interface, "type", "veth", "peer", "name", "far", "netns", name)
    try Self.ip("addr", "add", "10.255.77.1/30", "dev", interface)
    try Self.ip("link", "set", interface, "up")
    try Self.ip("-n", name, "addr", "add", "\(address)/30", "dev", "far")
    try Self.ip("-n", name, "link", "set", "far", "up")
    try Self.ip("-n", name, "route", "add", "239.0.0.0/8", "dev", "far")
    guard Self.hasIPv6 else { return }
    // Nobody else has these addresses, and whether that is so need not be found out first.
    try Self.ip("addr", "add", "fd77::1/64", "dev", interface, "nodad")
    try Self.ip("-n", name, "addr", "add", "fd77::2/64", "dev", "far", "nodad")
  }

  deinit {
    try? Self.ip("link", "del", interface)
    try? Self.ip("netns", "del", name)
  }

  /// The prefix of a command that is to run there.
  var prefix: [String] { ["ip", "netns", "exec", name] }

  private static func ip(_ arguments: String...) throws {
    let process = try RunningProcess("ip", arguments)
    guard try process.waitForExit(within: 10) == 0 else { throw POSIXError(.EPERM) }
  }
}
