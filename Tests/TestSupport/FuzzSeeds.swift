import Foundation

/// The seeds of tests that try random input: three, or as many as `RTP_RECV_SEEDS` says.
public let fuzzSeeds: ClosedRange<UInt64> =
  1...max(1, ProcessInfo.processInfo.environment["RTP_RECV_SEEDS"].flatMap { UInt64($0) } ?? 3)
