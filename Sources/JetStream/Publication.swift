import Bitstream
import Defragment
import NIOCore
import Outputs
import RTPWire

/// Turns the access units and the sound of a camera into messages.
///
/// A message has RTP packets, each after its length (RFC 4571). A key picture that is larger than a
/// message comes in pieces, and each of them can be received by itself. Before each key picture, a
/// message describes the media (RFC 8866), so that a receiver can begin there.
struct Publication {
  /// The last part of the subjects of a camera.
  enum Subject: String, Sendable, CaseIterable {
    case description, video, sound
  }

  struct Message: Sendable {
    let subject: Subject
    /// Which no other message has: a repetition is recognized by it.
    let id: String
    var headers: [(name: String, value: String)] = []
    var payload: ByteBuffer
    /// Items whose last message it is.
    var items = 0
  }

  /// How long the beginning is held, until it is known whether there is sound as well.
  static let soundPatience = Duration.seconds(1)
  /// How long sound waits for the first picture while none has come.
  static let picturePatience = Duration.seconds(2)
  /// How often sound alone is described.
  private static let soundInterval = Duration.seconds(1)
  /// Sound that waits for a first key picture is bounded.
  private static let mostHeld = 512

  private let camera: String
  private let session: UInt32
  private let wallClock: WallClock
  private var videoTrack: PacketTrack
  private var soundTrack: PacketTrack
  private var video: PublishedVideo?
  private var videoClockRate: UInt32 = MediaDescription.videoClockRate
  private var sound: PublishedSound?
  /// What waits until the media are known; `nil` afterwards.
  private var opening: Opening? = Opening()
  /// A point of the timeline of pictures, and when it was.
  private var anchor: (time: MediaTime, wall: WallClockTime)?
  private var describedAt: Instant?
  private var owesSoundReport = false
  /// The highest number of the packets in which the last unit came.
  private var lastSequence: Int64?
  private var descriptions = 0
  private var unitNumber: UInt64 = 0
  private var soundNumber: UInt64 = 0
  /// Items that are in no message: pictures before the first key picture.
  private(set) var skipped = 0

  private struct Opening {
    var items: [OutputItem] = []
    /// When the first key picture came.
    var entry: Instant?
    var firstSound: Instant?
    var hasPictures = false
  }

  init(
    camera: String, session: UInt32, wallClock: WallClock,
    using numbers: inout some RandomNumberGenerator
  ) {
    (self.camera, self.session, self.wallClock) = (camera, session, wallClock)
    videoTrack = PacketTrack(payloadType: 96, using: &numbers)
    soundTrack = PacketTrack(payloadType: 97, using: &numbers)
  }

  /// The messages that `item` completes, of `limit` bytes at most.
  ///
  /// - Throws: ``JetStreamError/unsupportedCodec(_:)``.
  mutating func messages(for item: OutputItem, limit: Int) throws(JetStreamError) -> [Message] {
    guard opening != nil else { return try publish(item, limit) }
    guard hold(item) else { return [] }
    return try finish(limit: limit)
  }

  /// The messages of what is still held.
  mutating func finish(limit: Int) throws(JetStreamError) -> [Message] {
    let held = opening?.items ?? []
    opening = nil
    // The first description has all of it.
    for case .sound(let unit) in held where sound == nil { try describe(unit) }
    var messages: [Message] = []
    for item in held { messages += try publish(item, limit) }
    return messages
  }

  /// Holds `item`, and returns whether enough is known.
  private mutating func hold(_ item: OutputItem) -> Bool {
    guard var opening else { return true }
    defer { self.opening = opening }
    let now: Instant
    switch item {
    case .unit(let unit):
      opening.hasPictures = true
      now = unit.lastArrival
      guard opening.entry != nil || unit.isRandomAccess else {
        skipped += 1
        return false
      }
      opening.entry = opening.entry ?? now
    case .sound(let unit):
      now = unit.lastArrival
      opening.firstSound = opening.firstSound ?? now
      if opening.entry == nil, opening.items.count >= Self.mostHeld {
        opening.items.removeFirst()
        skipped += 1
      }
    case .interruption, .frame, .report: return false
    }
    opening.items.append(item)
    if let entry = opening.entry {
      return opening.firstSound != nil || entry.duration(to: now) > Self.soundPatience
    }
    guard !opening.hasPictures, let first = opening.firstSound else { return false }
    return first.duration(to: now) > Self.picturePatience
  }

  private mutating func publish(
    _ item: OutputItem, _ limit: Int
  ) throws(JetStreamError) -> [Message] {
    switch item {
    case .unit(let unit): return try publish(unit, limit)
    case .sound(let unit): return try publish(unit, limit)
    case .interruption:
      videoTrack.skip(1)
      soundTrack.skip(1)
      lastSequence = nil
    case .frame, .report: break
    }
    return []
  }

  // MARK: - Pictures

  private mutating func publish(
    _ unit: AccessUnit, _ limit: Int
  ) throws(JetStreamError) -> [Message] {
    guard video?.codec == unit.codec || unit.isRandomAccess else {
      skipped += 1
      return []
    }
    if video?.codec != unit.codec { video = try PublishedVideo(unit.codec) }
    video?.note(unit)
    videoClockRate = unit.time.timescale
    var messages: [Message] = []
    if unit.isRandomAccess {
      anchor = (unit.time, wallTime(unit.captureTime, unit.firstArrival))
      messages.append(description(at: unit.lastArrival))
    }
    let time = UInt32(truncatingIfNeeded: unit.time.ticks)
    var pieces = MessagePieces(limit: limit)
    if unit.isRandomAccess, let anchor {
      videoTrack.addReport(anchor.wall, time: time, name: camera, to: &pieces)
    }
    if let video { pack(unit, as: video, time, into: &pieces) }
    unitNumber += 1
    var headers = [
      ("Rtp-Codec", unit.codec.encodingName), ("Rtp-Timestamp", "\(time)"),
      ("Rtp-Time", "\(wallTime(unit.captureTime, unit.firstArrival))"),
      ("Rtp-Condition", unit.integrity.word),
    ]
    if unit.isRandomAccess { headers.append(("Rtp-Key", "1")) }
    return messages + self.messages(of: pieces, .video, unitNumber, headers)
  }

  /// Packetizes `unit`, and leaves out the numbers of what is missing.
  private mutating func pack(
    _ unit: AccessUnit, as video: PublishedVideo, _ time: UInt32, into pieces: inout MessagePieces
  ) {
    let isBehindLoss = unit.gaps.contains { $0.unitIndex == 0 }
    // What was dropped before it came here shows in the numbers of the packets.
    let isNext = follows(unit)
    let isBehindDrop = unit.isRandomAccess && isNext == false
    if !isBehindLoss, unit.integrity == .afterLoss || isBehindDrop { videoTrack.skip(1) }
    for (index, nalUnit) in unit.units.enumerated() {
      for gap in unit.gaps where gap.unitIndex == index { videoTrack.skip(gap.packets) }
      let isLast = index == unit.units.count - 1
      let endsWithIt = isLast && !unit.gaps.contains { $0.unitIndex > index }
      videoTrack.add(
        unit: unit.bytes(of: nalUnit), isWhole: nalUnit.isWhole, of: video, marker: endsWithIt,
        time: time, to: &pieces)
    }
    for gap in unit.gaps where gap.unitIndex >= unit.units.count { videoTrack.skip(gap.packets) }
  }

  /// Whether `unit` came right after the last one; `nil` if that is not known.
  private mutating func follows(_ unit: AccessUnit) -> Bool? {
    guard let packets = unit.packets else { return nil }
    defer { lastSequence = packets.lastSequence }
    return lastSequence.map { packets.firstSequence <= $0 + 1 }
  }

  // MARK: - Sound

  private mutating func publish(
    _ unit: SoundUnit, _ limit: Int
  ) throws(JetStreamError) -> [Message] {
    var messages: [Message] = []
    let isNew = try describe(unit)
    let isDue = describedAt.map { $0.duration(to: unit.lastArrival) >= Self.soundInterval } ?? true
    if isNew || video == nil && isDue {
      if video == nil {
        let wall = wallTime(unit.captureTime, unit.firstArrival)
        anchor = (unit.alignedTime ?? unit.time, wall)
      }
      messages.append(description(at: unit.lastArrival))
    }
    guard let header = sound?.header(of: unit.bytes) else {
      skipped += 1
      return messages
    }
    let time = UInt32(truncatingIfNeeded: unit.time.ticks)
    if unit.lostBefore > 0 || unit.isDiscontinuity { soundTrack.skip(unit.lostBefore) }
    var pieces = MessagePieces(limit: limit)
    let wall = wallTime(of: unit)
    if owesSoundReport {
      soundTrack.addReport(wall, time: time, name: camera, to: &pieces)
      owesSoundReport = false
    }
    guard header.count + unit.bytes.readableBytes <= pieces.longestPacket - 12 else {
      skipped += 1
      return messages
    }
    soundTrack.add(header, unit.bytes, marker: true, time: time, to: &pieces)
    soundNumber += 1
    let headers = [
      ("Rtp-Codec", unit.format.codec.name), ("Rtp-Timestamp", "\(time)"), ("Rtp-Time", "\(wall)"),
    ]
    return messages + self.messages(of: pieces, .sound, soundNumber, headers)
  }

  /// Notes how the sound goes; returns whether that is new.
  @discardableResult
  private mutating func describe(_ unit: SoundUnit) throws(JetStreamError) -> Bool {
    let now = try PublishedSound(unit.format, clockRate: unit.time.timescale)
    defer { sound = now }
    return sound != now
  }

  // MARK: - Times and descriptions

  private func wallTime(_ captured: WallClockTime?, _ arrival: Instant) -> WallClockTime {
    captured ?? wallClock.time(of: arrival)
  }

  /// When `unit` was heard: on the timeline of the pictures, so that both stay in step.
  private func wallTime(of unit: SoundUnit) -> WallClockTime {
    guard let anchor, let time = unit.alignedTime else {
      return wallTime(unit.captureTime, unit.firstArrival)
    }
    let distance = time.nanoseconds.subtractingSaturating(anchor.time.nanoseconds)
    return anchor.wall.advanced(byNanoseconds: distance)
  }

  private mutating func description(at now: Instant) -> Message {
    describedAt = now
    owesSoundReport = true
    descriptions += 1
    var text = "v=0\r\no=- \(session) \(descriptions) IN IP4 0.0.0.0\r\ns=\(camera)\r\nt=0 0\r\n"
    if let video {
      text +=
        "m=video 0 RTP/AVP 96\r\na=rtpmap:96 \(video.codec.encodingName)/\(videoClockRate)\r\n"
      if !video.parameters.isEmpty { text += "a=fmtp:96 \(video.parameters)\r\n" }
    }
    if let sound {
      text += "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 \(sound.map)\r\n"
      if !sound.parameters.isEmpty { text += "a=fmtp:97 \(sound.parameters)\r\n" }
    }
    return Message(
      subject: .description, id: id("d", UInt64(descriptions), 0),
      headers: [("Content-Type", "application/sdp")], payload: ByteBuffer(string: text))
  }

  private func messages(
    of pieces: MessagePieces, _ subject: Subject, _ number: UInt64, _ headers: [(String, String)]
  ) -> [Message] {
    let count = pieces.pieces.count
    var messages = pieces.pieces.enumerated().map { index, payload in
      Message(
        subject: subject, id: id(subject == .video ? "v" : "s", number, index),
        headers: headers + [("Rtp-Unit", "\(number)"), ("Rtp-Piece", "\(index + 1)/\(count)")],
        payload: payload)
    }
    if count > 0 { messages[count - 1].items = 1 }
    return messages
  }

  private func id(_ kind: String, _ number: UInt64, _ piece: Int) -> String {
    "\(camera)-\(session)-\(kind)\(number)-\(piece)"
  }
}

extension AccessUnit.Integrity {
  fileprivate var word: String {
    switch self {
    case .whole: "whole"
    case .afterLoss: "after-loss"
    case .damaged: "damaged"
    }
  }
}
