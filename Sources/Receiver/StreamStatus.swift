public import Bitstream
public import Defragment
public import RTPProcessor

/// What a stream has been through so far: the counters of every stage on the event loop.
public struct StreamStatus: Sendable {
  public let phase: VideoStream.Phase
  public let reception: ReceptionStatistics
  public let defragmentation: DefragmentStatistics?
  public let format: FormatDescription?
  public let clock: ClockMapping
  /// Datagrams that came before the codec was recognised and were let go.
  public let unrecognizedDatagrams: UInt64

  init(of stream: VideoStream) {
    phase = stream.phase
    reception = stream.reception
    defragmentation = stream.defragmentation
    format = stream.format
    clock = stream.clock
    unrecognizedDatagrams = stream.unrecognizedDatagrams
  }
}
