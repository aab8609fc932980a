import NIOCore

extension ByteBuffer {
  /// The same bytes in memory of their own, so that a small part does not keep the whole.
  var copied: ByteBuffer {
    var copy = ByteBufferAllocator().buffer(capacity: readableBytes)
    copy.writeImmutableBuffer(self)
    return copy
  }
}
