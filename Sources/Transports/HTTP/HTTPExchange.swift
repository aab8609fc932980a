internal import NIOCore

/// Posts one message and takes the answer, on its event loop.
///
/// Its transfer keeps it alive until the end, which the owner's deadline brings at the latest.
final class HTTPExchange {
  private let eventLoop: any EventLoop
  private let promise: EventLoopPromise<HTTPReply>
  private var transfer: HTTPTransfer?
  private var body = ByteBuffer()
  private var isOver = false

  init(on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
    promise = eventLoop.makePromise()
  }

  /// Posts the message of `request`; the future fails with ``HTTPError``, ``TLSError`` or
  /// ``TransportError`` if there is no answer.
  func start(_ request: HTTPTransfer.Request) -> EventLoopFuture<HTTPReply> {
    connect(with: request)
    return promise.futureResult
  }

  /// Gives up; the future fails with `error`.
  func cancel(because error: any Error) { end(.failure(error)) }

  private func connect(with request: HTTPTransfer.Request) {
    do {
      let exchange = NIOLoopBound(self, eventLoop: eventLoop)
      let transfer = try HTTPTransfer(request) { [eventLoop] event in
        eventLoop.execute { exchange.value.take(event) }
      }
      self.transfer = transfer
      try HTTPTransfers.shared.start(transfer)
    } catch {
      end(.failure(error))
    }
  }

  private func take(_ event: HTTPTransfer.Event) {
    guard !isOver else { return }
    switch event {
    case .connected, .answered: break
    case .body(var bytes, _): body.writeBuffer(&bytes)
    case .ended(let end): finish(end)
    }
  }

  private func finish(_ end: HTTPTransferEnd) {
    var reply = HTTPReply(
      status: end.status, body: Array(body.readableBytesView), offersDigest: end.offers.digest,
      offersBasic: end.offers.basic)
    switch end.outcome {
    case .complete: self.end(.success(reply))
    case .redirected(let location):
      reply.location = location
      self.end(.success(reply))
    case .failed(let error):
      if case TLSError.untrusted(_, nil) = error, let request = transfer?.request.asInspection {
        connect(with: request)
      } else {
        self.end(.failure(error))
      }
    }
  }

  private func end(_ result: Result<HTTPReply, any Error>) {
    guard !isOver else { return }
    isOver = true
    if let transfer { HTTPTransfers.shared.cancel(transfer) }
    transfer = nil
    promise.completeWith(result)
  }
}
