internal import Glibc

/// Memory for a secret: kept out of swap and core dumps as far as the system allows, and wiped when
/// it is released.
///
/// It occupies whole pages, so that locking and releasing them affects nothing else.
@safe final class SecretBytes {
  let count: Int
  private let pages: UnsafeMutableRawBufferPointer

  /// Allocates `count` zero bytes.
  init(count: Int) {
    self.count = count
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let wanted = (max(count, 1) + page - 1) / page * page
    unsafe pages = .allocate(byteCount: wanted, alignment: page)
    unsafe pages.initializeMemory(as: UInt8.self, repeating: 0)
    guard let base = unsafe pages.baseAddress else { return }
    // Both may fail without harm: many systems allow only little locked memory.
    _ = unsafe mlock(base, pages.count)
    _ = unsafe madvise(base, pages.count, MADV_DONTDUMP)
  }

  deinit {
    if let base = unsafe pages.baseAddress {
      unsafe explicit_bzero(base, pages.count)
      _ = unsafe munlock(base, pages.count)
      _ = unsafe madvise(base, pages.count, MADV_DODUMP)
    }
    unsafe pages.deallocate()
  }

  /// Gives `body` access to the bytes while it runs.
  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe body(UnsafeMutableRawBufferPointer(rebasing: pages[0..<count]))
  }
}
