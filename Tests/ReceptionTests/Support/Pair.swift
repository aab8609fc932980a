import Defragment
import Impairment
import NIOCore
import RTPSend
import RTPWire
import Reception
import TestSupport
import Testing

/// A sender, a network and a receiving session on one virtual clock, which leaps from one thing
/// that is due to the next.
struct Pair {
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  var sender: VirtualSender
  private(set) var reception: Reception
  private var network: NetworkSimulator
  private var channels: [ByteBuffer: Datagram.Channel] = [:]

  /// What the kernel holds while packets gather, and when it is read; `nil` as soon as one comes.
  private var unread: [Datagram] = []
  private var nextRead: Instant?

  private(set) var units: [AccessUnit] = []
  private(set) var sound: [SoundUnit] = []
  private(set) var sent: [(bytes: ByteBuffer, track: Int, at: Instant)] = []
  private(set) var holds: [Bool] = []
  private(set) var gatherings: [(time: Duration, at: Instant)] = []
  /// How often it was asked to say when there is room.
  private(set) var roomRequests = 0
  private(set) var mediaBegan: Instant?
  private(set) var gaps: [(start: Instant, end: Instant)] = []
  private(set) var end: (end: Reception.End, at: Instant)?
  private(set) var isFinished = false
  /// Whether the decoder has more waiting than it should, if that is to be reported.
  var isCrowded = false
  /// Whether the decoder has made room for exactly one by the time that it is looked at.
  var makesRoomForOne = false

  init(
    sender: VirtualSender, impairments: Impairments = Impairments(), seed: UInt64 = 1,
    carrier: Reception.Carrier = .init(), takesReports: Bool = true,
    describes: [MediaDescription]? = nil,
    configure: (inout Reception.Configuration) -> Void = { _ in }
  ) throws {
    self.sender = sender
    network = NetworkSimulator(impairments, seed: seed)
    var configuration = Reception.Configuration()
    configure(&configuration)
    reception = try Reception(
      configuration, on: carrier, randomness: SeededGenerator(seed: seed), at: now)
    reception.startRun(at: now)
    reception.described(describes ?? [sender.media], at: now)
    reception.transportOpened(takesReports: takesReports, at: now)
    perform()
  }

  /// The bytes of all access units that are whole.
  var wholeUnits: [ByteBuffer] {
    units.filter { $0.integrity != .damaged }.map(\.bytes)
  }

  /// What the sender received, parsed.
  var feedback: [RTCPPacket] {
    sent.flatMap { (try? RTCPPacket.parse(compound: $0.bytes)) ?? [] }
  }

  /// Lets time pass until `limit`, or until the session is over.
  mutating func drive(until limit: Instant) {
    while end == nil, let next = nextEvent, next <= limit { step(to: next) }
    if end == nil { now = max(now, limit) }
  }

  mutating func drive(for duration: Duration) { drive(until: now.advanced(by: duration)) }

  /// Does whatever is due at the next moment; each step has an effect, or time stands still.
  private mutating func step(to next: Instant) {
    now = max(now, next)
    for sending in sender.send(at: now) { offer(sending) }
    if sender.deadline == nil { network.finish(at: now) }
    while let release = network.release(by: now) {
      arrive(release.bytes, on: channels[release.bytes] ?? .media)
    }
    if nextRead.map({ $0 <= now }) ?? true { read() }
    if let deadline = reception.deadline, deadline <= now {
      if makesRoomForOne, reception.isHolding { reception.roomMade(at: now) }
      reception.timePassed(to: now)
      perform()
      if end == nil, let deadline = reception.deadline, deadline <= now {
        Issue.record("what was due at \(deadline) is not done at \(now)")
        end = (.run(.stopped), now)
      }
    }
  }

  private var nextEvent: Instant? {
    [sender.deadline, network.nextRelease, nextRead, reception.deadline].compactMap(\.self).min()
  }

  /// Something comes out of the network: media may have to wait, but not when RTCP comes behind it.
  private mutating func arrive(_ bytes: ByteBuffer, on channel: Datagram.Channel) {
    guard channel == .media, !gatherings.isEmpty else {
      if !unread.isEmpty { read() }
      return receive(bytes, on: channel)
    }
    unread.append(Datagram(bytes: bytes, arrival: now))
  }

  private mutating func read() {
    nextRead = unread.isEmpty ? nil : gatherings.last.map { now.advanced(by: $0.time) }
    for datagram in unread {
      reception.receive(datagram)
      perform()
    }
    unread.removeAll()
    reception.readCompleted(at: now)
    perform()
  }

  /// Puts a packet on its way.
  mutating func offer(_ sending: VirtualSender.Sending) {
    if sending.channel != .media { channels[sending.bytes] = sending.channel }
    network.offer(sending.bytes, at: now)
  }

  /// A datagram comes now, past the network.
  mutating func receive(
    _ bytes: ByteBuffer, on channel: Datagram.Channel = .media, track: Int = 0
  ) {
    reception.receive(Datagram(bytes: bytes, arrival: now, channel: channel, track: track))
    perform()
  }

  mutating func carrierEnded(_ end: TransportEnd = .ended) {
    reception.transportEnded(end)
    perform()
  }

  mutating func attend(_ isAttended: Bool) {
    reception.attend(isAttended)
    perform()
  }

  mutating func enoughCame() {
    reception.enoughCame()
    perform()
  }

  mutating func setCrowded(_ isCrowded: Bool) {
    self.isCrowded = isCrowded
    reception.roomAwaited(isCrowded: isCrowded, at: now)
    perform()
  }

  /// Makes room for exactly one.
  mutating func setRoomForOne() {
    isCrowded = true
    reception.roomAwaited(isCrowded: false, at: now)
    perform()
  }

  /// Ends the session; what still waits comes out while there is room.
  mutating func finish() {
    reception.finish(at: now)
    perform()
  }

  mutating func hurry() {
    reception.hurry()
    perform()
  }

  private mutating func perform() {
    while let action = reception.nextAction() {
      switch action {
      case .deliver(let unit):
        units.append(unit)
        reception.delivered(decodingContinues: true, isCrowded: isCrowded, at: now)
      case .deliverSound(let unit):
        sound.append(unit)
        reception.delivered(decodingContinues: true, isCrowded: isCrowded, at: now)
      case .awaitRoom: roomRequests += 1
      case .sendRTCP(let bytes, let track):
        sent.append((bytes, track, now))
        for sending in (try? sender.answer(bytes)) ?? [] { offer(sending) }
      case .holdReading(let isHeld): holds.append(isHeld)
      case .gather(let time): gatherings.append((time, now))
      case .mediaBegan(let time): mediaBegan = time
      case .senderCame(let time, let last): gaps.append((last, time))
      case .ended(let end):
        if self.end != nil { Issue.record("ended twice") }
        self.end = (end, now)
      case .finished:
        if isFinished { Issue.record("finished twice") }
        isFinished = true
      }
    }
  }
}
