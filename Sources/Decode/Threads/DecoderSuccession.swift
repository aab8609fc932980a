import Bitstream
import BlockingIO
import Defragment
import NIOCore
import RTPWire

/// The decoder of a stream, and those that take over from it: for another codec, with more threads
/// where one does not keep up, or with one again where the pictures have another size.
///
/// A decoder with other threads begins at a random-access point, which both decode. The former one
/// goes on until the leading pictures are over, which may refer to what came before the point
/// (H.265 §3, RASL); none of the others does.
final class DecoderSuccession: UnitDecoding {
  private let configuration: VideoDecoder.Configuration
  private let gauge: DecoderGauge
  private let memory: SharedPictures?
  private let onFrame: @Sendable (RawFrame) -> Void
  private let onFailure: @Sendable (DecodeFailure) -> Void
  private var current: PictureDecoder
  /// What takes over behind the leading pictures.
  private var successor: PictureDecoder?
  /// Of the decoder in use.
  var load = DecoderLoad()
  private var sets = LatestSets()
  /// The size of the pictures for which there are more threads.
  private var size: PictureSize?

  /// Opens the first decoder, whose pictures lie in `memory` if there is one.
  ///
  /// - Throws: ``DecoderError``.
  init(
    codec: VideoCodec, configuration: VideoDecoder.Configuration, gauge: DecoderGauge,
    memory: SharedPictures? = nil, onFrame: @escaping @Sendable (RawFrame) -> Void,
    onFailure: @escaping @Sendable (DecodeFailure) -> Void
  ) throws(DecoderError) {
    self.configuration = configuration
    self.gauge = gauge
    self.memory = memory
    self.onFrame = onFrame
    self.onFailure = onFailure
    let threads = ThreadUse(of: configuration.threads, for: codec)
    current = try PictureDecoder(
      codec: codec, configuration: configuration, threads: threads, memory: memory,
      onFrame: onFrame, onFailure: onFailure)
    gauge.note(threads: threads.count)
  }

  /// Decodes one access unit; its callback may come with a later one.
  func decode(_ unit: AccessUnit) {
    guard unit.codec == current.codec || change(to: unit.codec) else {
      return current.fail(unit, .foreignCodec(unit.codec))
    }
    sets.take(unit)
    if let successor, !unit.isLeading { takeOver(successor) }
    if successor == nil { prepareSuccessor(at: unit) }
    current.decode(unit)
    let now = Instant.now
    load.note(current.workingTime, at: now)
    gauge.note(share: load.share, at: now)
  }

  /// Takes the parameter sets that came before the first access unit, of the first decoder's codec.
  func take(parameterSets units: [ByteBuffer]) {
    sets.take(units, of: current.codec)
    current.take(parameterSets: units)
  }

  /// Outputs every remaining picture; decoding restarts at a random-access point.
  func flush() {
    successor = nil
    current.flush()
  }

  /// Reports what is still inside as discarded by closing.
  func close() { current.close() }

  func fail(_ unit: AccessUnit, _ reason: DecodeFailure.Reason) { current.fail(unit, reason) }

  /// Opens a decoder for another codec, which begins without any parameter sets.
  private func change(to codec: VideoCodec) -> Bool {
    let threads = ThreadUse(of: configuration.threads, for: codec)
    guard let next = try? decoder(for: codec, threads) else { return false }
    sets = LatestSets()
    takeOver(next)
    return true
  }

  private func takeOver(_ next: PictureDecoder) {
    current.flush()
    next.inherit(from: current)
    current = next
    successor = nil
    load.restart()
    gauge.note(threads: next.threads.count)
  }

  private func prepareSuccessor(at unit: AccessUnit) {
    guard configuration.threads == .automatic, configuration.mustKeepUp, unit.integrity == .whole,
      unit.dependency?.references == PictureDependency.References.none
    else { return }
    let wanted = wantedThreads(for: unit)
    guard wanted != current.threads, let next = try? decoder(for: unit.codec, wanted) else {
      return
    }
    size = unit.format.map(PictureSize.init)
    next.adopt(unit, behind: sets.all)
    successor = next
  }

  private func wantedThreads(for unit: AccessUnit) -> ThreadUse {
    if current.threads != .one, unit.format.map(PictureSize.init) != size { return .one }
    guard load.isFull else { return current.threads }
    return current.threads.faster(
      processors: configuration.processors, hasParts: current.hasParts,
      mayDelay: !current.hasFields && !unit.codec.accessUnitDelimiter.isEmpty)
  }

  private func decoder(
    for codec: VideoCodec, _ threads: ThreadUse
  ) throws(DecoderError) -> PictureDecoder {
    try PictureDecoder(
      codec: codec, configuration: configuration, threads: threads, memory: memory,
      onFrame: onFrame, onFailure: onFailure)
  }
}

private struct PictureSize: Equatable {
  var width: Int
  var height: Int

  init(_ format: FormatDescription) { (width, height) = (format.width, format.height) }
}

extension AccessUnit {
  /// Whether it is output before the random-access point that it follows (H.265 §3).
  fileprivate var isLeading: Bool {
    switch dependency?.references {
    case .randomAccessPoint, .beforeRandomAccessPoint: true
    default: false
    }
  }
}
