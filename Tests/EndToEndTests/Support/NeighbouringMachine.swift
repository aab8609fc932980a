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

  /// The address of the other machine, and that of this one.
  ///
  /// Tests of several processes run at once, so each process has a network of its own.
  let address: String
  let ownAddress: String
  let ownAddress6: String
  /// This machine's end of the cable.
  let interface: String
  private let name: String

  init() throws {
    let number = ProcessInfo.processInfo.processIdentifier
    name = "rtp-recv-\(number)"
    interface = "rr\(number)"
    // A subnet of four addresses, of 16,384 in 10.255.0.0/16.
    let (third, fourth) = (number / 64 % 256, number % 64 * 4)
    let network = "fd77:\(String(number & 0xFFFF, radix: 16)):"
    ownAddress6 = network + ":1"
    (ownAddress, address) = ("10.255.\(third).\(fourth + 1)", "10.255.\(third).\(fourth + 2)")
    try Self.ip("netns", "add", name)
    try Self.ip("link", "add", interface, "type", "veth", "peer", "name", "far", "netns", name)
    try Self.ip("addr", "add", "\(ownAddress)/30", "dev", interface)
    try Self.ip("link", "set", interface, "up")
    try Self.ip("-n", name, "addr", "add", "\(address)/30", "dev", "far")
    try Self.ip("-n", name, "link", "set", "far", "up")
    try Self.ip("-n", name, "route", "add", "239.0.0.0/8", "dev", "far")
    guard Self.hasIPv6 else { return }
    // Nobody else has these addresses, and whether that is so need not be found out first.
    try Self.ip("addr", "add", "\(ownAddress6)/64", "dev", interface, "nodad")
    try Self.ip("-n", name, "addr", "add", "\(network):2/64", "dev", "far", "nodad")
  }

  deinit {
    try? Self.ip("link", "del", interface)
    try? Self.ip("netns", "del", name)
  }

  /// The prefix of a command that is to run there.
  var prefix: [String] { ["ip", "netns", "exec", name] }

  /// Networks that are taken down meanwhile hold it up, for ten seconds each where something in
  /// them is still in use.
  private static func ip(_ arguments: String...) throws {
    let process = try RunningProcess("ip", arguments)
    guard try process.waitForExit() == 0 else { throw POSIXError(.EPERM) }
  }
}
