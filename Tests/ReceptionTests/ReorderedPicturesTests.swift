import RTPWire
import Reception
import TestSupport
import Testing

/// Sound beside pictures that come in the order in which they are decoded, before any report.
@Suite("Sound in step with reordered pictures")
struct ReorderedPicturesTests {
  /// A picture that others refer to, and the B pictures before it.
  struct Group: Sendable, CustomTestStringConvertible {
    /// In which place each of them is shown, in the order in which they come.
    var order: [Int]
    /// How many come before one that is shown earlier.
    var depth: Int

    var testDescription: String { "\(order)" }
  }

  /// What sends 25 pictures a second, and sound when it is heard.
  struct Sender: Sendable, CustomTestStringConvertible {
    enum Pace: Sendable, CaseIterable {
      /// A file, or what has passed a muxer.
      case decodingTimes
      /// An encoder that waits for the last picture of a group, and makes all in one go.
      case encoder
      /// The same, which takes half the time to the next picture for each.
      case slowEncoder
    }

    var pace: Pace
    var group: Group
    /// The most that a packet is delayed, in milliseconds.
    var jitter = 0

    var testDescription: String { "\(pace) \(group.order) jitter \(jitter)" }

    /// When the picture is shown and when it comes, in milliseconds.
    func picture(_ number: Int) -> (shown: Int, arrival: Int) {
      guard number > 0 else { return (0, pace == .decodingTimes ? -40 * group.depth : 0) }
      let (groups, place) = (number - 1).quotientAndRemainder(dividingBy: group.order.count)
      let shown = 40 * (groups * group.order.count + group.order[place])
      let complete = 40 * (groups + 1) * group.order.count
      switch pace {
      case .decodingTimes: return (shown, 40 * (number - group.depth))
      case .encoder: return (shown, complete + 2 * place)
      case .slowEncoder: return (shown, complete + 20 * place)
      }
    }
  }

  static let groups = [
    Group(order: [2, 1], depth: 1), Group(order: [3, 1, 2], depth: 1),
    Group(order: [4, 2, 1, 3], depth: 2), Group(order: [8, 4, 2, 1, 3, 6, 5, 7], depth: 3),
  ]

  /// The error of the alignment of each 20 ms of sound, in milliseconds; positive where it is late.
  private func errors(of sender: Sender, seconds: Int) -> [Double] {
    var random = SeededGenerator(seed: 3)
    /// What was sent later comes no earlier.
    func arrival(_ milliseconds: Int, after last: Instant?) -> Instant {
      let late = sender.jitter == 0 ? 0 : random.integer(below: sender.jitter * 1000)
      let due = Instant(nanoseconds: 1_000_000_000).advanced(
        by: .microseconds(milliseconds * 1000 + late))
      return max(due, last ?? due)
    }
    var events: [(arrival: Instant, picture: MediaTime?, sound: MediaTime?)] = []
    for number in 0..<25 * seconds {
      let (shown, at) = sender.picture(number)
      let time = MediaTime(ticks: Int64(shown) * 90 + Self.pictureStart, timescale: 90_000)
      events.append((arrival(at, after: events.last?.arrival), time, nil))
    }
    var last: Instant?
    for number in 0..<50 * seconds {
      let now = arrival(number * 20, after: last)
      events.append((now, nil, Self.sound(number)))
      last = now
    }
    events.sort { $0.arrival < $1.arrival }
    var alignment = SoundAlignment()
    var held: [MediaTime] = []
    var errors: [Double] = []
    for event in events {
      if let picture = event.picture { alignment.notePicture(picture, arrival: event.arrival) }
      if let sound = event.sound {
        alignment.noteSound(sound, arrival: event.arrival)
        held.append(sound)
      }
      while let first = held.first, let aligned = alignment.align(first, mayWait: true) {
        held.removeFirst()
        let heard = first.seconds - Self.sound(0).seconds
        errors.append((aligned.seconds - Double(Self.pictureStart) / 90_000 - heard) * 1000)
      }
    }
    #expect(held.isEmpty)
    return errors
  }

  private static let pictureStart: Int64 = 77_000

  private static func sound(_ number: Int) -> MediaTime {
    MediaTime(ticks: Int64(number) * 960 + 3_000_000_000, timescale: 48_000)
  }

  @Test("From the first sound on", arguments: groups, [Sender.Pace.decodingTimes, .encoder])
  func exact(_ group: Group, _ pace: Sender.Pace) {
    let sender = Sender(pace: pace, group: group)
    let errors = errors(of: sender, seconds: 30)
    #expect(errors.count == 1500)
    #expect(errors.allSatisfy { abs($0) < 1 }, "\(errors.map(abs).max() ?? 0)")
  }

  @Test("An encoder that takes its time", arguments: groups.dropFirst())
  func slowEncoder(_ group: Group) {
    let sender = Sender(pace: .slowEncoder, group: group)
    let errors = errors(of: sender, seconds: 30)
    #expect(errors.allSatisfy { abs($0) < 1 }, "\(errors.map(abs).max() ?? 0)")
  }

  @Test(
    "The network delays all by up to 60 ms",
    arguments: groups, [Sender.Pace.decodingTimes, .encoder])
  func jitter(_ group: Group, _ pace: Sender.Pace) {
    let sender = Sender(pace: pace, group: group, jitter: 60)
    let errors = errors(of: sender, seconds: 30)
    #expect(errors.dropFirst(250).allSatisfy { abs($0) < 20 }, "\(errors.map(abs).max() ?? 0)")
  }

  @Test("The times of pictures in order go back once: that is soon forgotten")
  func onceBack() {
    var alignment = SoundAlignment()
    for number in 0..<1700 {
      let now = Instant(nanoseconds: Int64(number) * 20_000_000)
      let sound = Self.sound(number)
      alignment.noteSound(sound, arrival: now)
      if number % 2 == 0 {
        let shown = number == 500 ? 9_950 : number * 20
        let time = MediaTime(ticks: Int64(shown) * 90, timescale: 90_000)
        alignment.notePicture(time, arrival: now)
      }
      guard let aligned = alignment.align(sound, mayWait: true) else { continue }
      let late = aligned.nanoseconds - Int64(number) * 20_000_000
      #expect(abs(late) < 6_000_000, "\(number)")
      if number > 1600 { #expect(abs(late) < 1_000_000, "\(number)") }
    }
    #expect(alignment.hardSteps == 0)
  }

  @Test("Pictures in order: sound that may wait does so for the first five of them")
  func firstPictures() {
    var alignment = SoundAlignment()
    let sound = Self.sound(0)
    alignment.noteSound(sound, arrival: Instant(nanoseconds: 0))
    for number in 0..<5 {
      let early = alignment.align(sound, mayWait: true)
      #expect(early == nil)
      alignment.notePicture(
        MediaTime(ticks: Int64(number) * 3600, timescale: 90_000),
        arrival: Instant(nanoseconds: Int64(number) * 40_000_000))
    }
    let aligned = alignment.align(sound, mayWait: true)
    #expect(aligned != nil)
  }
}
