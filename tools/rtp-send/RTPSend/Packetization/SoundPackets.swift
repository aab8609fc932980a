import NIOCore

/// How frames of sound are put into packets.
public struct SoundPacketization: Sendable, Hashable {
  /// What a packet holds, in milliseconds; at least one frame.
  public var packetTime = 20
  /// How many packets share their frames in turn (RFC 3640 §3.2.3.2); 1 for none.
  public var interleaving = 1
  /// The longest RTP payload in bytes, at least 16.
  public var payloadLimit = 1400

  public init() {}

  /// Makes the packetizer for the frames of `source`.
  func packetizer(for source: any SoundSource) -> any Packetizer {
    let format = source.format
    let length = max(1, source.frameLength ?? 1)
    let frames = frames(of: length, format)
    switch format.coding {
    case .aac, .aacLowRate, .adts:
      return MPEG4GenericPacketizer(
        format.coding == .aacLowRate ? .lowRate : .highRate, frameLength: length,
        framesPerPacket: frames, interleaving: interleaving, payloadLimit: payloadLimit)
    case .latm, .latmInBand:
      return LATMPacketizer(
        AudioSpecificConfig(rate: format.samplingRate, channels: format.channels),
        isInBand: format.coding == .latmInBand, framesPerElement: frames,
        payloadLimit: payloadLimit)
    default:
      guard let group = format.sampleGroup else {
        return FramePacketizer(frameLength: length)
      }
      return SamplePacketizer(
        group, packetTicks: format.clockRate * packetTime / 1000, payloadLimit: payloadLimit)
    }
  }

  /// How many frames of `length` ticks a packet holds.
  func frames(of length: Int, _ format: SoundFormat) -> Int {
    max(interleaving > 1 ? 2 : 1, format.clockRate * packetTime / 1000 / max(1, length))
  }

  /// How many frames before its place the last frame of a group's first packet is sent.
  func displacement(_ length: Int, _ format: SoundFormat) -> Int {
    (frames(of: length, format) - 1) * interleaving - 1
  }
}

/// Samples, cut into packets of the same length whatever the source reads at a time (RFC 3551 §4).
struct SamplePacketizer: Packetizer {
  private let group: (ticks: Int, bytes: Int)
  private let packetLength: Int
  private var held = ByteBuffer()
  /// The tick of the first held sample.
  private var start: Int64 = 0
  private var isSpurtBeginning = true

  /// A packet holds `packetTicks` at most, in whole groups of samples, but at least one of them.
  init(_ group: (ticks: Int, bytes: Int), packetTicks: Int, payloadLimit: Int) {
    self.group = group
    let groups = min(packetTicks / group.ticks, payloadLimit / group.bytes)
    packetLength = max(1, groups) * group.bytes
  }

  mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload] {
    var payloads: [RTPPayload] = []
    if unit.presentationTicks != start + ticks(held.readableBytes) {
      payloads = finish()
      isSpurtBeginning = true
    }
    if held.readableBytes == 0 { start = unit.presentationTicks }
    for bytes in unit.units { held.writeImmutableBuffer(bytes) }
    while held.readableBytes >= packetLength { payloads += packet(packetLength) }
    held.discardReadBytes()
    return payloads
  }

  mutating func finish() -> [RTPPayload] { packet(held.readableBytes) }

  private func ticks(_ bytes: Int) -> Int64 { Int64(bytes / group.bytes * group.ticks) }

  private mutating func packet(_ length: Int) -> [RTPPayload] {
    guard length > 0, let slice = held.readSlice(length: length) else { return [] }
    // The first packet behind a silence has the marker (RFC 3551 §4.1).
    let payload = RTPPayload(
      bytes: RTPPayload.copy(of: slice), ticks: start, marker: isSpurtBeginning)
    isSpurtBeginning = false
    start += ticks(length)
    return [payload]
  }
}

/// Frames that are payloads as they are: Opus (RFC 7587 §4.2).
struct FramePacketizer: Packetizer {
  private let frameLength: Int64
  private var next: Int64?

  init(frameLength: Int) { self.frameLength = Int64(frameLength) }

  mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload] {
    let isSpurtBeginning = next.map { abs($0 - unit.presentationTicks) > frameLength / 2 } ?? true
    next = unit.presentationTicks + frameLength
    return unit.units.map {
      RTPPayload(
        bytes: RTPPayload.copy(of: $0), ticks: unit.presentationTicks, marker: isSpurtBeginning)
    }
  }

  mutating func finish() -> [RTPPayload] { [] }
}
