import Foundation
public import NIOCore
import NIOPosix
public import RTPWire
public import Transports

extension TransportKind {
  /// `hex:///path`, and files that end in `.hex`.
  public static let hexLines = {
    var kind = TransportKind(name: "hex", schemes: ["hex"]) { source, options, eventLoop in
      let path = source.hasPrefix("hex://") ? String(source.dropFirst(6)) : source
      return HexLinesTransport(path: path, options[HexLinesOptions.self], on: eventLoop)
    }
    kind.endings = [".hex"]
    kind.usage = [
      SourceForm("hex:///PATH or FILE.hex", "packets, each a line of hexadecimal digits")
    ]
    kind.counters = [.linesLeftOut]
    kind.hints = [
      TransportHint(.silence) { situation in
        let lines = situation.counters[.linesLeftOut]
        guard lines > 0, situation.counters.delivered == 0 else { return nil }
        return "--hex-skip left out all \(lines) lines"
      }
    ]
    kind.options = [
      DeclaredOption(
        "hex-skip", valueName: "n", help: "Leave out the first lines of a .hex file.",
        takesDashes: true,
        read: { text -> Int? in
          try DeclaredOption.number(text, in: 0..., "--hex-skip must be at least 0")
        },
        apply: { count, options in options[HexLinesOptions.self].skipped = count })
    ]
    return kind
  }()
}

extension TransportCounter {
  static let linesLeftOut = TransportCounter("lines_left_out", in: "hex", unit: .events)
}

/// What a user can choose about hexadecimal lines.
public struct HexLinesOptions: TransportOption {
  /// Lines that are left out at the start.
  public var skipped = 0

  public init() {}
}

/// RTP from a text file of hexadecimal lines, one packet in each: all that a transport has to be.
public final class HexLinesTransport: RTPTransport {
  private enum Phase { case idle, opening, open(any DatagramSink), ended }
  private struct State {
    var phase = Phase.idle
    var lines: ArraySlice<Substring> = []
    var isHeld = false
    var counters = TransportCounters()
  }

  public let eventLoop: any EventLoop
  public let clock = ArrivalClock.monotonic
  public let isPassive = false
  public let comesAgain = false
  public let longestSilence: Duration? = nil
  public let takesReports = false
  private let path: String
  private let options: HexLinesOptions
  private let state: NIOLoopBoundBox<State>

  public init(
    path: String, _ options: HexLinesOptions = HexLinesOptions(), on eventLoop: any EventLoop
  ) {
    (self.path, self.options, self.eventLoop) = (path, options, eventLoop)
    state = .makeBoxSendingValue(State(), eventLoop: eventLoop)
  }

  public func open(delivering sink: any DatagramSink) async throws {
    try await eventLoop.submit { [state] in
      guard case .idle = state.value.phase else { throw TransportError.alreadyOpened }
      state.value.phase = .opening
    }.get()
    // What blocks is not done on the event loop.
    let lines = try await NIOThreadPool.singleton.runIfActive {
      [path, options] () throws -> ArraySlice<Substring> in
      do {
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
          .dropFirst(options.skipped)
      } catch { throw HexLinesError.unreadable(path: path, reason: error.localizedDescription) }
    }
    try await eventLoop.submit { [self] in
      guard case .opening = state.value.phase else { throw TransportError.closed }
      (state.value.phase, state.value.lines) = (.open(sink), lines)
      state.value.counters[.linesLeftOut] = UInt64(lines.startIndex)
      eventLoop.execute { self.deliver() }
    }.get()
  }

  /// Delivers one packet, then gives other tasks of the event loop a turn.
  private func deliver() {
    guard case .open(let sink) = state.value.phase, !state.value.isHeld else { return }
    guard let line = state.value.lines.popFirst() else { return end(.ended) }
    do {
      let packet = try ByteBuffer(plainHexEncodedBytes: String(line))
      let now = Instant(NIODeadline.now())
      state.value.counters.delivered += 1
      state.value.counters.deliveredBytes += UInt64(packet.readableBytes)
      sink.receive(Datagram(bytes: packet, arrival: now))
      if case .open = state.value.phase { sink.readCompleted(at: now) }
      eventLoop.execute { self.deliver() }
    } catch { end(.failed(HexLinesError.notHexadecimal(String(line)))) }
  }

  private func end(_ end: TransportEnd) {
    let phase = state.value.phase
    state.value.phase = .ended
    if case .open(let sink) = phase { sink.transportEnded(end) }
  }

  public func close() {
    if eventLoop.inEventLoop { end(.closed) } else { eventLoop.execute { self.end(.closed) } }
  }

  public func holdReading(_ isHeld: Bool) {
    state.value.isHeld = isHeld
    if !isHeld { eventLoop.execute { self.deliver() } }
  }

  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {}

  public func counters() async -> TransportCounters {
    (try? await eventLoop.submit { [state] in state.value.counters }.get()) ?? TransportCounters()
  }
}
