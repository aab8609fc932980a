internal import CCurl
internal import RTPWire

/// Checks the server's certificate, which libcurl provides after the handshake.
enum HTTPCertificate {
  /// What is wrong with the certificate, if anything.
  ///
  /// In an inspection it is never trusted. With a pin, only the pin decides. Without one, the
  /// certificate must contain names, since libcurl would otherwise compare the common name.
  static func objection(on transfer: HTTPTransfer) -> TLSError? {
    let request = transfer.request
    let tls = request.configuration.tls
    // Even if the certificate cannot be read here: why it is not trusted is known already.
    if request.isInspection {
      return .untrusted(
        host: request.url.host,
        fingerprint: certificate(of: transfer)?.fingerprint.hexadecimal)
    }
    guard request.url.isSecure, !tls.acceptsAnything || tls.pin != nil else { return nil }
    guard let certificate = certificate(of: transfer) else {
      return .handshakeFailed(reason: "no certificate")
    }
    guard let pin = tls.pin else {
      return certificate.hasNames ? nil : .withoutNames(host: request.url.host)
    }
    let fingerprint = certificate.fingerprint
    return fingerprint == pin ? nil : .otherCertificate(fingerprint: fingerprint.hexadecimal)
  }

  /// The first certificate of the chain, which is the server's own.
  private static func certificate(of transfer: HTTPTransfer) -> TLSCertificate? {
    var chain: UnsafeMutablePointer<curl_certinfo>?
    guard unsafe ccurl_get_certificates(transfer.handle, &chain) == CURLE_OK,
      let chain = unsafe chain, unsafe chain.pointee.num_of_certs > 0
    else { return nil }
    var item = unsafe chain.pointee.certinfo?.pointee
    while let entry = unsafe item {
      let text = unsafe String(cString: entry.pointee.data)
      if text.hasPrefix(label) {
        return TLSCertificate(pem: String(text.dropFirst(label.count)))
      }
      unsafe item = entry.pointee.next
    }
    return nil
  }

  private static let label = "Cert:"
}
