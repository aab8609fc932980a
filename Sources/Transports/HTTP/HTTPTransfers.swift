internal import CCurl
internal import NIOPosix
internal import Synchronization

/// The one thread on which libcurl runs all transfers of this process; it exists only while there
/// are any.
final class HTTPTransfers: Sendable {
  static let shared = HTTPTransfers()

  private enum Order: Sendable {
    case start(HTTPTransfer)
    /// Abandon a transfer without telling it of its end.
    case cancel(HTTPTransfer)
    /// Continue a paused transfer.
    case resume(HTTPTransfer)
  }

  private struct State: Sendable {
    var orders: [Order] = []
    /// libcurl's handle for all transfers together, while the thread runs.
    var multi: Multi?
  }

  /// A handle that any thread may wake (`curl_multi_wakeup`); only one thread does anything else.
  @safe private struct Multi: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer
  }

  private let state = Mutex(State())

  /// The longest sleep of the thread in milliseconds: libcurl has its own timers, and orders wake
  /// it.
  private static let longestSleep: Int32 = 600_000

  /// - Throws: ``HTTPError/failed(reason:)`` when libcurl has no memory.
  func start(_ transfer: HTTPTransfer) throws(HTTPError) { try order(.start(transfer)) }

  func cancel(_ transfer: HTTPTransfer) { try? order(.cancel(transfer)) }

  func resume(_ transfer: HTTPTransfer) { try? order(.resume(transfer)) }

  private func order(_ order: Order) throws(HTTPError) {
    let isRunning = state.withLock { state in
      state.orders.append(order)
      // This must happen under the lock, because the thread removes the handle under it.
      if let multi = state.multi { unsafe curl_multi_wakeup(multi.handle) }
      return state.multi != nil
    }
    if !isRunning { try run() }
  }

  /// Starts the thread, unless another caller just did.
  private func run() throws(HTTPError) {
    guard let handle = unsafe curl_multi_init() else { throw .failed(reason: "no memory") }
    // Streams of one server do not share a connection of HTTP/2: one that waits would hold up the
    // others, and only the first would know the server's certificate.
    unsafe ccurl_keep_apart(handle)
    let multi = unsafe Multi(handle: handle)
    let isFirst = state.withLock { state in
      if state.multi == nil {
        state.multi = multi
        return true
      }
      return false
    }
    guard isFirst else {
      unsafe curl_multi_cleanup(handle)
      return
    }
    let thread = NIOThreadPool(numberOfThreads: 1)
    thread.start()
    thread.submit { [self] _ in
      work(with: multi)
      thread.shutdownGracefully { _ in }
    }
  }

  // MARK: - On the thread

  private func work(with multi: Multi) {
    var transfers: [ObjectIdentifier: HTTPTransfer] = [:]
    while let orders = nextOrders(isIdle: transfers.isEmpty) {
      for order in orders { carryOut(order, &transfers, multi) }
      var running: Int32 = 0
      var code = unsafe curl_multi_perform(multi.handle, &running)
      for transfer in transfers.values { transfer.flush() }
      finish(&transfers, multi)
      guard !transfers.isEmpty else { continue }
      if code == CURLM_OK {
        code = unsafe curl_multi_poll(multi.handle, nil, 0, Self.longestSleep, nil)
      }
      guard code != CURLM_OK else { continue }
      // Another attempt would fail again at once.
      for transfer in transfers.values { remove(transfer, multi, failure: code) }
      transfers.removeAll()
    }
    unsafe curl_multi_cleanup(multi.handle)
  }

  /// The next orders; `nil` when the thread must end.
  private func nextOrders(isIdle: Bool) -> [Order]? {
    state.withLock { state in
      if isIdle, state.orders.isEmpty {
        state.multi = nil
        return nil
      }
      defer { state.orders = [] }
      return state.orders
    }
  }

  private func carryOut(
    _ order: Order, _ transfers: inout [ObjectIdentifier: HTTPTransfer], _ multi: Multi
  ) {
    switch order {
    case .start(let transfer):
      let code = unsafe curl_multi_add_handle(multi.handle, transfer.handle)
      guard code == CURLM_OK else { return transfer.fail(Self.error(code)) }
      transfers[ObjectIdentifier(transfer)] = transfer
    case .cancel(let transfer):
      guard transfers.removeValue(forKey: ObjectIdentifier(transfer)) != nil else { return }
      unsafe curl_multi_remove_handle(multi.handle, transfer.handle)
    case .resume(let transfer):
      guard transfers[ObjectIdentifier(transfer)] != nil else { return }
      let code = unsafe curl_easy_pause(transfer.handle, CURLPAUSE_CONT)
      guard code != CURLE_OK else { return }
      transfers.removeValue(forKey: ObjectIdentifier(transfer))
      transfer.finish(code)
      unsafe curl_multi_remove_handle(multi.handle, transfer.handle)
    }
  }

  private func remove(_ transfer: HTTPTransfer, _ multi: Multi, failure: CURLMcode) {
    transfer.fail(Self.error(failure))
    unsafe curl_multi_remove_handle(multi.handle, transfer.handle)
  }

  private static func error(_ code: CURLMcode) -> HTTPError {
    .failed(reason: unsafe String(cString: curl_multi_strerror(code)))
  }

  /// Reports and removes the transfers that are over.
  private func finish(
    _ transfers: inout [ObjectIdentifier: HTTPTransfer], _ multi: Multi
  ) {
    var left: Int32 = 0
    while let message = unsafe curl_multi_info_read(multi.handle, &left) {
      guard unsafe message.pointee.msg == CURLMSG_DONE,
        let transfer = unsafe HTTPTransfer.behind(message.pointee.easy_handle)
      else { continue }
      let code = unsafe ccurl_result(message)
      transfers.removeValue(forKey: ObjectIdentifier(transfer))
      transfer.finish(code)
      unsafe curl_multi_remove_handle(multi.handle, transfer.handle)
    }
  }
}
