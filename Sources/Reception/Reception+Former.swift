extension Reception {
  /// The tracks of a previous connection, and what was known of them.
  struct Former: Sendable {
    let video: VideoStream
    let others: [Track]
    let status: StreamStatus

    /// What `former` leaves; where nothing came on its connection, what it had from the one before.
    init(of former: Reception) {
      video = former.video
      status = former.status
      others = former.remembered?.others ?? former.others
    }
  }
}
