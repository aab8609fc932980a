import Glibc

/// How many files and sockets this process may have open.
enum DescriptorLimit {
  /// Raises it as far as the system lets everybody: each client of a server has a socket, and each
  /// one that watches a film has it open; behind a proxy, a track has four.
  static func raise() {
    let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard unsafe getrlimit(descriptors, &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(descriptors, &limit)
  }
}
