import NIOCore

/// The same bytes as transports deliver them: alone, after other bytes, and cut out of a slab.
///
/// A parser must treat all of them alike.
func deliveries(of bytes: [UInt8]) -> [ByteBuffer] {
  var all = [ByteBuffer(bytes: bytes)]
  for junk in 1...7 {
    var slab = ByteBuffer(repeating: 0xFF, count: junk)
    slab.writeBytes(bytes)
    slab.writeRepeatingByte(0xFF, count: 9)
    if let slice = slab.getSlice(at: junk, length: bytes.count) { all.append(slice) }
    slab.moveReaderIndex(forwardBy: junk)
    slab.moveWriterIndex(to: junk + bytes.count)
    all.append(slab)
  }
  return all
}
