import Bitstream
import Defragment
import NIOCore
import RTPWire
import Reception
import TestSupport
import Testing

/// How long the first picture of a stream waits for what shows that its marker is its end.
@Suite struct MarkerPatienceTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)

  /// Sends slices of single packets, each with the marker, to a stream whose deadlines are kept.
  private struct Sender {
    var stream: VideoStream
    let material: Material
    private(set) var now = start
    private(set) var units: [AccessUnit] = []
    private var number: UInt16 = 0

    init(_ material: Material) throws {
      self.material = material
      var configuration = VideoStream.Configuration()
      configuration.media = MediaDescription(
        payloadType: 96, encodingName: material.codec.encodingName)
      stream = try VideoStream(configuration: configuration)
    }

    mutating func send(_ payload: [UInt8], picture: UInt32, marker: Bool = true) {
      var bytes = ByteBuffer(bytes: [0x80, marker ? 0xE0 : 0x60])
      bytes.writeMultipleIntegers(number, picture * 3600, UInt32(7))
      bytes.writeBytes(payload)
      number &+= 1
      stream.receive(Datagram(bytes: bytes, arrival: now))
      pull()
    }

    mutating func sendSets() {
      for set in material.parameterSets { send(set, picture: 0, marker: false) }
    }

    mutating func lose() { number &+= 1 }

    mutating func pass(_ duration: Duration) {
      let end = now.advanced(by: duration)
      while let due = stream.deadline, due <= end {
        if due < now {
          Issue.record("what was due at \(due) is not done at \(now)")
          break
        }
        now = due
        pull()
      }
      now = end
    }

    mutating func finish() {
      stream.finish(at: now)
      pull()
    }

    private mutating func pull() {
      while let unit = stream.next(at: now) { units.append(unit) }
    }
  }

  @Test("The slices of the first picture may come one after another", arguments: Material.all)
  func slicesApart(_ material: Material) throws {
    var sender = try Sender(material)
    sender.sendSets()
    for picture in 0..<3 as Range<UInt32> {
      sender.send(picture == 0 ? material.keySlice : material.slice, picture: picture)
      sender.pass(.milliseconds(15))
      sender.send(picture == 0 ? material.laterKeySlice : material.laterSlice, picture: picture)
      sender.pass(.milliseconds(25))
    }
    sender.finish()
    #expect(sender.units.map(\.units.count) == [material.parameterSets.count + 2, 2, 2])
    #expect(sender.units.allSatisfy { $0.integrity == .whole })
  }

  @Test("The only picture of a slow sender waits no longer than 20 ms", arguments: Material.all)
  func slowSender(_ material: Material) throws {
    var sender = try Sender(material)
    sender.sendSets()
    sender.send(material.keySlice, picture: 0)
    sender.pass(.milliseconds(19))
    #expect(sender.units.isEmpty)
    sender.pass(.milliseconds(1))
    #expect(sender.units.map(\.integrity) == [.whole])
    #expect(sender.stream.deadline == nil)
    sender.pass(.seconds(1))
    sender.send(material.slice, picture: 25)
    #expect(sender.units.count == 2)
  }

  @Test(
    "What waits for a missing packet does not end a picture that may have had it",
    arguments: Material.all)
  func missingSlice(_ material: Material) throws {
    var sender = try Sender(material)
    sender.sendSets()
    sender.send(material.keySlice, picture: 0)
    sender.pass(.milliseconds(5))
    sender.lose()
    sender.send(material.slice, picture: 1)
    sender.pass(.milliseconds(199))
    #expect(sender.units.isEmpty)
    sender.pass(.milliseconds(1))
    sender.finish()
    #expect(sender.units.map(\.integrity) == [.damaged, .afterLoss])
  }
}
