import Foundation
import TestSupport
import Testing

/// `rtp-send … rtsp://…` as a process, and clients that want all that it has.
@Suite(.serialized)
struct RTSPSendHostilityTests {
  /// Clients that take all descriptors that there are, and leave, several times.
  ///
  /// In the end one comes by another address of the machine when a single descriptor is left.
  private static let crowd = """
    import os, socket, sys, time
    port, pid, most = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    def used(): return len(os.listdir(f"/proc/{pid}/fd"))
    def until(what, condition):
        for _ in range(6000):
            if condition(): return
            time.sleep(0.01)
        sys.exit(f"never: {what}; {used()} descriptors")
    def client(play, host="127.0.0.1"):
        connection = socket.create_connection((host, port), 60)
        url = f"rtsp://{host}:{port}/film"
        request = f"SETUP {url} RTSP/1.0\\r\\nCSeq: 1\\r\\nTransport: RTP/AVP/TCP\\r\\n\\r\\n"
        if play: request += f"PLAY {url} RTSP/1.0\\r\\nCSeq: 2\\r\\n\\r\\n"
        connection.sendall(request.encode())
        return connection
    def leave(clients):
        for one in clients: one.close()
        until("they have left", lambda: used() <= before)
    before = used() + 2
    for _ in range(5):
        clients = [client(True) for _ in range(most)]
        until("there are no descriptors left", lambda: used() >= most - 1)
        leave(clients)
    clients = []
    while used() < most - 1:
        clients.append(client(False))
        clients[-1].recv(1000)
    last = client(False, "127.0.0.2")
    assert b"200 OK" in last.recv(1000)
    leave(clients + [last])
    print("done")
    """

  /// A client that asks for a description that is long in coming, and says more and more.
  private static let talker = """
    import socket, sys
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
    connection.sendall(b"DESCRIBE rtsp://h/x RTSP/1.0\\r\\nCSeq: 1\\r\\n\\r\\n")
    connection.settimeout(1)
    most, sent = 64 << 20, 0
    try:
        while sent < most: sent += connection.send(b"\\r\\n" * 32768)
    except socket.timeout: pass
    print(sent < most)
    """

  @Test("what comes behind a request that waits stays with its sender")
  func talkerAwaits() throws {
    let server = try RTSPSendTests.Server([(try Scratch.path("h264"), "x")], ["--follow"])
    let port = server.address.split(separator: ":").last.map(String.init) ?? ""
    let talker = try RunningProcess("/usr/bin/python3", ["-c", Self.talker, port])
    #expect(try talker.waitForExit() == 0, "\(talker.standardError)")
    #expect(String(decoding: talker.standardOutput, as: UTF8.self) == "True\n")
    _ = try server.stop()
  }

  @Test("descriptors that run out are there again, and whoever watches goes on watching")
  func descriptors() throws {
    let clip = try Clip.h264.get()
    let most = 64
    let server = try RTSPSendTests.Server(
      [(clip.container, "film"), ("pattern", "live")],
      ["--size", "320x240", "--bitrate", "500k"], host: "0.0.0.0", descriptors: most)
    let port = server.address.split(separator: ":").last.map(String.init) ?? ""
    let output = try Scratch.path("h264")
    let viewer = try RunningProcess(
      Product.rtpRecv,
      ["rtsp://127.0.0.1:\(port)/live", "--rtsp-transport", "tcp", "--stats", "-", "-o", output])
    _ = try viewer.waitForLine(#/"frames":/#)
    let crowd = try RunningProcess(
      "/usr/bin/python3",
      ["-c", Self.crowd, port, "\(server.process.processIdentifier)", "\(most)"])
    #expect(try crowd.waitForExit(within: 300) == 0, "\(crowd.standardError)")
    viewer.send(signal: SIGINT)
    #expect(try viewer.waitForExit() == 0, "\(viewer.standardError)")
    #expect(try Statistics(lastLineOf: viewer)["rtp", "lost"] == 0)
    // By an address whose ports could not be opened when somebody came by it first.
    let film = try Scratch.path("y4m")
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtsp://127.0.0.2:\(port)/film", "--rtsp-transport", "udp", "-o", film])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try FFmpeg.frameHashes(of: film) == clip.hashes)
    _ = try server.stop()
  }
}
