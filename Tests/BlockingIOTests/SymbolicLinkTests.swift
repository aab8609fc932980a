import Glibc
import TestSupport
import Testing

@testable import BlockingIO

/// Links in folders that others can write to.
struct SymbolicLinkTests {
  /// As in `/tmp`.
  private static let shared: mode_t = 0o1777
  private static let root: uid_t = 0
  private static let me: uid_t = 1000
  private static let somebody: uid_t = 1001

  /// The owner of the link, that of the folder, the mode of the folder, and who wants to follow.
  @Test(arguments: [
    (somebody, root, shared, me, false), (somebody, root, shared, root, false),
    (root, me, shared, me, false), (me, root, shared, me, true), (me, somebody, shared, me, true),
    (root, root, shared, me, true), (somebody, somebody, shared, me, true),
    // Where only some may write, or whoever may write may also replace what others have there.
    (somebody, root, 0o1775, me, true), (somebody, root, 0o777, me, true),
    (somebody, root, 0o755, root, true),
  ])
  func aLinkIsFollowedAsTheKernelDoesIt(
    owner: uid_t, folderOwner: uid_t, mode: mode_t, user: uid_t, isFollowed: Bool
  ) {
    #expect(
      SymbolicLink.isFollowed(ownedBy: owner, inFolderOf: folderOwner, mode: mode, by: user)
        == isFollowed)
  }

  @Test func ownLinksAreFollowedInASharedFolder() throws {
    let folder = try TemporaryFolder()
    try #require(chmod(folder.path, Self.shared) == 0)
    try #require(symlink("b", folder("a")) == 0)
    try #require(symlink("/nowhere/c", folder("b")) == 0)
    #expect(try SymbolicLink.target(of: folder("a")) == "/nowhere/c")
    #expect(try SymbolicLink.target(of: folder("new")) == folder("new"))
  }

  @Test func aCircleLeadsNowhere() throws {
    let folder = try TemporaryFolder()
    try #require(symlink("b", folder("a")) == 0)
    try #require(symlink("a", folder("b")) == 0)
    #expect(throws: WriteFailure.cannotOpen(errno: ELOOP)) {
      try SymbolicLink.target(of: folder("a"))
    }
  }
}
