internal import RTPWire

/// A profile of a camera: what one of its streams contains (ONVIF Media §5.2, Media 2 §5.2).
struct ONVIFProfile: Sendable, Hashable {
  /// What requests call it.
  let token: String
  /// What people call it.
  let name: String
  /// The encoding name of its video, as in a session description; `nil` without video.
  var video: String?
  var width: Int?
  var height: Int?
  var frameRate: Int?
  /// In kbit/s.
  var bitRate: Int?
  /// The encoding of its sound in the device's words; `nil` without.
  var sound: String?
  /// Where it is streamed, without any user name and password; `nil` until asked for.
  var stream: String?
  /// Where a JPEG of it is; `nil` if the device has none.
  var snapshot: String?

  /// Reads a `Profiles` element of either Media service; `nil` without a token.
  init?(_ element: XMLElement) {
    guard let token = element.attributes["token"], !token.isEmpty else { return nil }
    self.token = token
    name = (element["Name"]?.text).flatMap { $0.isEmpty ? nil : $0 } ?? token
    let configurations = element["Configurations"]
    let encoder = element["VideoEncoderConfiguration"] ?? configurations?["VideoEncoder"]
    if let encoder {
      video = Self.encoding(encoder["Encoding"]?.text ?? "")
      let size = encoder["Resolution"]
      (width, height) = (Self.figure(size?["Width"]), Self.figure(size?["Height"]))
      let rate = encoder["RateControl"]
      frameRate = Self.figure(rate?["FrameRateLimit"])
      bitRate = Self.figure(rate?["BitrateLimit"])
    }
    let sound = element["AudioEncoderConfiguration"] ?? configurations?["AudioEncoder"]
    self.sound = sound?["Encoding"]?.text
  }

  /// The most profiles that are read of one device; recorders have four for each camera.
  static let maximumCount = 512

  /// Reads the answer to `GetProfiles`.
  static func all(in answer: XMLElement) -> [ONVIFProfile] {
    answer.children.lazy.filter { $0.name == "Profiles" }.compactMap { ONVIFProfile($0) }
      .prefix(maximumCount).map(\.self)
  }

  /// Profiles whose video may be received: of the encodings that are known by `choice`, then those
  /// of which nothing is said, and then all others, unless the choice is of certain encodings.
  static func usable(in profiles: [ONVIFProfile], by choice: MediaChoice) -> [ONVIFProfile] {
    var encodings = choice.encodings.isEmpty ? choice.knownEncodings : choice.encodings
    // Whoever says nothing decodes these more likely than JPEG.
    if encodings.isEmpty { encodings = ["H264", "H265"] }
    var (known, unsaid, others): ([ONVIFProfile], [ONVIFProfile], [ONVIFProfile]) = ([], [], [])
    for profile in profiles {
      switch profile.video {
      case let video? where encodings.contains(video): known.append(profile)
      case ""?: unsaid.append(profile)
      case nil: if profile.sound == nil { unsaid.append(profile) }
      default: others.append(profile)
      }
    }
    return known + unsaid + (choice.encodings.isEmpty ? others : [])
  }

  /// Whether it is the one that a person calls `text`.
  func isCalled(_ text: String) -> Bool {
    token == text || name.lowercased() == text.lowercased()
  }

  /// The name in a session description for that of an encoding here, in any case: Media 1 has the
  /// names of ONVIF, Media 2 those of IANA.
  private static func encoding(_ name: String) -> String {
    switch name.uppercased() {
    case "HEVC": "H265"
    case "MPEG4": "MP4V-ES"
    case let name: name
    }
  }

  /// A figure of a device, if it is one; Media 2 has fractions.
  private static func figure(_ element: XMLElement?) -> Int? {
    guard let text = element?.text, let number = Double(text), (1...1e9).contains(number) else {
      return nil
    }
    return Int(number.rounded())
  }
}

extension ListedStream {
  /// A profile as it is listed.
  init(_ profile: ONVIFProfile) {
    let encoding = profile.video.flatMap { $0.isEmpty ? nil : $0 } ?? profile.sound?.uppercased()
    self.init(
      MediaDescription(
        kind: profile.video == nil && profile.sound != nil ? .audio : .video,
        encodingName: encoding?.printable))
    properties = [
      Property("name", .text(profile.name.printable)),
      Property("token", .text(profile.token.printable)),
    ]
    if let width = profile.width, let height = profile.height {
      properties.append(Property("width", .number(width), shown: "\(width)x\(height)"))
      properties.append(Property("height", .number(height), shown: nil))
    }
    if let rate = profile.frameRate {
      properties.append(Property("frame_rate", .number(rate), shown: "\(rate) fps"))
    }
    if let rate = profile.bitRate {
      properties.append(Property("bit_rate_kbps", .number(rate), shown: "\(rate) kbit/s"))
    }
    if profile.video != nil, let sound = profile.sound {
      properties.append(Property("sound", .text(sound.printable)))
    }
    if let stream = profile.stream { properties.append(Property("uri", .text(stream))) }
    if let snapshot = profile.snapshot {
      properties.append(Property("snapshot", .text(snapshot), shown: nil))
    }
  }
}
