internal import BlockingIO
internal import Glibc
internal import RTPWire

/// Where the keys of a stream are read from, so that they need not be visible to everybody.
public enum SRTPKeySource: Sendable, Hashable {
  /// A file that only its owner can read, or a named pipe.
  case file(String)
  /// A descriptor that the caller of the program has opened; it is closed after reading.
  case descriptor(Int32)
  /// An environment variable, which is wiped and removed.
  case environment(String)

  /// The environment variable for a key.
  static let variable = "RTP_RECV_SRTP_KEY"

  /// Reads all keys.
  ///
  /// - Throws: ``SRTPError``, which never contains any of the text read.
  public func keys() throws(SRTPError) -> [SRTPKeyMaterial] { try keys(within: Self.patience) }

  /// Reads all keys, and waits at most `patience` for the writer of a pipe.
  func keys(within patience: Duration) throws(SRTPError) -> [SRTPKeyMaterial] {
    let text: SecretBytes?
    do throws(SRTPError.KeyFault) { text = try self.text(within: patience) } catch {
      throw .keySource(name, error)
    }
    guard let text else { throw .keySource(name, .empty) }
    return try unsafe text.withBytes { bytes throws(SRTPError) in
      try unsafe SRTPKeyText.keys(in: UnsafeRawBufferPointer(bytes), named: name)
    }
  }

  /// The name of the source in messages.
  private var name: String {
    switch self {
    case .file(let path): path
    case .descriptor(let number): "descriptor \(number)"
    case .environment(let variable): "the variable \(variable)"
    }
  }

  private func text(within patience: Duration) throws(SRTPError.KeyFault) -> SecretBytes? {
    switch self {
    case .file(let path):
      // Without O_NONBLOCK, open(2) would wait forever for a writer of a named pipe.
      let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      guard descriptor >= 0 else { throw .unreadable(reason: Self.reason) }
      defer { close(descriptor) }
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(reason: Self.reason) }
      switch status.st_mode & S_IFMT {
      case S_IFREG:
        guard status.st_mode & (S_IRWXG | S_IRWXO) == 0 || Secret.isCredential(path) else {
          throw .readableByOthers
        }
      // Nobody else reads the data of a pipe, whatever its mode.
      case S_IFIFO, S_IFCHR, S_IFSOCK: break
      default: throw .notAFile
      }
      return try Self.read(descriptor, within: patience)
    case .descriptor(let number):
      defer { close(number) }
      return try Self.read(number, within: patience)
    case .environment(let variable):
      guard let value = unsafe getenv(variable) else { return nil }
      let length = unsafe strlen(value)
      let text = SecretBytes(count: length)
      unsafe text.withBytes { bytes in
        for index in bytes.indices { unsafe bytes[index] = UInt8(bitPattern: value[index]) }
      }
      // This wipes the process's own memory, which /proc also shows.
      unsafe explicit_bzero(value, length)
      unsafe unsetenv(variable)
      return text
    }
  }

  /// Reads to the end, which must come within `patience`.
  private static func read(
    _ descriptor: Int32, within patience: Duration
  ) throws(SRTPError.KeyFault) -> SecretBytes {
    let buffer = SecretBytes(count: longestText + 1)
    var length = 0
    let deadline = ContinuousClock.now + patience
    while length <= longestText {
      let left = Int32(clamping: (deadline - .now).wholeNanoseconds / 1_000_000)
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&request, 1, max(left, 0))
      if ready < 0, errno == EINTR { continue }
      guard ready != 0 else {
        throw .unreadable(
          reason: "its writer did not finish within \(patience.components.seconds) s")
      }
      let count = unsafe buffer.withBytes { bytes in
        unsafe Glibc.read(descriptor, bytes.baseAddress?.advanced(by: length), bytes.count - length)
      }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count >= 0 else { throw .unreadable(reason: reason) }
      guard count > 0 else {
        let text = SecretBytes(count: length)
        unsafe text.withBytes { text in
          unsafe buffer.withBytes { unsafe text.copyMemory(from: .init(rebasing: $0[0..<length])) }
        }
        return text
      }
      length += count
    }
    throw .tooLong(limit: longestText)
  }

  private static var reason: String { unsafe String(cString: strerror(errno)) }

  /// How long the writer of a pipe may take: a person may have to type a password first.
  private static let patience = Duration.seconds(10)
  /// Bytes; enough for ``SRTPSession/maximumKeys`` lines with the longest identifiers.
  private static let longestText = 8 << 10
}
