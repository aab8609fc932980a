import NIOCore

/// The two connections of a client whose RTSP is in HTTP.
extension RTSPConnection {
  /// What a connection carries.
  enum Part {
    /// RTSP, or nothing yet.
    case whole
    /// The answer to a GET; requests come by the connection of the POST, once there is one.
    case download(cookie: String, upload: RTSPConnection?)
    /// The body of a POST.
    case upload(into: RTSPConnection, Base64Reader)
  }

  /// The client sent the GET.
  func openTunnel(_ cookie: String, _ request: RTSPRequest) {
    let outcome = server.openTunnel(cookie, request, by: self)
    if outcome == .opened { part = .download(cookie: cookie, upload: nil) }
    session?.tunnelOpened(outcome)
  }

  /// The client sent the POST; what follows it is for the connection of the GET.
  func joinTunnel(_ cookie: String) {
    guard let download = server.tunnel(cookie) else {
      session?.tunnelMissing()
      return
    }
    let rest = session?.takeUnread() ?? ByteBuffer()
    session = nil
    part = .upload(into: download, Base64Reader())
    download.join(self)
    upload(rest)
  }

  /// A client that sends another POST has done with the one before.
  private func join(_ upload: RTSPConnection) {
    guard case .download(let cookie, let former) = part else { return }
    part = .download(cookie: cookie, upload: upload)
    former?.hangUp()
  }

  /// Takes the next piece of the POST's body.
  func upload(_ text: ByteBuffer) {
    guard case .upload(let download, var reader) = part else { return }
    let bytes = reader.read(text)
    part = .upload(into: download, reader)
    guard let bytes else { return download.hangUp() }
    download.receive(bytes)
  }

  /// Lets go of the other connection.
  func leaveTunnel() {
    let part = part
    self.part = .whole
    switch part {
    case .whole: break
    case .download(let cookie, let upload):
      server.closeTunnel(cookie)
      upload?.hangUp()
    case .upload(let download, _):
      if case .download(let cookie, let current) = download.part, current === self {
        download.part = .download(cookie: cookie, upload: nil)
      }
    }
  }
}
