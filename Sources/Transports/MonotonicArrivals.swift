package import RTPWire

/// The times of arrival that a transport delivers, which never decrease (`Datagram.arrival`).
///
/// Datagrams that were held, until their source had proved itself or their key had come, are
/// delivered behind others that came later.
package struct MonotonicArrivals: Sendable {
  /// The latest that was delivered.
  package private(set) var latest = Instant(nanoseconds: .min)

  package init() {}

  /// The time with which to deliver next what came at `arrival`.
  package mutating func order(_ arrival: Instant) -> Instant {
    latest = max(latest, arrival)
    return latest
  }
}
