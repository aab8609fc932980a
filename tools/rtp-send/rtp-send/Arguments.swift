public import ArgumentParser
import Foundation
import Impairment
import NIOCore
public import RTPSend
import RTPWire

extension Codec: ExpressibleByArgument {}
extension Packetization: ExpressibleByArgument {}

/// Bytes given on the command line: as text, as `@FILE`, or as `hex:…`.
struct BytesArgument {
  let bytes: [UInt8]

  /// - Throws: that the file cannot be read, or that the digits are none.
  init(parsing argument: String) throws {
    if argument.hasPrefix("@") {
      let path = String(argument.dropFirst())
      guard let data = FileManager.default.contents(atPath: path) else {
        let exists = FileManager.default.fileExists(atPath: path)
        throw ValidationError("\(path) " + (exists ? "cannot be read" : "does not exist"))
      }
      bytes = [UInt8](data)
    } else if argument.hasPrefix("hex:") {
      let digits = argument.dropFirst(4).map(\.hexDigitValue)
      let problem = ValidationError("hex: takes pairs of hexadecimal digits")
      guard digits.count.isMultiple(of: 2) else { throw problem }
      var bytes: [UInt8] = []
      for index in stride(from: 0, to: digits.count, by: 2) {
        guard let high = digits[index], let low = digits[index + 1] else { throw problem }
        bytes.append(UInt8(high << 4 | low))
      }
      self.bytes = bytes
    } else {
      bytes = [UInt8](argument.utf8)
    }
  }
}

/// A count of repetitions, or `forever`.
struct Repetitions: ExpressibleByArgument {
  let count: Int?

  init(count: Int?) { self.count = count }

  init?(argument: String) {
    if argument == "forever" {
      count = nil
    } else {
      guard let number = Int(argument), number >= 1 else { return nil }
      count = number
    }
  }

  var defaultValueDescription: String { count.map(String.init) ?? "forever" }
}

/// A picture size such as `1280x720`.
struct Size: ExpressibleByArgument {
  let width: Int
  let height: Int

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  init?(argument: String) {
    let parts = argument.lowercased().split(separator: "x").compactMap { Int($0) }
    guard parts.count == 2 else { return nil }
    self.init(width: parts[0], height: parts[1])
  }
}

/// Bits a second, such as `800k` or `4M`.
struct BitRate: ExpressibleByArgument {
  let bitsPerSecond: Int

  init(bitsPerSecond: Int) { self.bitsPerSecond = bitsPerSecond }

  init?(argument: String) {
    let factors: [Character: Double] = ["k": 1e3, "K": 1e3, "M": 1e6]
    let factor = argument.last.flatMap { factors[$0] }
    guard let number = Double(factor == nil ? argument[...] : argument.dropLast()),
      let bits = Int(exactly: (number * (factor ?? 1)).rounded())
    else { return nil }
    bitsPerSecond = bits
  }
}

/// A 32-bit number, decimal or hexadecimal.
struct UnsignedNumber: ExpressibleByArgument {
  let value: UInt32

  init?(argument: String) {
    let isHexadecimal = argument.lowercased().hasPrefix("0x")
    let digits = isHexadecimal ? argument.dropFirst(2) : argument[...]
    guard let value = UInt32(digits, radix: isHexadecimal ? 16 : 10) else { return nil }
    self.value = value
  }
}

/// Two whole numbers such as `100,-5`; the first is not negative.
struct NumberPair: ExpressibleByArgument {
  let first: Int
  let second: Int

  init?(argument: String) {
    let parts = argument.split(separator: ",").compactMap { Int($0) }
    guard parts.count == 2, parts[0] >= 0 else { return nil }
    (first, second) = (parts[0], parts[1])
  }
}

/// A share and another number, such as `0.05,5` or `5%,5`.
struct SharePair {
  let share: Double
  let other: Double

  init(parsing argument: String) throws {
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let other = Double(parts[1]) else {
      throw ValidationError("it is a share and a number, such as 0.05,5 or 5%,5")
    }
    (share, self.other) = (try ShareArgument.read(parts[0]), other)
  }
}

/// When the SSRC changes: after a number of packets, or with every `gop`.
struct SourceChangeArgument: ExpressibleByArgument {
  let change: RTPStream.SourceChange

  init?(argument: String) {
    if argument == "gop" {
      change = .everyGroupOfPictures
    } else {
      guard let packets = Int(argument), packets >= 0 else { return nil }
      change = .afterPackets(packets)
    }
  }
}

/// Forward error correction such as `ulpfec:97,5`: the format, the payload type, and how many
/// packets each correction packet protects, perhaps with `,red:98`; or `st2022-1,5,4`: the columns
/// and the rows of the matrix.
enum CorrectionArgument: ExpressibleByArgument {
  case typed(RTPStream.Correction)
  case matrix(PacketFeed.MatrixCorrection)

  init?(argument: String) {
    if argument.hasPrefix("st2022-1,") {
      let sides = argument.split(separator: ",", omittingEmptySubsequences: false).dropFirst()
        .compactMap { Int($0) }
      guard argument.count(where: { $0 == "," }) == 2, sides.count == 2,
        let matrix = PacketFeed.MatrixCorrection(columns: sides[0], rows: sides[1])
      else { return nil }
      self = .matrix(matrix)
      return
    }
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let (name, type) = Self.type(parts[0]),
      let format = CorrectionFormat(rawValue: name), let interval = Int(parts[1]),
      (1...48).contains(interval)
    else { return nil }
    var correction = RTPStream.Correction(format, payloadType: type, interval: interval)
    if parts.count == 3 {
      guard let (name, type) = Self.type(parts[2]), name == "red", type != correction.payloadType
      else { return nil }
      correction.redundancyPayloadType = type
    }
    self = .typed(correction)
  }

  /// `NAME:PT`.
  private static func type(_ text: Substring) -> (name: String, type: UInt8)? {
    let words = text.split(separator: ":", omittingEmptySubsequences: false)
    guard words.count == 2, let type = UInt8(words[1]), type <= 127 else { return nil }
    return (String(words[0]), type)
  }

  /// Correction packets in the stream itself, if these are such.
  var correction: RTPStream.Correction? {
    if case .typed(let correction) = self { correction } else { nil }
  }

  /// The correction on separate ports, if it is of that kind.
  var matrix: PacketFeed.MatrixCorrection? {
    if case .matrix(let matrix) = self { matrix } else { nil }
  }
}

/// A plan: a preset, or a file with lines.
struct PlanArgument {
  let text: String

  /// - Throws: that there is no such file, or what is wrong with its lines.
  init(parsing argument: String) throws {
    if let preset = Preset(rawValue: argument) {
      text = "0 " + preset.clauses
      return
    }
    guard let data = FileManager.default.contents(atPath: argument) else {
      let exists = FileManager.default.fileExists(atPath: argument)
      let names = Preset.allCases.map(\.rawValue).joined(separator: ", ")
      throw ValidationError(
        exists
          ? "\(argument) cannot be read"
          : "there is no file \(argument); without a file, --plan takes \(names)")
    }
    guard data.count <= PlanText.longest, let text = String(data: data, encoding: .utf8) else {
      throw ValidationError("\(argument) is no plan, which is a text of up to a megabyte")
    }
    self.text = text
    do throws(PlanText.Problem) {
      _ = try PlanText.parse(text)
    } catch { throw ValidationError("\(argument), \(error)") }
  }
}

/// Names of quirks such as `no-marker,padding`.
struct QuirkArgument {
  let quirks: Set<Quirk>

  init(parsing argument: String) throws {
    let names = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    if let other = names.first(where: { Quirk(rawValue: $0) == nil }) {
      throw ValidationError("there is no quirk '\(other)'; --quirk list lists them")
    }
    quirks = Set(names.compactMap(Quirk.init))
  }
}

/// A share such as `0.05` or `5%`.
enum ShareArgument {
  static func read(_ argument: String) throws -> Double {
    let number =
      argument.hasSuffix("%") ? Double(argument.dropLast()).map { $0 / 100 } : Double(argument)
    guard let number, (0...1).contains(number) else {
      throw ValidationError("a share is 0 to 1, such as 0.05, or 0% to 100%")
    }
    return number
  }
}

/// A delay in milliseconds, such as `20`, `20ms` or `0.02s`.
enum MillisecondsArgument {
  static func read(_ argument: String) throws -> Double {
    guard let nanoseconds = PlanText.time(argument[...], unit: 1e6), nanoseconds <= 60_000_000_000
    else {
      throw ValidationError("a delay is 0 to 60000 ms, such as 20, 20ms or 0.02s")
    }
    return Double(nanoseconds) / 1e6
  }
}

/// Names of ways to log in such as `digest,basic`.
struct LoginArgument: ExpressibleByArgument {
  let methods: Set<RTSPLogin.Method>

  init?(argument: String) {
    let words = argument.split(separator: ",", omittingEmptySubsequences: false)
    methods = Set(words.compactMap { RTSPLogin.Method(rawValue: $0.lowercased()) })
    guard methods.count == words.count else { return nil }
  }
}

/// A multicast address and a port such as `239.255.42.1:5004`.
struct GroupArgument: ExpressibleByArgument {
  let group: MulticastGroup

  init?(argument: String) {
    guard let colon = argument.lastIndex(of: ":"),
      let port = Int(argument[argument.index(after: colon)...]), (1024...65_000).contains(port),
      port.isMultiple(of: 2)
    else { return nil }
    var host = argument[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard let address = try? SocketAddress(ipAddress: String(host), port: port),
      address.isMulticast
    else { return nil }
    group = MulticastGroup(address: String(host), port: port)
  }
}

/// Names of requests such as `nack,pli`.
struct FeedbackArgument: ExpressibleByArgument {
  let requests: Set<FeedbackRequest>

  init?(argument: String) {
    guard let requests = FeedbackRequest.requests(named: argument) else { return nil }
    self.requests = requests
  }
}
