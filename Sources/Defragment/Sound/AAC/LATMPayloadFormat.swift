import Bitstream
import NIOCore
import RTPWire

/// AAC in RTP as `MP4A-LATM` (RFC 6416 §6): multiplex elements, each in one packet or several.
struct LATMPayloadFormat: SoundPayloadFormat {
  static let encodingNames = ["MP4A-LATM"]

  static func codecName(of encodingName: String) -> String { AAC.codec.name }

  /// Where the configuration is.
  private enum Presence: Sendable, Hashable {
    case inBand
    case outOfBand
  }

  private let clockRate: Int64
  /// The ways in which elements may have to be read, the likelier one first; one, once that is
  /// known.
  private var presences: [Presence]
  private var configuration: StreamMuxConfig?
  /// Another one that came directly behind a loss; it is believed when it comes again.
  private var doubted: StreamMuxConfig?
  private(set) var format: SoundFormat?
  /// Whether the marker is set where an element ends (§6.2).
  private var trustsMarkers = true

  init?(media: MediaDescription) {
    let parameters = media.formatParameters
    clockRate = Int64(media.clockRate)
    let text = parameters["config"].map(Hexadecimal.decode) ?? ByteBuffer()
    do {
      let said = try StreamMuxConfig(parsing: text)
      configuration = said
      format = said.configuration.format
    } catch .configuration(.objectType), .frameLengthType {
      return nil
    } catch {
      // An empty one is common: what is in it may yet come with the packets.
    }
    switch (parameters["cpresent"], configuration) {
    case ("0", .some): presences = [.outOfBand]
    // RFC 6416 §7.3 says in band by default, but senders that describe it forget to say 0.
    case (nil, .some): presences = [.outOfBand, .inBand]
    case (_, .some): presences = [.inBand, .outOfBand]
    case ("0", nil):
      // Some cameras say that the configuration is described, and leave it empty.
      presences = [.inBand, .outOfBand]
      configuration = AudioSpecificConfig(
        objectType: parameters["object"].flatMap { Int($0) } ?? 2,
        sampleRate: media.clockSampleRate, channels: media.soundChannels
      ).map { StreamMuxConfig($0) }
      format = configuration?.configuration.format
    case (_, nil): presences = [.inBand]
    }
  }

  mutating func unpack(
    _ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector
  ) {
    if let keptTime = units.keptTime, keptTime != units.time, let element = units.takeKept() {
      // Without markers, each packet is an element.
      trustsMarkers = false
      unpack(element, into: &units)
      units.beginAtPacket()
    }
    if marker || !trustsMarkers, units.keptTime == nil { return unpack(payload, into: &units) }
    guard units.keep(payload) else { return units.noteMalformed() }
    if marker, let element = units.takeKept() { unpack(element, into: &units) }
  }

  /// Unpacks elements that fill `bytes`.
  private mutating func unpack(_ bytes: ByteBuffer, into units: inout SoundUnitCollector) {
    for presence in presences {
      guard let (found, new) = read(bytes, as: presence) else { continue }
      // After a loss, this may be a part of something that looks like another configuration.
      if units.lostPackets > 0, configuration != nil, new != configuration, new != doubted {
        doubted = new
        continue
      }
      doubted = nil
      presences = [presence]
      if new != configuration || format == nil {
        configuration = new
        format = new.configuration.format
      }
      guard let format else { return }
      let samples = new.configuration.samples
      let duration = Int64(samples) * clockRate / Int64(format.sampleRate)
      for (number, unit) in found.enumerated() {
        units.append(unit, format: format, at: Int64(number) * duration, samples: samples)
      }
      return
    }
    units.noteMalformed()
  }

  /// The units of all elements in `bytes`; `nil` unless they fill it.
  private func read(
    _ bytes: ByteBuffer, as presence: Presence
  ) -> (units: [ByteBuffer], configuration: StreamMuxConfig)? {
    var rest = bytes
    var units: [ByteBuffer] = []
    var current = configuration
    while rest.readableBytes > 0 {
      guard
        let element = try? AudioMuxElement(
          reading: &rest, with: current, isInBand: presence == .inBand),
        units.count <= SoundUnitCollector.maximumUnitsPerPacket
      else { return nil }
      units += element.units
      current = element.configuration
    }
    return current.map { (units, $0) }
  }
}
