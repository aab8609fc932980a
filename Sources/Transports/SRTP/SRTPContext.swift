internal import CSRTP
internal import NIOCore

/// One libsrtp session: a key in use, with a roll-over counter and a replay window for each SSRC.
///
/// It must never be used by two threads at the same time.
@safe final class SRTPContext {
  /// Which sources the session handles.
  enum Sources: Sendable, Hashable {
    /// Any sender whose packets authenticate; libsrtp keeps no state for others.
    case anyReceived
    case anySent
    case only(UInt32)
  }

  /// The result for a packet; only an authentic one changes any state.
  enum Outcome: Sendable, Hashable {
    case authentic
    case authenticationFailed
    /// Seen before, or too old for the replay window.
    case replayed
    /// Refused for another reason, with libsrtp's status.
    case refused(UInt32)
  }

  private let session: srtp_t

  /// Initializes libsrtp, once for the process.
  private static let libraryStatus = srtp_init()

  static var library: LinkedLibrary {
    let number = UInt(srtp_get_version())
    return LinkedLibrary(
      name: "libsrtp2",
      version: .init(major: number >> 24, minor: number >> 16 & 0xFF, patch: number & 0xFFFF),
      oldest: .init(major: 2, minor: 5, patch: 0),
      need: "is the first that takes a roll-over counter with AES-GCM (libsrtp #558)")
  }

  /// Makes a context; `replayWindow` is 64 … 32,767 packets.
  init(
    _ key: SRTPKeyMaterial, for sources: Sources, replayWindow: Int = SRTPContext.replayWindow,
    readableControl: Bool = false
  ) throws(SRTPError) {
    guard Self.libraryStatus == srtp_err_status_ok else {
      throw .library(status: Self.libraryStatus.rawValue)
    }
    var policy = unsafe srtp_policy_t()
    switch sources {
    case .anyReceived: unsafe policy.ssrc.type = ssrc_any_inbound
    case .anySent: unsafe policy.ssrc.type = ssrc_any_outbound
    case .only(let ssrc):
      unsafe policy.ssrc.type = ssrc_specific
      unsafe policy.ssrc.value = ssrc
    }
    unsafe key.suite.fill(&policy.rtp, &policy.rtcp)
    if readableControl, !key.suite.isAEAD { unsafe policy.rtcp.sec_serv = sec_serv_auth }
    unsafe policy.window_size = UInt(replayWindow)
    var made: srtp_t?
    let status = unsafe key.withKeyAndSalt { bytes in
      unsafe policy.key = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return unsafe srtp_create(&made, &policy)
    }
    guard status == srtp_err_status_ok, let made = unsafe made else {
      throw .library(status: status.rawValue)
    }
    unsafe session = made
  }

  deinit { unsafe srtp_dealloc(session) }

  /// Decrypts `packet` in place; its content is garbage when it is not authentic.
  ///
  /// The caller must have checked its lengths (``SRTPLayout``).
  func unprotect(_ packet: inout ByteBuffer, isControl: Bool) -> Outcome {
    var length = Int32(clamping: packet.readableBytes)
    // A safety margin: no version of libsrtp writes further than one tag past the end of a packet.
    packet.reserveCapacity(minimumWritableBytes: Self.spareBytes)
    let status = unsafe packet.withUnsafeMutableReadableBytes { bytes in
      unsafe isControl
        ? srtp_unprotect_rtcp(session, bytes.baseAddress, &length)
        : srtp_unprotect(session, bytes.baseAddress, &length)
    }
    switch status {
    case srtp_err_status_ok:
      packet.moveWriterIndex(to: packet.readerIndex + Int(clamping: length))
      return .authentic
    // An index too far away to be tried counts like a wrong tag.
    case srtp_err_status_auth_fail, srtp_err_status_pkt_idx_old:
      return .authenticationFailed
    case srtp_err_status_replay_fail, srtp_err_status_replay_old: return .replayed
    default: return .refused(status.rawValue)
    }
  }

  /// Encrypts `packet` in place.
  func protect(_ packet: inout ByteBuffer, isControl: Bool) -> Outcome {
    var length = Int32(clamping: packet.readableBytes)
    packet.reserveCapacity(minimumWritableBytes: Self.longestTrailer)
    let status = unsafe packet.withUnsafeMutableReadableBytes { bytes in
      unsafe isControl
        ? srtp_protect_rtcp(session, bytes.baseAddress, &length)
        : srtp_protect(session, bytes.baseAddress, &length)
    }
    guard status == srtp_err_status_ok else { return .refused(status.rawValue) }
    packet.moveWriterIndex(to: packet.readerIndex + Int(clamping: length))
    return .authentic
  }

  /// Expects the next packet of `ssrc` to have the roll-over counter `count`; 0 has no effect.
  ///
  /// The counter is kept only if that packet is authentic.
  func expect(rollover count: UInt32, of ssrc: UInt32) {
    _ = unsafe srtp_set_stream_roc(session, ssrc, count)
  }

  /// The roll-over counter of `ssrc`, once it has sent something authentic.
  func rollover(of ssrc: UInt32) -> UInt32? {
    var count: UInt32 = 0
    let status = unsafe srtp_get_stream_roc(session, ssrc, &count)
    return status == srtp_err_status_ok ? count : nil
  }

  /// Forgets all state of `ssrc`.
  func forget(_ ssrc: UInt32) { _ = unsafe srtp_remove_stream(session, ssrc.bigEndian) }

  /// The replay window in packets: more than wait for a gap (`RTPProcessor` holds 2,048).
  static let replayWindow = 2304
  static let spareBytes = 16
  /// The longest tag, plus E with the index.
  private static let longestTrailer = 16 + 4 + spareBytes
}

extension SRTPSuite {
  /// The policies of libsrtp for SRTP and SRTCP.
  fileprivate func fill(_ rtp: inout srtp_crypto_policy_t, _ rtcp: inout srtp_crypto_policy_t) {
    switch self {
    case .aesCM128SHA1Tag80, .aesCM128SHA1Tag32:
      unsafe srtp_crypto_policy_set_rtp_default(&rtp)
      unsafe srtp_crypto_policy_set_rtcp_default(&rtcp)
    case .aesCM256SHA1Tag80, .aesCM256SHA1Tag32:
      unsafe srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&rtp)
      unsafe srtp_crypto_policy_set_aes_cm_256_hmac_sha1_80(&rtcp)
    case .aesGCM128:
      unsafe srtp_crypto_policy_set_aes_gcm_128_16_auth(&rtp)
      unsafe srtp_crypto_policy_set_aes_gcm_128_16_auth(&rtcp)
    case .aesGCM256:
      unsafe srtp_crypto_policy_set_aes_gcm_256_16_auth(&rtp)
      unsafe srtp_crypto_policy_set_aes_gcm_256_16_auth(&rtcp)
    case .nullSHA1Tag80, .nullSHA1Tag32:
      unsafe srtp_crypto_policy_set_null_cipher_hmac_sha1_80(&rtp)
      unsafe srtp_crypto_policy_set_null_cipher_hmac_sha1_80(&rtcp)
      // With 0, libsrtp 2.5 would derive the authentication key from no bytes of the master key.
      rtp.cipher_key_len = Int32(keyLength + saltLength)
      rtcp.cipher_key_len = rtp.cipher_key_len
    }
    rtp.auth_tag_len = Int32(tagLength)
  }
}
