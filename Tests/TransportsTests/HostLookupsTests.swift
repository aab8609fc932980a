import Dispatch
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import Transports

struct HostLookupsTests {
  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

  @Test(arguments: [
    ("localhost", true), ("LOCALHOST.", true), ("a.localhost", true), ("a.localhost.", true),
    ("localhost..", false), ("notlocalhost", false), ("localhost.example", false), ("", false),
    (".", false),
  ])
  func whichNamesAlwaysStandForThisMachine(host: String, expected: Bool) async throws {
    #expect(HostResolution.isLocalhost(host) == expected)
    guard expected else { return }
    let addresses = try await HostResolution.addresses(of: host, port: 5004, on: eventLoop).get()
    #expect(addresses == [endpoint("127.0.0.1", 5004), endpoint("::1", 5004)])
  }

  /// As in an outage of the name server, during which a receiver tries again and again.
  @Test func aNameIsLookedUpOnceAtATime() async throws {
    let asked = Record<String>()
    let answer = DispatchSemaphore(value: 0)
    let lookups = HostLookups { host throws(TransportError) in
      asked.append(host)
      answer.wait()
      answer.signal()
      return [endpoint("192.0.2.1", 0)]
    }
    let late = lookups.addresses(of: "camera", on: eventLoop, within: .milliseconds(20))
    await #expect(throws: TransportError.nameResolutionTimedOut(host: "camera", seconds: 0)) {
      try await late.get()
    }
    let others = (0..<20).map { _ in
      lookups.addresses(of: "camera", on: eventLoop, within: .seconds(20))
    }
    let other = lookups.addresses(of: "recorder", on: eventLoop, within: .seconds(20))
    _ = try await asked.first(2)
    #expect(asked.elements.sorted() == ["camera", "recorder"])
    answer.signal()
    for future in others + [other] {
      #expect(try await future.get() == [endpoint("192.0.2.1", 0)])
    }
    #expect(asked.elements.count == 2)
    let again = lookups.addresses(of: "camera", on: eventLoop, within: .seconds(20))
    _ = try await again.get()
    #expect(asked.elements.count == 3)
  }

  /// A name server that is away answers for none of its names, and another one goes on.
  @Test func namesThatNobodyAnswersHoldUpNothingElse() async throws {
    let asked = Record<String>()
    let answer = DispatchSemaphore(value: 0)
    let lookups = HostLookups { host throws(TransportError) in
      asked.append(host)
      if host.hasSuffix(".away") {
        answer.wait()
        answer.signal()
      }
      return [endpoint("192.0.2.1", 0)]
    }
    let count = System.coreCount + 1
    let hung = (0..<count).map { number in
      lookups.addresses(of: "camera\(number).away", on: eventLoop, within: .seconds(20))
    }
    defer { answer.signal() }
    _ = try await asked.first(count)
    let other = lookups.addresses(of: "camera.here", on: eventLoop, within: .seconds(20))
    #expect(try await other.get() == [endpoint("192.0.2.1", 0)])
    #expect(try await NIOThreadPool.singleton.runIfActive { true })
    answer.signal()
    for future in hung { #expect(try await future.get() == [endpoint("192.0.2.1", 0)]) }
  }
}
