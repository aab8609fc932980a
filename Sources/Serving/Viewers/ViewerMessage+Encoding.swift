import Bitstream
import Defragment
import NIOCore
import Outputs
import RTPWire

extension ViewerMessage {
  /// What is written: text, or the head of a binary message and the media behind it, which is not
  /// copied.
  enum Encoded: Sendable {
    case text(ByteBuffer)
    case media(head: ByteBuffer, ByteBuffer)
  }

  /// What is written of it at `now`.
  func encoded(at now: Instant) -> Encoded {
    switch self {
    case .text(let text): return .text(text)
    case .format(let camera, let format): return .text(format.json(of: camera))
    case .soundFormat(let camera, let unit): return .text(unit.format.json(of: camera))
    case .picture(let camera, let element):
      let unit = element.unit.unit
      let head = MediaHead(
        kind: .picture, isKey: element.unit.isKey, isDamaged: unit.integrity == .damaged,
        hasSkipped: element.skipped > 0, camera: camera, age: unit.lastArrival.duration(to: now),
        time: unit.time, captureTime: unit.captureTime)
      return .media(head: head.bytes, unit.bytes)
    case .jpeg(let camera, let picture):
      let head = MediaHead(
        kind: .jpeg, isKey: true, isDamaged: !picture.isIntact, camera: camera,
        age: picture.lastArrival.duration(to: now), time: picture.time,
        captureTime: picture.captureTime)
      return .media(head: head.bytes, picture.bytes)
    case .sound(let camera, let unit):
      let head = MediaHead(
        kind: .sound, isKey: true, isDamaged: unit.lostBefore > 0, camera: camera,
        age: unit.lastArrival.duration(to: now), time: unit.alignedTime ?? unit.time,
        captureTime: unit.captureTime)
      return .media(head: head.bytes, unit.bytes)
    }
  }
}

extension BrowserFormat {
  fileprivate func json(of camera: UInt16) -> ByteBuffer {
    var line = JSONLine()
    line.add("type", "format")
    line.add("id", camera)
    line.add("name", codec.encodingName)
    line.add("codec", codecsParameter)
    line.add("width", description?.width)
    line.add("height", description?.height)
    line.add("summary", description?.summary)
    line.add("record", record?.readableBytesView.hexadecimal)
    line.add(
      "sets",
      sentSets.map { set in
        var object = JSONLine()
        object.add("name", codec.name(ofUnitType: codec.type(of: NALUnitHead(of: set))))
        object.add("bytes", set.readableBytesView.hexadecimal)
        return object
      })
    return ByteBuffer(string: line.text)
  }
}

extension SoundFormat {
  fileprivate func json(of camera: UInt16) -> ByteBuffer {
    var line = JSONLine()
    line.add("type", "sound")
    line.add("id", camera)
    line.add("codec", codec.name)
    line.add("rate", sampleRate)
    line.add("channels", channels)
    line.add("description", configuration.hexadecimal)
    return ByteBuffer(string: line.text)
  }
}
