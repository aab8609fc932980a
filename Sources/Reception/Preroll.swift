import Bitstream
import Defragment
import NIOCore
import RTPWire

/// The first datagrams of a stream whose codec or payload type has yet to be recognized.
struct Preroll: Sendable {
  enum Outcome: Sendable, Hashable {
    case undecided
    case recognized(VideoCodec, payloadType: UInt8)
    case unrecognized(payloadTypes: [UInt8])
  }

  /// As many as the processor would hold: 200 ms of a fast stream.
  static let maximumDatagrams = 2048
  static let maximumBytes = 16 << 20
  /// Sources observed at a time: a stream has few, garbage has any number.
  static let maximumSources = 64
  /// A group of pictures rarely lasts longer, and each one contains something recognizable.
  static let patience: Duration = .seconds(5)

  /// Those of the standard catalogue, because a stream's own has no sound where nobody wants any.
  private static let soundTypes = FormatCatalogue.standard.staticSoundTypes

  /// Datagrams dropped because the preroll was full.
  private(set) var discarded: UInt64 = 0
  /// Datagrams of RTCP.
  private(set) var reports: UInt64 = 0
  private var datagrams = CircularBuffer<Datagram>()
  private var bytes = 0
  private var firstArrival: Instant?
  private let formats: FormatCatalogue
  private var recognizer: FormatRecognizer
  private var sources: [UInt32: Source] = [:]

  /// A source counts once it is proven, or named by RTCP, so that garbage decides nothing.
  private struct Source: Sendable {
    var last: RTPPacket
    var proof = SourceProof()
    var isNamed = false
    /// All that it has sent: a call has telephone events and comfort noise beside its sound.
    var payloadTypes: Set<UInt8>

    init(first: RTPPacket) {
      last = first
      payloadTypes = [first.payloadType]
    }

    var counts: Bool { proof.isComplete || isNamed }
  }

  init(_ formats: FormatCatalogue) {
    self.formats = formats
    recognizer = FormatRecognizer(formats)
  }

  /// Keeps `datagram` and returns what all of them together show.
  mutating func keep(_ datagram: Datagram, media: MediaDescription) -> Outcome {
    store(datagram)
    if datagram.isControl {
      reports += 1
      return consider(named(by: datagram.bytes), media: media, at: datagram.arrival)
    }
    guard datagram.channel == .media, var packet = try? datagram.packet() else { return .undecided }
    if packet.payloadType == media.redundancyPayloadType {
      packet = packet.primaryEncoding ?? packet
    }
    guard media.correctionFormats[packet.payloadType] == nil,
      media.retransmissionFormats[packet.payloadType] == nil
    else { return .undecided }
    let isOfStream = media.payloadType.map { $0 == packet.payloadType } ?? true
    let isConfirmed = observe(packet, isOfStream: isOfStream)
    return isOfStream
      ? judge(packet, isConfirmed: isConfirmed, media: media, at: datagram.arrival) : .undecided
  }

  /// What the only packet shows when its sender has sent no more: none will come that proves it.
  mutating func conclude(media: MediaDescription, at now: Instant) -> Outcome {
    sources.count == 1 ? consider(sources.keys.first, media: media, at: now) : .undecided
  }

  /// The source that `control` names and that does not count yet.
  private func named(by control: ByteBuffer) -> UInt32? {
    let packets = (try? RTCPPacket.parse(compound: control)) ?? []
    let named = packets.flatMap { packet -> [UInt32] in
      switch packet {
      case .senderReport(let report): [report.ssrc]
      case .goodbye(let sources): sources
      default: []
      }
    }
    return named.first { sources[$0]?.counts == false }
  }

  /// Lets the source `ssrc` count from now on, and returns what its last packet shows.
  private mutating func consider(
    _ ssrc: UInt32?, media: MediaDescription, at now: Instant
  ) -> Outcome {
    guard let ssrc, let packet = sources[ssrc]?.last, sources[ssrc]?.counts == false else {
      return .undecided
    }
    sources[ssrc]?.isNamed = true
    guard media.payloadType.map({ $0 == packet.payloadType }) ?? true else { return .undecided }
    recognizer.observe(packet)
    return judge(packet, isConfirmed: true, media: media, at: now)
  }

  /// What is known with `packet`, which may be of the stream; `isConfirmed` says that its source
  /// counts.
  private mutating func judge(
    _ packet: RTPPacket, isConfirmed: Bool, media: MediaDescription, at arrival: Instant
  ) -> Outcome {
    let codec = media.encodingName.flatMap(formats.codec(encodingName:))
    if codec != nil, !isConfirmed { return .undecided }
    let start = firstArrival ?? arrival
    firstArrival = start
    let isPatient = arrival < start.advanced(by: Self.patience)
    if let codec {
      // The codec is given, so only the payload type is to be learned.
      let isTaken = !isPatient || mayBePictures(packet.payloadType)
      return isTaken ? .recognized(codec, payloadType: packet.payloadType) : .undecided
    }
    if let (payloadType, codec) = recognizer.result {
      return .recognized(codec, payloadType: payloadType)
    }
    guard !isPatient else { return .undecided }
    return payloadTypes.isEmpty ? .undecided : .unrecognized(payloadTypes: payloadTypes)
  }

  /// Whether a payload type may be that of pictures, and is not by itself that of sound beside them
  /// (RFC 3551 §6).
  private func mayBePictures(_ payloadType: UInt8) -> Bool {
    recognizer.codec(of: payloadType) != nil || !Self.soundTypes.contains(payloadType)
  }

  /// The payload types of the sources that count.
  var payloadTypes: [UInt8] {
    sources.values.filter(\.counts).reduce(into: Set()) { $0.formUnion($1.payloadTypes) }.sorted()
  }

  /// The codec of `payloadType`, once it is certain.
  func codec(of payloadType: UInt8) -> VideoCodec? { recognizer.codec(of: payloadType) }

  /// Whether what came of `payloadType` speaks against each codec.
  func rulesOut(_ payloadType: UInt8) -> Bool { recognizer.rulesOut(payloadType) }

  /// How many datagrams are kept.
  var count: Int { datagrams.count }

  /// Removes and returns everything that was kept, in order of arrival.
  mutating func takeAll() -> CircularBuffer<Datagram> {
    defer { datagrams = [] }
    return datagrams
  }

  /// Shows `packet` to the recognizer if its source counts and its type is the wanted one; returns
  /// whether its source counts.
  private mutating func observe(_ packet: RTPPacket, isOfStream: Bool) -> Bool {
    guard var source = sources[packet.ssrc] else {
      // Bounded by forgetting: an active sender is entered again.
      if sources.count >= Self.maximumSources { sources.removeAll() }
      var source = Source(first: packet.detached())
      _ = source.proof.note(packet.sequenceNumber)
      sources[packet.ssrc] = source
      return false
    }
    let counted = source.counts
    source.payloadTypes.insert(packet.payloadType)
    _ = source.proof.note(packet.sequenceNumber)
    if source.counts, isOfStream {
      if !counted { recognizer.observe(source.last) }
      recognizer.observe(packet)
    }
    source.last = packet.detached()
    sources[packet.ssrc] = source
    return source.counts
  }

  private mutating func store(_ datagram: Datagram) {
    // Copied out of the read's slab, which would otherwise stay in memory as a whole.
    let own = datagram.detached
    datagrams.append(own)
    bytes += own.bytes.readableBytes
    while datagrams.count > Self.maximumDatagrams || bytes > Self.maximumBytes {
      bytes -= datagrams.removeFirst().bytes.readableBytes
      discarded += 1
    }
  }
}
