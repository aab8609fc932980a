import BlockingIO

/// Reads what a fleet is to do, on a thread of its own: a file server that hangs may never let go
/// of whoever looks at a file, and cameras elsewhere go on meanwhile.
enum FleetReading {
  /// Less than systemd waits for a service that reads its configuration again.
  private static let patience = Duration.seconds(60)

  /// What `read` makes of the file at `path` and of what that names.
  ///
  /// - Throws: what `read` throws, and that it took longer than `patience`; what it returns then is
  ///   lost.
  static func of<Found: Sendable>(
    _ path: String, within patience: Duration = patience,
    _ read: @escaping @Sendable () throws(FleetFile.Fault) -> Found
  ) async throws(FleetFile.Fault) -> Found {
    let tool = CommandLineTool.current
    let (results, hand) = AsyncStream.makeStream(of: Result<Found, FleetFile.Fault>.self)
    do {
      _ = try WorkerThread {
        CommandLineTool.$current.withValue(tool) {
          do throws(FleetFile.Fault) {
            hand.yield(.success(try read()))
          } catch {
            hand.yield(.failure(error))
          }
        }
      }
    } catch {
      throw FleetFile.Fault(
        path: path, place: nil, words: "there is no thread to read it: \(error)")
    }
    let result = await withTaskGroup(of: Result<Found, FleetFile.Fault>?.self) { group in
      group.addTask { await results.first { _ in true } }
      group.addTask {
        try? await Task.sleep(for: patience)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    guard let result else {
      throw FleetFile.Fault(
        path: path, place: nil,
        words: "it, or a file or folder that it names, does not answer within "
          + "\(patience.components.seconds) s")
    }
    return try result.get()
  }
}
