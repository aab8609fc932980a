import CNATS

/// What the buckets of a connection are reached with: they are opened anew whenever it is made
/// again, and share this.
///
/// One thread uses it.
final class BucketAccess {
  let context: JetStreamContext
  /// The edits that are under way, of whichever bucket.
  let pending = PendingEdits()
  private let handle: CallbackHandle<PendingEdits>

  /// - Throws: why libnats gives none.
  init(_ link: NATSLink) throws(JetStreamError) {
    let handle = CallbackHandle(pending)
    self.handle = handle
    context = unsafe try JetStreamContext(
      link, onAcknowledgement: PendingEdits.acknowledged, context: handle.context)
  }
}
