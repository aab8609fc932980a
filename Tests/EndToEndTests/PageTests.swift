import Foundation
import TestSupport
import Testing

/// The live page, in a browser.
@Suite(.serialized)
struct PageTests {
  /// The numbers in the pictures of a camera, which are read from what the page shows.
  private static let reading = """
    window.numberIn = (name) => {
      const tile = [...document.querySelectorAll('.tile')].find((tile) => tile.dataset.name === name);
      const frame = document.querySelector('#stage .frame') ?? tile?.querySelector('.frame');
      const source = frame?.querySelector('canvas, video');
      const width = source?.videoWidth || source?.width || 0;
      if (width < 256) return null;
      const canvas = new OffscreenCanvas(width, 32);
      const context = canvas.getContext('2d', { willReadFrequently: true });
      context.drawImage(source, 0, 0);
      const size = Math.floor(width / 32);
      let bits = 0n;
      for (let block = 0; block < 32; block += 1) {
        const { data } = context.getImageData(block * size + size / 2, Math.floor(size / 2), 1, 1);
        bits = bits << 1n | (data[1] > 127 ? 1n : 0n);
      }
      if (bits >> 28n !== 10n) return null;
      const number = bits >> 4n & 0xFFFFFFn;
      let check = 0n;
      for (let nibble = 0n; nibble < 24n; nibble += 4n) check ^= number >> nibble & 15n;
      return check === (bits & 15n) ? Number(number) : null;
    };
    true
    """

  /// Waits until the pictures of a camera have moved on by ten.
  private static func expectMoving(_ name: String, in browser: Browser) throws {
    try browser.wait(until: "numberIn('\(name)') !== null")
    let number = try browser.evaluate("numberIn('\(name)')", as: Int.self)
    try browser.wait(until: "numberIn('\(name)') >= \(number + 10)")
  }

  private static func address(of process: RunningProcess) throws -> String {
    String(try process.waitForLine(#/the page is at (http:\S+)/#).1)
  }

  private static func fleet(_ cameras: [(name: String, source: String)]) throws -> RunningProcess {
    let path = try Scratch.path("yaml")
    let lines = cameras.map { "  \($0.name): {source: '\($0.source)'}" }
    try ("serve: 127.0.0.1:0\ncameras:\n" + lines.joined(separator: "\n"))
      .write(toFile: path, atomically: true, encoding: .utf8)
    return try RunningProcess(Product.rtpRecv, ["fleet", path])
  }

  @Test("sixteen cameras as tiles, one in full, and a snapshot of it")
  func sixteen() throws {
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    let cameras = (1...16).map { (name: "camera-\($0)", source: server.url("a")) }
    let fleet = try Self.fleet(cameras)
    defer { fleet.send(signal: SIGKILL) }
    let browser = try Browser()
    try browser.resize(1600, 1000)
    try browser.open(Self.address(of: fleet))
    _ = try browser.evaluate(Self.reading, as: Bool.self)
    try browser.wait(until: "document.querySelectorAll('.tile.up').length === 16")
    for (name, _) in [cameras[0], cameras[7]] { try Self.expectMoving(name, in: browser) }

    // Chrome before 110 and Safari before 16 have none.
    _ = try browser.evaluate("delete Array.prototype.toReversed", as: Bool.self)
    _ = try browser.evaluate("location.hash = 'camera-3'; true", as: Bool.self)
    try Self.expectMoving("camera-3", in: browser)
    try browser.wait(until: "document.querySelector('#facts').textContent.includes('WebCodecs')")
    try browser.wait(until: "document.querySelector('#events li')")
    try browser.wait(until: "document.querySelectorAll('#sets details').length === 2")
    let isJPEG = """
      fetch('cameras/camera-3/snapshot.jpg').then(async (response) => {
        const bytes = new Uint8Array(await response.arrayBuffer());
        return response.status === 200 && bytes[0] === 0xFF && bytes[1] === 0xD8
          && Number(response.headers.get('X-Picture-Age')) < 60;
      })
      """
    #expect(try browser.evaluate(isJPEG, as: Bool.self))
    let tooOld = "fetch('cameras/camera-3/snapshot.jpg?max-age=0').then(({ status }) => status)"
    #expect(try browser.evaluate(tooOld, as: Int.self) == 503)
    #expect(!browser.log.contains("exception"), "\(browser.log)")
  }

  @Test func aSnapshotIsNotOlderThanWasAskedFor() throws {
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url("a"), "--serve", "127.0.0.1:0"])
    defer { receiver.send(signal: SIGKILL) }
    let snapshot = try Self.address(of: receiver) + "cameras/camera/snapshot.jpg"
    // Less than decoding takes, and more than passes before it for some of them.
    let script = """
      until curl -sfo /dev/null '\(snapshot)'; do sleep 0.1; done
      for number in {1..30}; do
        curl -so /dev/null -w '%{http_code} %header{x-picture-age}\\n' '\(snapshot)?max-age=0.02'
      done
      """
    let asked = try RunningProcess("bash", ["-c", script])
    #expect(try asked.waitForExit(within: 60) == 0)
    let answers = String(decoding: asked.standardOutput, as: UTF8.self).split(separator: "\n")
    #expect(answers.count == 30)
    for answer in answers {
      let parts = answer.split(separator: " ")
      let isYoung = parts.count == 2 && parts[0] == "200" && Double(parts[1]) ?? 1 <= 0.02
      #expect(isYoung || parts == ["503"], "\(answer)")
    }
  }

  @Test(
    "where WebCodecs is not to be had, other ways show the pictures", arguments: ["mse", "jpeg"])
  func fallback(way: String) throws {
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url("a"), "--serve", "127.0.0.1:0"])
    defer { receiver.send(signal: SIGKILL) }
    let browser = try Browser()
    try browser.open(Self.address(of: receiver) + "?player=\(way)#camera")
    _ = try browser.evaluate(Self.reading, as: Bool.self)
    try Self.expectMoving("camera", in: browser)
    try browser.wait(
      until: "document.querySelector('#facts').textContent.includes('\(way.uppercased())')")
    #expect(!browser.log.contains("exception"), "\(browser.log)")
  }

  @Test("decoders that take everything and show nothing are given up")
  func silentDecoders() throws {
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url("a"), "--serve", "127.0.0.1:0"])
    defer { receiver.send(signal: SIGKILL) }
    let browser = try Browser()
    try browser.open(Self.address(of: receiver) + "#camera")
    _ = try browser.evaluate(Self.reading, as: Bool.self)
    try Self.expectMoving("camera", in: browser)
    let silencing = """
      (() => {
        VideoDecoder.prototype.decode = () => {};
        SourceBuffer.prototype.appendBuffer = () => {};
        return true;
      })()
      """
    _ = try browser.evaluate(silencing, as: Bool.self)
    try browser.wait(until: "document.querySelector('#facts').textContent.includes('JPEG')")
    try Self.expectMoving("camera", in: browser)
    #expect(!browser.log.contains("exception"), "\(browser.log)")
  }

  @Test(
    "behind nginx, pictures come if all is passed on that is needed, and the page says what is not",
    arguments: [
      (["Host $http_host", "Upgrade $http_upgrade", "Connection upgrade"], true),
      (["Host $host", "Upgrade $http_upgrade", "Connection upgrade"], false),
      (["Host $http_host"], false),
    ] as [([String], Bool)])
  func behindNginx(headers: [String], isEnough: Bool) throws {
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url("a"), "--serve", "127.0.0.1:0"])
    defer { receiver.send(signal: SIGKILL) }
    let page = String(try Self.address(of: receiver).dropLast())
    let proxy = try NginxProxy(for: page, settings: headers.map { "proxy_set_header \($0);" })
    defer { proxy.process.send(signal: SIGKILL) }
    let browser = try Browser()
    try browser.open(proxy.url("#camera"))
    guard isEnough else {
      let words = "no WebSocket comes through; a proxy has to pass on"
      try browser.wait(until: "document.querySelector('#link').textContent.includes('\(words)')")
      return
    }
    _ = try browser.evaluate(Self.reading, as: Bool.self)
    try Self.expectMoving("camera", in: browser)
  }

  @Test("sound comes once it is wanted, and no longer", arguments: ["pcma", "opus"])
  func sound(codec: String) throws {
    let server = try RTSPSendTests.Server(
      [("pattern", "a")], ["--audio", codec] + RTSPSendTests.small)
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url("a"), "--serve", "127.0.0.1:0"])
    defer { receiver.send(signal: SIGKILL) }
    let browser = try Browser()
    try browser.open(Self.address(of: receiver) + "#camera")
    let noting = """
      (() => {
        window.heard = 0;
        window.planned = [];
        const start = AudioBufferSourceNode.prototype.start;
        AudioBufferSourceNode.prototype.start = function (time) {
          if (this.buffer.getChannelData(0).some((sample) => Math.abs(sample) > 0.1)) heard += 1;
          planned.push({ from: time, to: time + this.buffer.duration });
          return start.call(this, time);
        };
        return true;
      })()
      """
    _ = try browser.evaluate(noting, as: Bool.self)
    let button = "document.querySelector('#sound')"
    try browser.wait(until: "!\(button).disabled")
    #expect(try browser.evaluate("heard", as: Int.self) == 0)
    _ = try browser.evaluate("\(button).click(), true", as: Bool.self)
    try browser.wait(until: "heard > 2")
    // What waits while the page is busy comes at once, and is not heard in layers.
    let stall = """
      (() => {
        const end = performance.now() + 1500;
        while (performance.now() < end) {}
        return planned.length;
      })()
      """
    let before = try browser.evaluate(stall, as: Int.self)
    try browser.wait(until: "planned.length > \(before + 30)")
    let isInOrder = "planned.every(({ from }, i) => i === 0 || from > planned[i - 1].to - 1e-6)"
    #expect(try browser.evaluate(isInOrder, as: Bool.self))
    _ = try browser.evaluate("\(button).click(), true", as: Bool.self)
    try browser.wait(until: "\(button).getAttribute('aria-pressed') === 'false'")
    #expect(!browser.log.contains("exception"), "\(browser.log)")
  }

  @Test("sound that the browser cannot decode any more is said, and no longer asked for")
  func lostSound() throws {
    let server = try RTSPSendTests.Server(
      [("pattern", "a")], ["--audio", "opus"] + RTSPSendTests.small)
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url("a"), "--serve", "127.0.0.1:0"])
    defer { receiver.send(signal: SIGKILL) }
    let browser = try Browser()
    try browser.open(Self.address(of: receiver) + "#camera")
    let failing = """
      (() => {
        window.AudioDecoder = class extends AudioDecoder {
          constructor(callbacks) {
            super(callbacks);
            this.fail = callbacks.error;
          }
          decode() {
            this.close();
            this.fail(new DOMException('it gives up'));
          }
        };
        return true;
      })()
      """
    _ = try browser.evaluate(failing, as: Bool.self)
    let button = "document.querySelector('#sound')"
    try browser.wait(until: "!\(button).disabled")
    _ = try browser.evaluate("\(button).click(), true", as: Bool.self)
    try browser.wait(until: "document.querySelector('#notice').textContent.includes('it gives up')")
    #expect(
      try browser.evaluate("\(button).getAttribute('aria-pressed')", as: String.self) == "false")
    #expect(!browser.log.contains("exception"), "\(browser.log)")
  }

  @Test("who is not on this machine needs the token") func token() throws {
    let receiver = try RunningProcess(
      Product.rtpRecv, ["rtp://127.0.0.1:0", "--serve", "0.0.0.0:0"])
    defer { receiver.send(signal: SIGKILL) }
    let url = try receiver.waitForLine(
      #/the page is at http:\/\/[^:]+:(\d+)\/\?token=([0-9a-f]{32})/#)
    let (address, token) = ("http://127.0.0.1:\(url.1)/", String(url.2))
    func status(_ arguments: [String]) throws -> String {
      let curl = try RunningProcess(
        "curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}"] + arguments)
      try curl.waitForExit()
      return String(decoding: curl.standardOutput, as: UTF8.self)
    }
    #expect(try status([address]) == "401")
    #expect(try status([address + "icon.svg"]) == "401")
    #expect(try status([address + "?token=" + String(repeating: "0", count: 32)]) == "401")
    #expect(try status([address + "?token=" + token]) == "303")
    let jar = try Scratch.path("cookies")
    #expect(try status(["-L", "-c", jar, "-b", jar, address + "?token=" + token]) == "200")
    #expect(try status(["-b", jar, address + "icon.svg"]) == "200")
    #expect(try status(["-H", "Authorization: Bearer \(token)", address]) == "200")
  }

  @Test("a token that is chosen is that of each run, and one that can be guessed is refused")
  func chosenToken() throws {
    func receiver(_ token: String) throws -> RunningProcess {
      try RunningProcess(
        Product.rtpRecv, ["rtp://127.0.0.1:0", "--serve", "0.0.0.0:0"],
        environment: ["RTP_RECV_PAGE_TOKEN": token])
    }
    let chosen = try receiver("one-that-stays_123")
    defer { chosen.send(signal: SIGKILL) }
    _ = try chosen.waitForLine(#/the page is at .*\?token=one-that-stays_123/#)
    for token in ["short", "sixteen letters.", String(repeating: "x", count: 129)] {
      let refused = try receiver(token)
      #expect(try refused.waitForExit() == 64)
      #expect(refused.standardError.contains("RTP_RECV_PAGE_TOKEN must be"))
      #expect(!refused.standardError.contains(token))
    }
  }

  @Test("a camera that dies is shown as dead, and its pictures come back with it")
  func death() throws {
    let port = try FreePort.tcp()
    func serve() throws -> RunningProcess {
      try RunningProcess(
        Product.rtpSend, ["pattern", "rtsp://127.0.0.1:\(port)/a"] + RTSPSendTests.small)
    }
    var camera = try serve()
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["rtsp://127.0.0.1:\(port)/a", "--reconnect", "--serve", "127.0.0.1:0", "--quiet"])
    defer { receiver.send(signal: SIGKILL) }
    let browser = try Browser()
    try browser.open(Self.address(of: receiver))
    _ = try browser.evaluate(Self.reading, as: Bool.self)
    try Self.expectMoving("camera", in: browser)
    // The only camera is shown in full.
    #expect(try browser.evaluate("location.hash", as: String.self) == "#camera")
    camera.send(signal: SIGKILL)
    try browser.wait(until: "document.querySelector('#stage.down .words')?.textContent")
    camera = try serve()
    try browser.wait(until: "!document.querySelector('#stage.down')")
    try Self.expectMoving("camera", in: browser)
    #expect(!browser.log.contains("exception"), "\(browser.log)")
    camera.send(signal: SIGKILL)
  }

  @Test("what is no picture but words stays words, and other sites get nothing")
  func injection() throws {
    let source = "rtsp://127.0.0.1:1/<img src=x onerror=hacked=1>"
    let fleet = try Self.fleet([("a", source)])
    defer { fleet.send(signal: SIGKILL) }
    let address = try Self.address(of: fleet)
    let browser = try Browser()
    try browser.open(address + "#a")
    try browser.wait(until: "document.querySelector('#full-source').textContent.includes('<img')")
    #expect(try browser.evaluate("typeof hacked", as: String.self) == "undefined")
    #expect(try browser.evaluate("document.images.length", as: Int.self) == 0)

    // A page of another name on the same machine, as after DNS rebinding.
    let port = try #require(URL(string: address)?.port)
    try browser.open("http://evil.example:\(port)/")
    #expect(try browser.evaluate("document.querySelector('#tiles') === null", as: Bool.self))
    let site = try RunningProcess(
      "python3", ["-u", "-m", "http.server", "--bind", "127.0.0.1", "0"])
    defer { site.send(signal: SIGKILL) }
    let other = try site.waitForLine(#/http:\/\/127\.0\.0\.1:\d+\//#).output
    try browser.open(String(other))
    let attempts = """
      Promise.all([
        fetch('\(address)').then(() => 'read', () => 'refused'),
        new Promise((done) => {
          const socket = new WebSocket('ws://127.0.0.1:\(port)/live');
          socket.onopen = () => done('open');
          socket.onerror = () => done('refused');
        }),
        new Promise((done) => {
          const image = new Image();
          image.onload = () => done('shown');
          image.onerror = () => done('refused');
          image.src = '\(address)icon.svg';
        }),
      ]).then((results) => results.join())
      """
    #expect(try browser.evaluate(attempts, as: String.self) == "refused,refused,refused")
  }
}
