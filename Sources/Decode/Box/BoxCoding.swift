import Bitstream
import NIOCore

extension ByteBuffer {
  mutating func put(_ value: Bool) { writeInteger(UInt8(value ? 1 : 0)) }
  mutating func put(_ value: Int) { writeInteger(Int64(value)) }
  mutating func put(_ value: Int64) { writeInteger(value) }
  mutating func put(_ value: Int32) { writeInteger(value) }
  mutating func put(_ value: UInt32) { writeInteger(value) }
  mutating func put(_ value: UInt8) { writeInteger(value) }

  mutating func put(_ text: String) {
    put(text.utf8.count)
    writeString(text)
  }

  mutating func put<Value>(_ value: Value?, _ write: (inout ByteBuffer, Value) -> Void) {
    put(value != nil)
    if let value { write(&self, value) }
  }

  mutating func put<Value>(_ values: [Value], _ write: (inout ByteBuffer, Value) -> Void) {
    put(values.count)
    for value in values { write(&self, value) }
  }

  /// Writes which of its type's cases `value` is.
  mutating func put<Value: CaseIterable & Equatable>(caseOf value: Value) {
    let place = Value.allCases.enumerated().first { $0.element == value }?.offset
    put(UInt8(clamping: place ?? Int.max))
  }

  mutating func put(_ value: Rational) {
    put(value.numerator)
    put(value.denominator)
  }
}

/// Reads what came from the other side, which may be anything.
struct BoxReader {
  private var bytes: ByteBuffer

  init(_ bytes: ByteBuffer) { self.bytes = bytes }

  mutating func integer<Value: FixedWidthInteger>(
    _ type: Value.Type = Value.self
  ) throws(BoxFault) -> Value {
    guard let value = bytes.readInteger(as: type) else { throw .breach("a message is too short") }
    return value
  }

  /// A count, an offset or a length: 0 to `most`.
  mutating func count(upTo most: Int = .max) throws(BoxFault) -> Int {
    guard let value = Int(exactly: try integer(Int64.self)), value >= 0, value <= most else {
      throw .breach("a number is out of range")
    }
    return value
  }

  mutating func flag() throws(BoxFault) -> Bool {
    switch try integer(UInt8.self) {
    case 0: false
    case 1: true
    default: throw .breach("a flag is neither true nor false")
    }
  }

  mutating func text() throws(BoxFault) -> String {
    guard let text = bytes.readString(length: try count(upTo: BoxChannel.longest)) else {
      throw .breach("a text is too short")
    }
    return text
  }

  mutating func buffer(_ count: Int) throws(BoxFault) -> ByteBuffer {
    guard let buffer = bytes.readSlice(length: count) else {
      throw .breach("a message is too short")
    }
    return buffer
  }

  mutating func optional<Value>(
    _ read: (inout BoxReader) throws(BoxFault) -> Value
  ) throws(BoxFault) -> Value? {
    try flag() ? try read(&self) : nil
  }

  /// As many values as are said, which is not more than there are bytes.
  mutating func list<Value>(
    _ read: (inout BoxReader) throws(BoxFault) -> Value
  ) throws(BoxFault) -> [Value] {
    var values: [Value] = []
    for _ in 0..<(try count(upTo: bytes.readableBytes)) { values.append(try read(&self)) }
    return values
  }

  mutating func oneCase<Value: CaseIterable>(
    of type: Value.Type = Value.self
  ) throws(BoxFault) -> Value {
    let place = Int(try integer(UInt8.self))
    guard let value = type.allCases.dropFirst(place).first else {
      throw .breach("a case is unknown")
    }
    return value
  }

  mutating func rational() throws(BoxFault) -> Rational {
    let terms = (try integer(UInt32.self), try integer(UInt32.self))
    guard let ratio = Rational(terms.0, terms.1) else { throw .breach("a ratio has a 0") }
    return ratio
  }

  /// Throws if something is left over.
  func end() throws(BoxFault) {
    guard bytes.readableBytes == 0 else { throw .breach("a message is too long") }
  }
}
