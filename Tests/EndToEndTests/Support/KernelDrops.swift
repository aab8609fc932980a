import Foundation

/// Does something again in whose time the kernel dropped datagrams: a program that a busy machine
/// did not run in time shows nothing about who sent them.
func withoutKernelDrops<Value>(attempts: Int = 5, _ body: () throws -> Value) throws -> Value {
  for _ in 1..<attempts {
    let before = kernelDrops()
    let result = Result { try body() }
    if kernelDrops() == before { return try result.get() }
  }
  return try body()
}

/// How many datagrams found a socket full, on the whole machine.
private func kernelDrops() -> Int {
  let four = (try? String(contentsOfFile: "/proc/net/snmp", encoding: .utf8)) ?? ""
  let six = (try? String(contentsOfFile: "/proc/net/snmp6", encoding: .utf8)) ?? ""
  // One line has the names, the next the values.
  let lines = four.split(separator: "\n").filter { $0.hasPrefix("Udp:") }
    .map { $0.split(separator: " ") }
  var count = 0
  if lines.count == 2, let place = lines[0].firstIndex(of: "RcvbufErrors"),
    lines[1].indices.contains(place)
  {
    count += Int(lines[1][place]) ?? 0
  }
  for line in six.split(separator: "\n") where line.hasPrefix("Udp6RcvbufErrors") {
    count += line.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) } ?? 0
  }
  return count
}
