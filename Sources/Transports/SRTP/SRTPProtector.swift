public import NIOCore
public import RTPWire

/// The sending end of a protected stream, for programs that test receivers.
///
/// The roll-over counters of all sources begin at 0; that of the first source can be given. When
/// libsrtp takes a sequence number for a repetition, the stream starts over, like a restarted
/// sender.
public struct SRTPProtector {
  private let key: SRTPKeyMaterial
  private let layout: SRTPLayout
  private var context: SRTPContext
  private var first: (ssrc: UInt32, context: SRTPContext)?
  private var rollover: UInt32?
  /// Unprotects the packets that receivers send back.
  private var returning: SRTPSession?

  /// - Throws: ``SRTPError/library(status:)``.
  public init(_ key: SRTPKeyMaterial, rollover: UInt32? = nil) throws(SRTPError) {
    self.key = key
    self.rollover = rollover
    layout = SRTPLayout(
      suite: key.suite, identifierLength: key.identifier.count, acceptsReadableControl: false)
    context = try SRTPContext(key, for: .anySent)
  }

  /// Decrypts the RTCP compound that a receiver sent under the same key; `nil` if it is not
  /// authentic.
  public mutating func unprotect(control: ByteBuffer, at now: Instant) -> ByteBuffer? {
    if returning == nil {
      var session = SRTPSession(layout: layout)
      guard (try? session.add(key)) != nil else { return nil }
      returning = session
    }
    guard case .passed(let clear) = returning?.unprotect(control, isControl: true, at: now) else {
      return nil
    }
    return clear
  }

  /// Protects an RTP packet or an RTCP compound.
  ///
  /// - Throws: ``SRTPError/library(status:)`` when libsrtp refuses it.
  public mutating func protect(_ packet: ByteBuffer) throws(SRTPError) -> ByteBuffer {
    let isControl = RTCPPacket.recognizes(packet)
    let ssrc = packet.getInteger(at: packet.readerIndex + 8, as: UInt32.self) ?? 0
    if !isControl, let given = rollover {
      rollover = nil
      let own = try SRTPContext(key, for: .only(ssrc))
      own.expect(rollover: given, of: ssrc)
      first = (ssrc, own)
    }
    let used = !isControl && first?.ssrc == ssrc ? first?.context ?? context : context
    var copy = packet
    if used.protect(&copy, isControl: isControl) != .authentic {
      context = try SRTPContext(key, for: .anySent)
      first = nil
      copy = packet
      let outcome = context.protect(&copy, isControl: isControl)
      guard outcome == .authentic else {
        guard case .refused(let status) = outcome else { throw .library(status: 0) }
        throw .library(status: status)
      }
    }
    layout.insert(key.identifier, into: &copy, isControl: isControl)
    return copy
  }
}
