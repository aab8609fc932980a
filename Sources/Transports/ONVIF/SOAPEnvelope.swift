/// A SOAP message that is sent (SOAP 1.2), as one line: some Hikvision cameras answer no others.
struct SOAPEnvelope: Sendable, Hashable {
  /// Elements, as they are written.
  var header = ""
  /// Elements, as they are written.
  var body: String

  var text: String {
    #"<?xml version="1.0" encoding="UTF-8"?>"#
      + #"<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope">"#
      + (header.isEmpty ? "" : "<s:Header>\(header)</s:Header>")
      + "<s:Body>\(body)</s:Body></s:Envelope>"
  }
}

/// A SOAP message that came: what was asked for, or why it was refused.
enum SOAPAnswer: Sendable, Hashable {
  /// The first element of the body.
  case content(XMLElement)
  case fault(SOAPFault)

  /// `nil` if a document is no SOAP message.
  init?(_ document: XMLElement) {
    guard document.name == "Envelope", let body = document["Body"] else { return nil }
    if let fault = body["Fault"] {
      self = .fault(SOAPFault(fault))
    } else {
      self = .content(body.children.first ?? XMLElement(name: ""))
    }
  }
}

/// Why a request was refused (SOAP 1.2 part 1 §5.4, SOAP 1.1 §4.4).
struct SOAPFault: Sendable, Hashable {
  /// The code and what is inside of it, such as `Sender` and `NotAuthorized`, without prefixes.
  let codes: [String]
  /// In the device's words; may be empty.
  let reason: String

  init(_ element: XMLElement) {
    let values = (element["Code"]?.all("Value") ?? []) + element.all("faultcode")
    codes = values.prefix(8).map { value in
      value.text.split(separator: ":").last.map(String.init) ?? ""
    }
    reason = (element["Reason"]?["Text"] ?? element["faultstring"])?.text ?? ""
  }

  /// Whether a login is missing or not accepted: `NotAuthorized` of ONVIF Core §5.8.2, the codes
  /// of WS-Security §12, and what gSOAP says.
  var isAboutLogin: Bool {
    let words = ["NotAuthorized", "FailedAuthentication", "InvalidSecurity", "FailedCheck"]
    return codes.contains { code in words.contains { code.contains($0) } }
      || reason.lowercased().contains("not authorized")
  }
}
