import Glibc

/// News of a directory and of one file, by inotify(7).
///
/// Names of events are not kept: whoever hears of a change looks for himself, so that events that
/// are lost cost only time.
@safe final class Inotify {
  /// What happened since the last look.
  struct News: OptionSet {
    let rawValue: Int
    /// Names in the directory came or went.
    static let directory = News(rawValue: 1)
    /// The file has more, or other, bytes.
    static let file = News(rawValue: 2)
    /// Somebody who wrote to the file has closed it.
    static let closed = News(rawValue: 4)
  }

  let descriptor: Int32
  private var directoryWatch: Int32 = -1
  private var fileWatch: Int32 = -1
  private var buffer = [UInt8](repeating: 0, count: 16 << 10)

  init?() {
    descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  func watch(directory path: String) {
    let mask = UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_ONLYDIR)
    directoryWatch = unsafe inotify_add_watch(descriptor, path, mask)
  }

  /// Watches an open file, whatever becomes of its name.
  func watch(file: Int32) {
    if fileWatch >= 0 { inotify_rm_watch(descriptor, fileWatch) }
    fileWatch = unsafe inotify_add_watch(
      descriptor, "/proc/self/fd/\(file)", UInt32(IN_MODIFY) | UInt32(IN_CLOSE_WRITE))
  }

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
        if watch == directoryWatch { news.insert(.directory) }
        if watch == fileWatch {
          news.insert(.file)
          if mask & UInt32(IN_CLOSE_WRITE) != 0 { news.insert(.closed) }
        }
        place += header + Int(word(12))
      }
    }
  }
}
