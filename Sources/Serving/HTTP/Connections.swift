import NIOCore

/// The connections that there are; used on their event loop alone.
///
/// There are never more than a page needs. Where one more comes, the one that has been silent for
/// longest makes room for it, so that silent ones keep nobody out.
final class Connections {
  /// Many browsers: each has six at most, beside its WebSocket.
  ///
  /// With those of two hundred cameras, all stay below the 1,024 descriptors that a process usually
  /// has.
  static let most = 128

  private var count = 0
  /// Those that have asked for nothing, or have their answer; the longest silent one first.
  private var silent: [any Channel] = []

  /// Takes `channel` until it is closed; `false` if all others are in use.
  func admit(_ channel: any Channel) -> Bool {
    if count >= Self.most {
      guard let oldest = silent.first else { return false }
      silent.removeFirst()
      oldest.close(promise: nil)
    }
    count += 1
    silent.append(channel)
    return true
  }

  /// Notes that `channel` is closed.
  func leave(_ channel: any Channel) {
    count -= 1
    silent.removeAll { $0 === channel }
  }

  /// Notes that `channel` is in use, or no longer.
  func note(_ channel: any Channel, isInUse: Bool) {
    silent.removeAll { $0 === channel }
    if !isInUse { silent.append(channel) }
  }
}
