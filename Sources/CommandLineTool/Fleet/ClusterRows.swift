/// What the cluster says of each camera that is received here.
struct ClusterRows: Sendable {
  /// By the cameras' names.
  private var rows: [String: String] = [:]
  /// Why cameras could not begin, by their names.
  private var failures: [String: RepeatedFailure] = [:]

  /// Whether this is what the cluster says of the camera `name` now.
  func has(_ row: String, of name: String) -> Bool { rows[name] == row }

  /// Notes that the camera `name` is received here.
  mutating func take(_ name: String, as row: String) { rows[name] = row }

  /// Notes that the camera `name` is left to other machines.
  mutating func leave(_ name: String) {
    rows[name] = nil
    failures[name] = nil
  }

  /// Notes that the camera `name` could begin.
  mutating func began(_ name: String) { failures[name] = nil }

  /// What to tell of the camera `name`, which could not begin because of `reason`; `nil` where that
  /// was told before.
  mutating func words(
    on reason: String, of name: String, at now: ContinuousClock.Instant
  ) -> String? {
    failures[name, default: RepeatedFailure()].words(on: reason, at: now)
  }

  /// The cameras by the files that they read now: what the cluster says of one stays the same when
  /// its password changes.
  func cameras(
    isShown: Bool
  ) async throws(FleetFile.Fault) -> [(row: String, camera: FleetPlan.Camera)] {
    let rows = rows
    return try await FleetReading.of("the cameras of the cluster") {
      rows.compactMap { name, row in
        (try? FleetCluster.camera(name, row, isShown: isShown)).map { (row, $0) }
      }
    }
  }
}
