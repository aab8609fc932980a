/// How what carries a stream's datagrams came to its end.
public enum TransportEnd: Sendable {
  /// The far end finished normally: end of file, TEARDOWN answered, last chunk.
  case ended
  /// The carrier failed; the error is readable for people.
  case failed(any Error)
  /// This side closed it.
  case closed
}
