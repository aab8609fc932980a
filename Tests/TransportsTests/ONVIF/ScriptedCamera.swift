@testable import Transports

/// A camera's side of ``ONVIFDialogue`` in a test: an answer for each request.
struct ScriptedCamera {
  /// By the names of requests; what is not here is refused.
  var answers: [String: HTTPReply]
  var purpose = ONVIFDialogue.Purpose.play(nil)
  var credentials: Credentials?
  var lowerTransport = RTSPConfiguration.LowerTransport.automatic
  var media: MediaChoice = {
    var media = MediaChoice()
    media.encodings = ["H264", "H265"]
    return media
  }()
  /// Called before each answer, to give another one.
  var override: (ONVIFDialogue.Request) -> HTTPReply? = { _ in nil }

  static let now = UTCTime(secondsSince1970: 1_780_000_000)

  /// Has the camera asked to the end; `requests` are those that it got.
  func talk(
    requests: ((ONVIFDialogue.Request) -> Void)? = nil
  ) throws -> (step: ONVIFDialogue.Step, dialogue: ONVIFDialogue) {
    var dialogue = ONVIFDialogue(
      for: purpose, credentials: credentials, lowerTransport: lowerTransport,
      media: media, randomness: SystemRandomNumberGenerator())
    for _ in 0..<300 {
      let request = dialogue.request(at: Self.now)
      requests?(request)
      let reply = override(request) ?? answers[request.name] ?? Self.unsupported
      let step = try dialogue.take(reply, at: Self.now)
      if step != .ask { return (step, dialogue) }
    }
    throw Endless()
  }

  struct Endless: Error {}

  /// The address of the stream that is played.
  func address() throws -> String {
    guard case .play(let address, _) = try talk().step else { return "" }
    return address
  }

  static func reply(_ body: String, status: Int = 200) -> HTTPReply {
    HTTPReply(
      status: status,
      body: Array(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope">\
        <SOAP-ENV:Body>\(body)</SOAP-ENV:Body></SOAP-ENV:Envelope>
        """.utf8))
  }

  static func fault(_ code: String, _ reason: String = "", status: Int = 400) -> HTTPReply {
    reply(
      """
      <SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Sender</SOAP-ENV:Value>\
      <SOAP-ENV:Subcode><SOAP-ENV:Value>ter:\(code)</SOAP-ENV:Value></SOAP-ENV:Subcode>\
      </SOAP-ENV:Code><SOAP-ENV:Reason><SOAP-ENV:Text xml:lang="en">\(reason)</SOAP-ENV:Text>\
      </SOAP-ENV:Reason></SOAP-ENV:Fault>
      """, status: status)
  }

  static let unsupported = fault(
    "ActionNotSupported", "Optional Action Not Implemented", status: 500)

  static func clock(ahead seconds: Int) -> HTTPReply {
    let text = "\(now.advanced(by: seconds))"
    let parts = text.split { "-T:Z".contains($0) }.compactMap { Int($0) }
    return reply(
      """
      <tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime>\
      <tt:LocalDateTime><tt:Time><tt:Hour>0</tt:Hour><tt:Minute>0</tt:Minute>\
      <tt:Second>0</tt:Second></tt:Time><tt:Date><tt:Year>2000</tt:Year><tt:Month>1</tt:Month>\
      <tt:Day>1</tt:Day></tt:Date></tt:LocalDateTime>\
      <tt:UTCDateTime><tt:Time><tt:Hour>\(parts[3])</tt:Hour><tt:Minute>\(parts[4])</tt:Minute>\
      <tt:Second>\(parts[5])</tt:Second></tt:Time><tt:Date><tt:Year>\(parts[0])</tt:Year>\
      <tt:Month>\(parts[1])</tt:Month><tt:Day>\(parts[2])</tt:Day></tt:Date></tt:UTCDateTime>\
      </tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>
      """)
  }

  /// An answer to `GetServices` with the addresses of services by their namespaces.
  static func services(_ addresses: (namespace: String, address: String)...) -> HTTPReply {
    let list = addresses.map {
      "<tds:Service><tds:Namespace>\($0.namespace)</tds:Namespace><tds:XAddr>\($0.address)</tds:XAddr></tds:Service>"
    }
    return reply("<tds:GetServicesResponse>\(list.joined())</tds:GetServicesResponse>")
  }

  static let media = "http://www.onvif.org/ver10/media/wsdl"
  static let media2 = "http://www.onvif.org/ver20/media/wsdl"

  /// A profile of Media.
  static func profile(_ token: String, _ name: String, _ encoding: String) -> String {
    """
    <trt:Profiles token="\(token)" fixed="true"><tt:Name>\(name)</tt:Name>\
    <tt:VideoSourceConfiguration token="V"><tt:Name>V</tt:Name></tt:VideoSourceConfiguration>\
    <tt:VideoEncoderConfiguration token="E"><tt:Name>E</tt:Name><tt:Encoding>\(encoding)\
    </tt:Encoding><tt:Resolution><tt:Width>1920</tt:Width><tt:Height>1080</tt:Height>\
    </tt:Resolution><tt:RateControl><tt:FrameRateLimit>25</tt:FrameRateLimit>\
    <tt:BitrateLimit>4096</tt:BitrateLimit></tt:RateControl></tt:VideoEncoderConfiguration>\
    </trt:Profiles>
    """
  }

  static func profiles(_ profiles: String...) -> HTTPReply {
    reply("<trt:GetProfilesResponse>\(profiles.joined())</trt:GetProfilesResponse>")
  }

  static func uri(_ address: String) -> HTTPReply {
    reply(
      """
      <trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>\(address)</tt:Uri>\
      <tt:InvalidAfterConnect>false</tt:InvalidAfterConnect><tt:Timeout>PT0S</tt:Timeout>\
      </trt:MediaUri></trt:GetStreamUriResponse>
      """)
  }

  /// What a camera without quirks answers.
  static let usual: [String: HTTPReply] = [
    "GetSystemDateAndTime": clock(ahead: 0),
    "GetServices": services((media, "http://192.168.1.64/onvif/Media")),
    "GetProfiles": profiles(
      profile("Profile_1", "mainStream", "H264"), profile("Profile_2", "subStream", "H264")),
    "GetStreamUri": uri("rtsp://192.168.1.64:554/Streaming/Channels/101?a=1&amp;b=2"),
  ]
}
