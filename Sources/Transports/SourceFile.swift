internal import Glibc
public import NIOCore

/// A SOURCE argument as a file name: what kind of file it is, and how it begins.
public struct SourceFile: Sendable {
  public enum Kind: Sendable, Hashable {
    /// There is no such file, or it cannot be examined.
    case missing
    case regular
    case directory
    /// A named pipe, or anything else that can be read only once from the beginning.
    case pipe
    case device
  }

  public let path: String
  public let kind: Kind
  /// The first bytes of a regular file, at most 512; empty if it cannot be read.
  public let beginning: ByteBuffer

  /// Examines the file without blocking.
  public init(_ path: String) {
    self.path = path
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      (kind, beginning) = (.missing, ByteBuffer())
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: kind = .regular
    case S_IFDIR: kind = .directory
    case S_IFIFO, S_IFSOCK: kind = .pipe
    default: kind = .device
    }
    var beginning = ByteBuffer()
    if kind == .regular {
      let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      if descriptor >= 0 {
        unsafe beginning.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.beginningLength) {
          unsafe max(0, read(descriptor, $0.baseAddress, Self.beginningLength))
        }
        close(descriptor)
      }
    }
    self.beginning = beginning
  }

  private static let beginningLength = 512
}
