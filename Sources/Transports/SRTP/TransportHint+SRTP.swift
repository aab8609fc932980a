extension TransportHint {
  /// The hints of SRTP, whatever carries it.
  static let ofSRTP: [TransportHint] = [
    TransportHint(.warning) { situation in
      // A few packets may be strays.
      guard let counters = situation.counters.srtp, counters.dropped >= 20 else { return nil }
      return situation.received == 0 ? counters.distrust : nil
    },
    TransportHint(.distrust) { situation in
      situation.received == 0 ? situation.counters.srtp?.distrust : nil
    },
    TransportHint(.nonsense) { situation in
      situation.counters.srtp == nil
        ? "give the key of SRTP with --srtp-key-file if they are encrypted" : nil
    },
  ]
}

extension SRTPCounters {
  /// Why most packets are not authentic; `nil` if they are.
  fileprivate var distrust: String? {
    // Reports may be authentic where the suite is wrong for the media alone (RFC 3711 §5.2).
    guard dropped > authenticated else { return nil }
    if authenticationFailed > 0 {
      return
        "\(authenticationFailed.counted("packet")) came that could not be authenticated: is "
        + "the key the sender's, and its suite? A stream joined very late needs --srtp-roc. If the "
        + "stream is not encrypted, leave the key out"
    }
    if noKey > 0 {
      return "\(noKey.counted("packet")) came for which there is no key: check the MKI"
    }
    if malformed + readableControl > 0 {
      let count = malformed + readableControl
      return "\(count.counted("packet")) came that are too short for this "
        + "suite, or not SRTP: check the sender's suite and MKI"
    }
    return nil
  }
}
