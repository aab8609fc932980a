/// Why a transport cannot be opened; each description says what happened and what to try.
public enum TransportError: Error, Sendable, Hashable {
  /// The SOURCE argument is not one that a transport understands.
  case source(String, SourceFault)
  /// The host name has no address; the resolver's message.
  case nameNotResolved(host: String, reason: String)
  /// The resolver did not answer within its deadline, in seconds.
  case nameResolutionTimedOut(host: String, seconds: Int)
  /// Nothing listens on the port, or a firewall rejects connections.
  case connectionRefused(address: String)
  /// No connection; the kernel's message.
  case notConnected(address: String, reason: String)
  /// The address is valid on one link only, and no network interface is named.
  case linkNotNamed(address: String)
  /// Another program has the port.
  case portInUse(address: String)
  /// The address to bind does not belong to this machine.
  case addressNotAvailable(address: String)
  /// The address to listen on does not belong to this machine; it may be that of the sender.
  case addressOfSender(address: String, port: Int)
  case noSuchInterface(name: String)
  /// The kernel does not let this program use one network interface alone.
  case interfaceNotPermitted(operation: String)
  case permissionDenied(operation: String)
  /// The group could not be joined; the kernel's message.
  case groupNotJoined(group: String, reason: String)
  /// The payload of hello or heartbeat is longer than the limit, in bytes.
  case payloadTooLong(count: Int, limit: Int)
  /// Another system call failed.
  case system(operation: String, reason: String)
  case fileUnreadable(path: String, reason: String)
  case sessionDescription(SessionDescriptionError)
  /// The description has no media to listen for.
  case nothingToReceive
  /// The description has media, but none that can be used; with the encodings described and the
  /// usable ones.
  case noUsableMedia(described: [String], usable: [String])
  /// The description has no media of this number, or it has no port.
  case noSuchMedia(number: Int)
  /// The media of this number only repeats packets of another (RFC 4588 §5.3).
  case onlyRetransmissions(number: Int)
  /// This transport does not know the media's profile, such as RTP/SAVP.
  case unsupportedProfile(String)
  /// The media is protected and not available in clear.
  case protected(SRTPError)
  /// The transport was closed before it was open.
  case closed
  /// A transport opens once.
  case alreadyOpened
}

/// What is wrong with a SOURCE argument.
public enum SourceFault: Error, Sendable, Hashable {
  case unknownScheme(String, known: [String])
  case unknownTransport(String, known: [String])
  /// An address without a scheme or a transport name.
  case noScheme(known: [String])
  /// Neither a URL nor an address nor an existing file.
  case noSuchFile
  /// An empty argument.
  case nothingGiven
  case missingHost
  case missingPort
  /// Not a whole number from 1 to 65535.
  case invalidPort(String)
  /// A character that no host name or address contains.
  case invalidHost(String)
  /// Something follows the port.
  case unexpectedTail(String)
  /// `source@` is given, but the address after it is not a multicast group.
  case sourceWithoutGroup
  /// A URL of more bytes than the limit.
  case tooLong(count: Int, limit: Int)
  /// A control character, plain or percent-encoded.
  case controlCharacter
  /// The part before the `@` contains a character that ends the host of a URL.
  case unescapedCredentials
  /// Nothing can be asked which streams there are.
  case nothingDescribed
  /// The URL's scheme belongs to another transport than the one named.
  case otherTransport(scheme: String, named: String)
  /// SMPTE ST 2022-1 needs separate ports for its correction packets.
  case noRepairPorts
  /// SMPTE ST 2022-1 protects only packets that are not encrypted.
  case protectedCorrection
  /// Two sessions would have one key, and thus the same key stream (RFC 3711 §9.1).
  case sharedKey
  /// Keys are to be read from somewhere, and were not: ``SRTPOptions/readKeys()`` reads them.
  case unreadKeys
}

extension TransportError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .source(let text, let fault):
      return
        "cannot use '\(SourceArgument(text).shown.prefix(200))' as a source: \(fault)"
    case .nameNotResolved(let host, let reason):
      return "cannot find the address of '\(host)' (\(reason)); check the name, or give an address"
    case .nameResolutionTimedOut(let host, let seconds):
      return "the name server did not answer for '\(host)' within \(seconds) s; "
        + "check the network, or give an address"
    case .connectionRefused(let address):
      return "\(address) refuses the connection; check the port, and that the server is running"
    case .notConnected(let address, let reason):
      return "cannot connect to \(address) (\(reason)); check the address and the network"
    case .linkNotNamed(let address):
      return "\(address) is valid on one link only, and nothing says on which; name the network "
        + "interface, as in [fe80::1%25eth0], or with --interface"
    case .portInUse(let address):
      return "\(address) is in use, by another program or as another port of this one; take another"
    case .addressNotAvailable(let address):
      return "\(address) is not an address of this machine; 'ip address' lists those that are"
    case .addressOfSender(let address, let port):
      return "\(address) is not an address of this machine ('ip address' lists those that are); to "
        + "take what comes from there, write rtp://:\(port), or udp://\(address) if it waits for a "
        + "hello"
    case .noSuchInterface(let name):
      return "there is no network interface '\(name)'; 'ip link' lists those that exist"
    case .interfaceNotPermitted(let operation):
      return "not permitted to \(operation); that takes Linux 5.7, or the capability CAP_NET_RAW"
    case .permissionDenied(let operation):
      return "not permitted to \(operation); ports below 1024 need a privilege, others do not"
    case .groupNotJoined(let group, let reason):
      return "cannot join the multicast group \(group) (\(reason)); "
        + "name the network interface to join on with --interface"
    case .payloadTooLong(let count, let limit):
      return "a hello or heartbeat of \(count) bytes is too long; it may have \(limit) bytes"
    case .system(let operation, let reason):
      return "cannot \(operation): \(reason)"
    case .fileUnreadable(let path, let reason):
      return "cannot read \(path): \(reason)"
    case .sessionDescription(let error):
      return "the session description cannot be used: \(error)"
    case .nothingToReceive:
      return "the session description has no media with a port to listen on"
    case .noUsableMedia(let described, let usable):
      return
        "the session description has \(described.prefix(8).joined(separator: ", ")), and nothing "
        + "that can be received here (\(usable.joined(separator: ", ")))"
    case .noSuchMedia(let number):
      return "the session description has no stream \(number) with a port"
    case .onlyRetransmissions(let number):
      return
        "stream \(number) of the session description carries the retransmissions of another; "
        + "choose that one, and its retransmissions come with it"
    case .unsupportedProfile(let profile):
      return
        "the session description asks for \(profile.prefix(40)); only RTP/AVP and RTP/SAVP can be "
        + "received"
    case .protected(let error): return "\(error)"
    case .closed:
      return "the transport was closed while it was being opened"
    case .alreadyOpened:
      return "the transport has been opened before"
    }
  }
}

extension SourceFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownScheme(let scheme, let known):
      return "'\(scheme)' is not a known scheme; "
        + (Self.remedy(forScheme: scheme) ?? "there are \(Self.list(known))")
    case .unknownTransport(let name, let known):
      return "'\(name)' is not a known transport; there are \(Self.list(known))"
    case .noScheme(let known):
      return "it says where, but not how; put one of these before it: "
        + known.joined(separator: " ")
    case .noSuchFile:
      return "there is no such file; a stream has a URL, as in rtsp://host/path or rtp://:5004"
    case .nothingGiven:
      return "it is empty; give a URL, as in rtsp://host/path, or a file"
    case .missingHost:
      return "the host is missing, as in udp://host:port or rtsp://host/path"
    case .missingPort:
      return "the port is missing, as in udp://host:port or rtp://:5004"
    case .invalidPort(let text):
      return "'\(text.prefix(20))' is not a port; a port is a number from 1 to 65535"
    case .invalidHost(let host):
      return "'\(host.prefix(80))' is not a host name or address; "
        + "an IPv6 address is written in brackets, as in [2001:db8::1]:5004"
    case .unexpectedTail(let tail):
      return "'\(tail.prefix(80))' after the port means nothing here"
    case .sourceWithoutGroup:
      return "source@ goes with a multicast group, as in rtp://192.0.2.1@232.1.2.3:5004; "
        + "to receive from a server that waits for a hello, use udp://host:port"
    case .tooLong(let count, let limit):
      return "it has \(count) bytes, more than \(limit)"
    case .controlCharacter:
      return "it contains a control character, which no address has"
    case .unescapedCredentials:
      return "a '/' or '?' in a user name or password is written %2F or %3F, and '@' %40"
    case .nothingDescribed:
      return
        "it does not say which streams there are; rtsp:// servers, .sdp files and recordings do"
    case .otherTransport(let scheme, let named):
      let isOfMedia =
        ["rtsp", "rtsps", "onvif", "onvifs"].contains(scheme)
        && ["tcp", "udp", "http"].contains(named)
      return "\(scheme):// is not carried by the transport '\(named)'; "
        + (isOfMedia ? "its media is, with --rtsp-transport \(named)" : "leave one of the two out")
    case .noRepairPorts:
      return
        "SMPTE ST 2022-1 and retransmissions in a separate session need ports of their own: "
        + "listen with rtp://, or replay a .pcapng"
    case .protectedCorrection:
      return "SMPTE ST 2022-1 cannot be combined with SRTP"
    case .sharedKey:
      return
        "retransmissions in a separate session need a key of their own: describe both sessions "
        + "in an SDP file, each with its a=crypto"
    case .unreadKeys:
      return "its SRTP keys have not been read; readKeys() of the SRTP options reads them"
    }
  }

  /// What is written here for what other programs call `scheme`; `nil` if it is nothing known.
  private static func remedy(forScheme scheme: String) -> String? {
    switch scheme {
    case "file": "a file is its path alone, as in capture.pcapng"
    case "rtspt": "what GStreamer calls so is rtsp:// with --rtsp-transport tcp"
    case "srtp":
      "encrypted packets come by rtp://, udp:// and others, and --srtp-key-file names their key"
    case "srt":
      "SRT is not received, but FFmpeg can pass it on: "
        + "ffmpeg -i srt://… -c:v copy -f rtp rtp://127.0.0.1:5004, and here rtp://:5004"
    default: nil
    }
  }

  private static func list(_ names: [String]) -> String {
    names.joined(separator: ", ")
  }
}

extension TransportError: TransportFault {
  public var fault: ConnectionFault {
    switch self {
    case .nameNotResolved, .nameResolutionTimedOut, .connectionRefused, .notConnected,
      .linkNotNamed, .portInUse, .addressNotAvailable, .addressOfSender, .noSuchInterface,
      .groupNotJoined, .system:
      .transient
    case .source, .interfaceNotPermitted, .permissionDenied, .payloadTooLong, .fileUnreadable,
      .sessionDescription, .nothingToReceive, .noUsableMedia, .noSuchMedia, .onlyRetransmissions,
      .unsupportedProfile, .protected, .closed, .alreadyOpened:
      .permanent
    }
  }

  public var outcome: TransportOutcome? {
    switch self {
    case .source: .usage
    case .protected(let error): error.outcome
    case .noUsableMedia: .unrecognized
    case .noSuchMedia, .onlyRetransmissions: .noSuchStream
    default: nil
    }
  }

  public var advice: TransportAdvice? {
    switch self {
    case .source(_, .unescapedCredentials): .loginApart
    case .source(_, .noSuchFile): .transport
    case .noUsableMedia: .sessionDescription
    case .noSuchMedia: .numbers
    default: nil
    }
  }
}
