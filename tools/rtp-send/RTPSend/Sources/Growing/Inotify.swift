import Glibc

/// News of a directory and of one file, by inotify(7).
///
/// Events are not kept: whoever hears of a change looks for himself, so that events that are lost
/// cost only time.
@safe final class Inotify {
  /// What happened since the last look.
  struct News: OptionSet {
    let rawValue: Int
    /// One of the names came into the directory.
    static let directory = News(rawValue: 1)
    /// The file has more, or other, bytes.
    static let file = News(rawValue: 2)
    /// Somebody who wrote to the file has closed it, and nobody has written since.
    static let closed = News(rawValue: 4)
  }

  let descriptor: Int32
  private var names: FileNames?
  private var directoryWatch: Int32 = -1
  private var fileWatch: Int32 = -1
  /// Of the names, those whose writer has closed them since they came.
  private var closedNames: Set<String> = []
  private static let mostClosedNames = 4096
  private var buffer = [UInt8](repeating: 0, count: 16 << 10)

  init?() {
    descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  /// Watches the directory of `names`.
  func watch(_ names: FileNames) {
    self.names = names
    let mask = UInt32(
      Int32(IN_CREATE) | Int32(IN_MOVED_TO) | Int32(IN_CLOSE_WRITE) | Int32(IN_ONLYDIR))
    directoryWatch = unsafe inotify_add_watch(descriptor, names.directory, mask)
  }

  /// Watches an open file, whatever becomes of its name.
  func watch(file: Int32) {
    if fileWatch >= 0 { inotify_rm_watch(descriptor, fileWatch) }
    fileWatch = unsafe inotify_add_watch(
      descriptor, "/proc/self/fd/\(file)", UInt32(IN_MODIFY) | UInt32(IN_CLOSE_WRITE))
  }

  /// Whether a file was closed before anybody watched it; it is told once.
  func takeClosed(_ name: String) -> Bool { closedNames.remove(name) != nil }

  /// Takes what has happened.
  func take() -> News {
    var news: News = []
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return news }
      var place = 0
      let header = 16
      while place + header <= count {
        func word(_ offset: Int) -> UInt32 {
          (0..<4).reduce(0) { $0 | UInt32(buffer[place + offset + $1]) << UInt32(8 * $1) }
        }
        let (watch, mask) = (Int32(bitPattern: word(0)), word(4))
        if mask & UInt32(IN_Q_OVERFLOW) != 0 { news.formUnion([.directory, .file]) }
        let end = min(count, place + header + Int(word(12)))
        if watch == directoryWatch {
          // The name is filled up with zeros.
          let name = buffer[(place + header)..<end].prefix { $0 != 0 }
          if note(String(decoding: name, as: UTF8.self), mask) { news.insert(.directory) }
        }
        if watch == fileWatch {
          news.insert(.file)
          // What is written after a close is written by somebody else.
          if mask & UInt32(IN_CLOSE_WRITE) != 0 {
            news.insert(.closed)
          } else {
            news.remove(.closed)
          }
        }
        place = end
      }
    }
  }

  /// Returns whether one of the names has come.
  private func note(_ name: String, _ mask: UInt32) -> Bool {
    guard names?.matches(name) ?? true else { return false }
    if mask & UInt32(IN_CLOSE_WRITE) != 0 {
      if closedNames.count >= Self.mostClosedNames { closedNames.removeAll() }
      closedNames.insert(name)
      return false
    }
    closedNames.remove(name)
    return true
  }
}
