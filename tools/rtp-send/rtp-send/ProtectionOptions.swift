import ArgumentParser
import Foundation
import RTPWire
import Transports

struct ProtectionOptions: ParsableArguments {
  @Option(
    name: .customLong("srtp-key-file"),
    help: ArgumentHelp(
      """
      Send SRTP and SRTCP under the first key of a file that its owner alone can read: \
      SUITE BASE64(key and salt) [MKI in hexadecimal].
      """, valueName: "file"), completion: .file())
  var keyFile: String?

  @Option(
    name: .customLong("srtp-roc"),
    help: ArgumentHelp(
      "Begin with this roll-over counter, as a stream does that has run for long.", valueName: "n"))
  var rollover: UInt32?

  func check() throws {
    guard rollover == nil || keyFile != nil else {
      throw ValidationError("--srtp-roc needs --srtp-key-file")
    }
  }

  /// The first key of the file, if one is named.
  ///
  /// - Throws: that the file cannot be used.
  func key() throws -> SRTPKeyMaterial? {
    guard let keyFile else { return nil }
    guard let key = try SRTPKeySource.file(keyFile).keys().first else {
      throw SRTPError.keySource(keyFile, .empty)
    }
    return key
  }

  /// The first key of the file as `a=crypto` has it (RFC 4568 §9.1), for a description in TLS.
  ///
  /// - Throws: that the file cannot be used.
  func cryptoAttribute() throws -> String? {
    guard let keyFile else { return nil }
    // Whether its owner alone can read it is checked with the keys.
    let text = FileManager.default.contents(atPath: keyFile).map {
      String(decoding: $0, as: UTF8.self)
    }
    let words =
      (text ?? "").split(whereSeparator: \.isNewline)
      .first { !$0.hasPrefix("#") && !$0.allSatisfy(\.isWhitespace) }?
      .split(whereSeparator: \.isWhitespace) ?? []
    guard words.count >= 2 else { throw SRTPError.keySource(keyFile, .empty) }
    var attribute = "1 \(words[0]) inline:\(words[1])"
    if words.count > 2 {
      guard let identifier = UInt64(words[2], radix: 16) else {
        throw ValidationError("rtsps:// takes keys whose MKI has 8 bytes at most")
      }
      attribute += "|\(identifier):\(words[2].count / 2)"
    }
    return attribute
  }
}
