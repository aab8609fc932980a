import Reception

/// The session of a connection that is over.
///
/// It is an object, because it is large, and a copy of it would stay in whatever waits.
final class FormerSession: Sendable {
  let reception: Reception

  init(reception: Reception) { self.reception = reception }
}
