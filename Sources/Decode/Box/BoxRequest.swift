import Bitstream
import NIOCore
import RTPWire

/// What is asked of a decoder's process, one message each.
enum BoxRequest {
  /// Memory of so many bytes came along, in which coded media lies from now on.
  case input(count: Int)
  case open(BoxOpening)
  /// The parameter sets known so far, of the codec that is open; so many bytes of the input.
  case parameterSets(count: Int)
  /// The access unit `number` lies in the input: a head (``BoxedUnit``) and its bytes.
  case decode(number: Int64, head: Int, body: Int, returned: [UInt32])
  case flush(returned: [UInt32])
  /// Memory for a picture came along, under a number; none if that is 0.
  case memory(number: UInt32, count: Int)

  /// Returned frames in one message; others wait for the next.
  static let mostReturned = 1000

  var message: ByteBuffer {
    var bytes = ByteBuffer()
    switch self {
    case .input(let count):
      bytes.put(UInt8(0))
      bytes.put(count)
    case .open(let opening):
      bytes.put(UInt8(1))
      opening.write(into: &bytes)
    case .parameterSets(let count):
      bytes.put(UInt8(2))
      bytes.put(count)
    case .decode(let number, let head, let body, let returned):
      bytes.put(UInt8(3))
      bytes.put(number)
      bytes.put(head)
      bytes.put(body)
      bytes.put(returned) { $0.put($1) }
    case .flush(let returned):
      bytes.put(UInt8(4))
      bytes.put(returned) { $0.put($1) }
    case .memory(let number, let count):
      bytes.put(UInt8(5))
      bytes.put(number)
      bytes.put(count)
    }
    return bytes
  }

  init(_ message: ByteBuffer) throws(BoxFault) {
    var reader = BoxReader(message)
    switch try reader.integer(UInt8.self) {
    case 0: self = .input(count: try reader.count())
    case 1: self = .open(try BoxOpening(&reader))
    case 2: self = .parameterSets(count: try reader.count())
    case 3:
      self = .decode(
        number: try reader.integer(), head: try reader.count(), body: try reader.count(),
        returned: try reader.list { reader throws(BoxFault) in try reader.integer() })
    case 4:
      self = .flush(returned: try reader.list { reader throws(BoxFault) in try reader.integer() })
    case 5: self = .memory(number: try reader.integer(), count: try reader.count())
    default: throw .breach("a request is unknown")
    }
    try reader.end()
  }
}

/// How a decoder in a process of its own is opened.
struct BoxOpening {
  var codec: String
  var configuration: VideoDecoder.Configuration

  init(codec: VideoCodec, configuration: VideoDecoder.Configuration) {
    self.codec = codec.name
    self.configuration = configuration
  }

  func write(into bytes: inout ByteBuffer) {
    bytes.put(codec)
    bytes.put(configuration.allowedDecoders.sorted()) { $0.put($1) }
    bytes.put(configuration.maximumPixels)
    bytes.put(configuration.keyPicturePatience.wholeNanoseconds)
    bytes.put(configuration.keyPictureRequests)
    bytes.put(caseOf: configuration.lossTreatment)
    switch configuration.threads {
    case .automatic: bytes.put(0)
    case .count(let count): bytes.put(max(count, 1))
    }
    bytes.put(configuration.mustKeepUp)
    bytes.put(configuration.processors)
  }

  init(_ reader: inout BoxReader) throws(BoxFault) {
    codec = try reader.text()
    configuration = DecoderService.defaults
    configuration.allowedDecoders = Set(
      try reader.list { reader throws(BoxFault) in try reader.text() })
    configuration.maximumPixels = try reader.count()
    configuration.keyPicturePatience = .nanoseconds(try reader.integer(Int64.self))
    configuration.keyPictureRequests = try reader.count()
    configuration.lossTreatment = try reader.oneCase()
    let threads = try reader.count()
    configuration.threads = threads == 0 ? .automatic : .count(threads)
    configuration.mustKeepUp = try reader.flag()
    configuration.processors = try reader.count()
  }
}
