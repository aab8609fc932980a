/// A random number generator of any type.
struct AnyRandomness: RandomNumberGenerator, Sendable {
  var base: any RandomNumberGenerator & Sendable

  mutating func next() -> UInt64 { base.next() }
}
