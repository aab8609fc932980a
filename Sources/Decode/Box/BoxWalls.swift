import CBox

/// What stands around a decoder's process.
struct BoxWalls: OptionSet, Sendable, Hashable {
  let rawValue: UInt32

  /// It can gain no rights (`no_new_privs`), and has limits for memory, descriptors and files.
  static let limits = BoxWalls(rawValue: 1)
  /// It can open no file (Landlock).
  static let landlock = BoxWalls(rawValue: 2)
  /// It has none of the system calls that reach beyond it (seccomp).
  static let filter = BoxWalls(rawValue: 4)
  /// It is in a network of its own, which has nothing in it, where that is allowed.
  static let namespaces = BoxWalls(rawValue: 8)

  /// Those that every kernel since 5.13 can build.
  static let all: BoxWalls = [.limits, .landlock, .filter]

  /// Which of ``all`` are missing, and why that may be, for people; `nil` if none is.
  var lack: String? {
    let names = [(.limits, "no_new_privs"), (.landlock, "Landlock"), (BoxWalls.filter, "seccomp")]
      .filter { !contains($0.0) }.map(\.1)
    guard !names.isEmpty else { return nil }
    return "there is no \(names.joined(separator: " and ")): the kernel is too old, or the system "
      + "call filter of a service or container forbids it"
  }

  init(rawValue: UInt32) { self.rawValue = rawValue }

  init(_ walls: box_walls) {
    self = []
    if unsafe walls.no_new_privileges != 0 { insert(.limits) }
    if unsafe walls.landlock != 0 { insert(.landlock) }
    if unsafe walls.filter != 0 { insert(.filter) }
    if unsafe walls.namespaces != 0 { insert(.namespaces) }
  }
}
