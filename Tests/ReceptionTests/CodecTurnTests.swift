import Bitstream
import Defragment
import NIOCore
import RTPWire
import Reception
import TestSupport
import Testing

/// What may show another codec, where none was said.
@Suite struct CodecTurnTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)
  private static let interval = Duration.milliseconds(40)

  /// Sends pictures of single NAL units to a stream.
  private struct Sender {
    var stream: VideoStream
    var now = start
    private var number: UInt16 = 0

    init(beginningWith material: Material) throws {
      stream = try VideoStream(configuration: VideoStream.Configuration())
      for unit in material.parameterSets { send(unit) }
      send(material.keySlice, isLast: true)
      // A marker is believed once another time has followed one.
      now = now.advanced(by: interval)
      send(material.slice, isLast: true)
    }

    mutating func send(_ payload: [UInt8], isLast: Bool = false, padding: UInt8 = 0) {
      var bytes = ByteBuffer(bytes: [padding > 0 ? 0xA0 : 0x80, isLast ? 0xE0 : 0x60])
      let time = UInt32((now.nanoseconds - start.nanoseconds) * 9 / 100_000)
      bytes.writeMultipleIntegers(number, time, UInt32(7))
      bytes.writeBytes(payload)
      if padding > 0 {
        bytes.writeBytes([UInt8](repeating: 0, count: Int(padding) - 1) + [padding])
      }
      stream.receive(Datagram(bytes: bytes, arrival: now))
      number &+= 1
    }

    mutating func lose(_ count: UInt16) { number &+= count }

    /// How many pictures are there now.
    mutating func take() -> Int {
      var count = 0
      while stream.next(at: now) != nil { count += 1 }
      return count
    }

    /// The next picture, once it has waited for what may follow its marker.
    mutating func next() -> AccessUnit? {
      if let unit = stream.next(at: now) { return unit }
      if let due = stream.deadline { now = due }
      return stream.next(at: now)
    }
  }

  @Test(
    "what a stream has besides slices delays no picture",
    arguments: [
      (Material.h264, ["0cffffff80", "0a", "0b", ""]),
      (Material.h265, ["4c01ff80", "460250", "4402c0f7", "4801", "4a01", ""]),
    ])
  func besides(_ material: Material, besides: [String]) throws {
    var sender = try Sender(beginningWith: material)
    #expect(sender.take() == 2)
    for unit in besides {
      for _ in 0..<3 {
        sender.now = sender.now.advanced(by: Self.interval)
        // What is empty is padding, and has a time of its own.
        sender.send(bytes(unit), padding: unit.isEmpty ? 4 : 0)
        if unit.isEmpty { sender.now = sender.now.advanced(by: Self.interval) }
        sender.send(material.slice, isLast: true)
        #expect(sender.take() == 1, "\(unit)")
      }
    }
  }

  @Test("a packet of padding takes nothing from the first picture of another codec")
  func paddingBeforeAChange() throws {
    var sender = try Sender(beginningWith: .h264)
    #expect(sender.take() == 2)
    sender.now = sender.now.advanced(by: Self.interval)
    sender.send([], padding: 4)
    let next = Material.h265
    for unit in next.parameterSets { sender.send(unit) }
    sender.send(next.keySlice, isLast: true)
    #expect(sender.take() == 0)
    let first = sender.next()
    #expect(first?.integrity == .whole)
    #expect(sender.stream.phase == .receiving(next.codec, payloadType: 96))
  }

  @Test(
    "another codec is known by what follows the first packet of its first picture",
    arguments: [
      (Material.h264, Material.h265, [Material.h265.delimiter]),
      (.h264, .h265, [Material.h265.supplementalInformation]),
      (.h264, .h265, [Material.h265.delimiter, Material.h265.supplementalInformation]),
      (.h265, .h264, [Material.h264.delimiter]),
      (.h265, .h264, [Material.h264.supplementalInformation]),
    ])
  func changeBehindADelimiter(_ former: Material, _ next: Material, leading: [[UInt8]]) throws {
    var sender = try Sender(beginningWith: former)
    #expect(sender.take() == 2)
    for _ in 0..<2 {
      sender.now = sender.now.advanced(by: Self.interval)
      sender.send(former.slice, isLast: true)
      #expect(sender.take() == 1)
    }
    sender.now = sender.now.advanced(by: Self.interval)
    for unit in leading + next.parameterSets { sender.send(unit) }
    sender.send(next.keySlice, isLast: true)
    let first = sender.next()
    let unit = try #require(first)
    #expect(sender.stream.phase == .receiving(next.codec, payloadType: 96))
    // With all that came before the slice.
    #expect(unit.units.count == leading.count + next.parameterSets.count + 1)
    #expect(unit.integrity == .whole)
    #expect(sender.take() == 0)
  }

  @Test("units of Dolby Vision behind a small picture change no codec and delay nothing")
  func dolbyVision() throws {
    var sender = try Sender(beginningWith: .h265)
    #expect(sender.take() == 2)
    // Of type TSA_R and STSA_R, whose headers H.264 has too.
    for slice in ["0601d0246c414ffed68cb111", "0a01d0246c414ffed68cb111"] {
      sender.now = sender.now.advanced(by: Self.interval)
      sender.send(bytes(slice))
      sender.send(bytes("7c0119086c414ffed6"), isLast: true)
      #expect(sender.take() == 1)
    }
    sender.now = sender.now.advanced(by: Self.interval)
    sender.send(bytes("0601d0246c414ffed68cb111"), isLast: true)
    #expect(sender.take() == 1)
    #expect(sender.stream.phase == .receiving(H265.codec, payloadType: 96))
  }

  @Test(
    "an access unit that begins with a unit of no codec waits for nothing",
    arguments: [(Material.h264, "1e01ff80"), (.h265, "2c01ff80"), (.h265, "7c01ff80")])
  func unknownBeginning(_ material: Material, unit: String) throws {
    var sender = try Sender(beginningWith: material)
    #expect(sender.take() == 2)
    for _ in 0..<3 {
      sender.now = sender.now.advanced(by: Self.interval)
      sender.send(bytes(unit))
      sender.send(material.slice, isLast: true)
      #expect(sender.take() == 1, "\(unit)")
    }
  }

  @Test("a picture behind a break that can be of no other codec waits for nothing")
  func certainBehindABreak() throws {
    for material in Material.all {
      var sender = try Sender(beginningWith: material)
      #expect(sender.take() == 2)
      sender.now = sender.now.advanced(by: Self.interval)
      let arrival = sender.now
      sender.lose(100)
      sender.send(material.slice, isLast: true)
      var count = sender.take()
      while count == 0, let deadline = sender.stream.deadline {
        sender.now = deadline
        count = sender.take()
      }
      #expect(count == 1)
      // So long what is missing may come late.
      #expect(sender.now == arrival.advanced(by: .milliseconds(200)))
    }
  }

  @Test(
    """
    a picture behind a break that may be of either codec waits for half a second, and not for the \
    next one
    """)
  func deadline() throws {
    var sender = try Sender(beginningWith: .h265)
    #expect(sender.take() == 2)
    sender.now = sender.now.advanced(by: Self.interval)
    let arrival = sender.now
    sender.lose(100)
    sender.send(bytes("0601d0246c414ffed68cb111"), isLast: true)
    var count = sender.take()
    #expect(count == 0)
    while count == 0, let deadline = sender.stream.deadline {
      sender.now = deadline
      count = sender.take()
    }
    #expect(count == 1)
    #expect(sender.now == arrival.advanced(by: .milliseconds(500)))
  }
}
