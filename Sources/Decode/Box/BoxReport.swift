import Bitstream
import CFFmpeg
import Defragment
import NIOCore

/// What a decoder's process says, one message each.
///
/// It is not believed: whoever reads a report checks all of it against what this process knows.
enum BoxReport {
  /// The walls stand, and libraries are loaded.
  case ready(BoxWalls)
  case opened
  /// It cannot be opened, or nothing can be decoded at all.
  case refused(DecoderError)
  /// It needs memory for a picture; ``BoxRequest/memory(number:count:)`` answers.
  case needsMemory(count: Int)
  case dropsMemory(number: UInt32)
  case frame(BoxedFrame)
  case failure(units: ClosedRange<Int64>, BoxedReason)
  /// It is done with what was asked.
  case done(threads: Int, permille: Int)

  var message: ByteBuffer {
    var bytes = ByteBuffer()
    switch self {
    case .ready(let walls):
      bytes.put(UInt8(0))
      bytes.put(walls.rawValue)
    case .opened: bytes.put(UInt8(1))
    case .refused(let error):
      bytes.put(UInt8(2))
      bytes.put(error)
    case .needsMemory(let count):
      bytes.put(UInt8(3))
      bytes.put(count)
    case .dropsMemory(let number):
      bytes.put(UInt8(4))
      bytes.put(number)
    case .frame(let frame):
      bytes.put(UInt8(5))
      frame.write(into: &bytes)
    case .failure(let units, let reason):
      bytes.put(UInt8(6))
      bytes.put(units)
      reason.write(into: &bytes)
    case .done(let threads, let permille):
      bytes.put(UInt8(7))
      bytes.put(threads)
      bytes.put(permille)
    }
    return bytes
  }

  init(_ message: ByteBuffer) throws(BoxFault) {
    var reader = BoxReader(message)
    switch try reader.integer(UInt8.self) {
    case 0: self = .ready(BoxWalls(rawValue: try reader.integer()))
    case 1: self = .opened
    case 2: self = .refused(try reader.decoderError())
    case 3: self = .needsMemory(count: try reader.count())
    case 4: self = .dropsMemory(number: try reader.integer())
    case 5: self = .frame(try BoxedFrame(&reader))
    case 6: self = .failure(units: try reader.units(), try BoxedReason(&reader))
    case 7:
      self = .done(
        threads: try reader.count(upTo: DecoderThreads.most), permille: try reader.count(upTo: 1000)
      )
    default: throw .breach("a report is unknown")
    }
    try reader.end()
  }
}

/// A frame in shared memory.
struct BoxedFrame {
  struct Plane {
    var offset: Int
    var stride: Int
  }

  /// What libav says of it, as the numbers of its enumerations.
  struct Properties {
    var format: Int32
    var type: Int32
    var isInterlaced: Bool
    var isTopFieldFirst: Bool
    var primaries: Int32
    var transfer: Int32
    var matrix: Int32
    var range: Int32
    var chromaLocation: Int32
    var aspectRatio: Rational?
  }

  /// The numbers of the access units that it came in.
  var units: ClosedRange<Int64>
  /// Under which the sender knows it until it is returned.
  var number: UInt32
  var memory: UInt32
  var planes: [Plane]
  var width: Int
  var height: Int
  var properties: Properties
  var frameRate: Rational?
  var condition: RawFrame.Condition
  var damage: PictureDamage?
  /// Nanoseconds.
  var decodingTime: Int64
}

extension BoxedFrame {
  func write(into bytes: inout ByteBuffer) {
    bytes.put(units)
    bytes.put(number)
    bytes.put(memory)
    bytes.put(planes) { bytes, plane in
      bytes.put(plane.offset)
      bytes.put(plane.stride)
    }
    bytes.put(width)
    bytes.put(height)
    bytes.put(properties.format)
    bytes.put(properties.type)
    bytes.put(properties.isInterlaced)
    bytes.put(properties.isTopFieldFirst)
    bytes.put(properties.primaries)
    bytes.put(properties.transfer)
    bytes.put(properties.matrix)
    bytes.put(properties.range)
    bytes.put(properties.chromaLocation)
    bytes.put(properties.aspectRatio) { $0.put($1) }
    bytes.put(frameRate) { $0.put($1) }
    bytes.put(caseOf: condition)
    bytes.put(damage) { $0.put(caseOf: $1) }
    bytes.put(decodingTime)
  }

  init(_ reader: inout BoxReader) throws(BoxFault) {
    units = try reader.units()
    number = try reader.integer()
    memory = try reader.integer()
    planes = try reader.list { reader throws(BoxFault) in
      Plane(offset: try reader.count(), stride: try reader.count(upTo: Int(Int32.max)))
    }
    width = try reader.count(upTo: Int(UInt16.max))
    height = try reader.count(upTo: Int(UInt16.max))
    properties = try Properties(&reader)
    frameRate = try reader.optional { reader throws(BoxFault) in try reader.rational() }
    condition = try reader.oneCase()
    damage = try reader.optional { reader throws(BoxFault) in try reader.oneCase() }
    decodingTime = Int64(try reader.count())
  }
}

extension BoxedFrame.Properties {
  init(_ reader: inout BoxReader) throws(BoxFault) {
    format = try reader.integer()
    type = try reader.number(below: AV_PICTURE_TYPE_BI.rawValue + 1)
    isInterlaced = try reader.flag()
    isTopFieldFirst = try reader.flag()
    primaries = try reader.number(below: AVCOL_PRI_NB.rawValue)
    transfer = try reader.number(below: AVCOL_TRC_NB.rawValue)
    matrix = try reader.number(below: AVCOL_SPC_NB.rawValue)
    range = try reader.number(below: AVCOL_RANGE_NB.rawValue)
    // FFmpeg before 6.0 hands on whatever number an H.264 stream has there.
    let location: Int32 = try reader.integer()
    let isKnown = (0..<Int32(AVCHROMA_LOC_NB.rawValue)).contains(location)
    chromaLocation = isKnown ? location : Int32(AVCHROMA_LOC_UNSPECIFIED.rawValue)
    aspectRatio = try reader.optional { reader throws(BoxFault) in try reader.rational() }
  }
}

/// Why an access unit gave no frame.
struct BoxedReason {
  var kind: DecodeFailure.Kind
  /// libav's error, or a size.
  var first: Int32 = 0
  var second: Int32 = 0

  init(_ kind: DecodeFailure.Kind) { self.kind = kind }

  init(_ reason: DecodeFailure.Reason) {
    kind = reason.kind
    switch reason {
    case .decoder(let code, _): first = code
    case .rejectedSize(let width, let height):
      (first, second) = (Int32(clamping: width), Int32(clamping: height))
    default: break
    }
  }

  /// The reason, for a unit of `codec`.
  func reason(codec: VideoCodec) -> DecodeFailure.Reason {
    switch kind {
    case .decoder: .decoder(code: first, text: libavErrorText(first))
    case .noRandomAccessPoint: .noRandomAccessPoint
    case .noPicture: .noPicture
    case .notShown: .notShown
    case .notIntact: .notIntact
    case .rejectedSize: .rejectedSize(width: Int(first), height: Int(second))
    case .foreignCodec: .foreignCodec(codec)
    case .unknownPixelFormat: .unknownPixelFormat
    case .outOfMemory: .outOfMemory
    case .decoderLost: .decoderLost
    case .closed: .closed
    }
  }

  func write(into bytes: inout ByteBuffer) {
    bytes.put(caseOf: kind)
    bytes.put(first)
    bytes.put(second)
  }

  init(_ reader: inout BoxReader) throws(BoxFault) {
    kind = try reader.oneCase()
    first = try reader.integer()
    second = try reader.integer()
  }
}

extension ByteBuffer {
  fileprivate mutating func put(_ units: ClosedRange<Int64>) {
    put(units.lowerBound)
    put(units.upperBound)
  }

  fileprivate mutating func put(_ error: DecoderError) {
    switch error {
    case .noLibrary(let reason):
      put(UInt8(0))
      put(String(reason.prefix(1000)))
    case .unsupportedCodec(let name):
      put(UInt8(1))
      put(name)
    case .cannotOpen(let code, _):
      put(UInt8(2))
      put(code)
    // No thread of this process's own is made for a decoder.
    case .outOfMemory, .noThread: put(UInt8(3))
    case .noBox(let reason):
      put(UInt8(4))
      put(String(reason.prefix(1000)))
    }
  }
}

extension BoxReader {
  fileprivate mutating func units() throws(BoxFault) -> ClosedRange<Int64> {
    let (first, last) = (try integer(Int64.self), try integer(Int64.self))
    guard first <= last else { throw .breach("units are in no order") }
    return first...last
  }

  /// A number of one of libav's enumerations, which begin with 0.
  fileprivate mutating func number(below end: UInt32) throws(BoxFault) -> Int32 {
    let number = try integer(Int32.self)
    guard number >= 0, UInt32(number) < end else { throw .breach("a number is out of range") }
    return number
  }

  fileprivate mutating func decoderError() throws(BoxFault) -> DecoderError {
    switch try integer(UInt8.self) {
    case 0: return .noLibrary(reason: try text())
    case 1: return .unsupportedCodec(name: try text())
    case 2:
      let code = try integer(Int32.self)
      return .cannotOpen(code: code, text: libavErrorText(code))
    case 3: return .outOfMemory
    case 4: return .noBox(reason: try text())
    default: throw .breach("an error is unknown")
    }
  }
}
