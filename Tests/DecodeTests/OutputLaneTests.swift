import Bitstream
import BlockingIO
import Decode
import Defragment
import Foundation
import Glibc
import NIOCore
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Outputs

@Suite struct OutputLaneTests {
  private static let clip = Clip(name: "plain", encoder: ["-tune", "zerolatency"])

  private func balance(_ counters: OutputCounters) -> Bool {
    counters.offered
      == counters.written + counters.dropped + counters.skipped + counters.discarded
  }

  @Test("a pipe gets every frame, however slowly it is read")
  func slowReader() async throws {
    let frames = try await Self.clip.decodedFrames()
    let pipe = PipeReader()
    pipe.start(delay: 1000)
    let lane = try lane(.descriptor(pipe.writeEnd), "yuv")
    for frame in frames { lane.write(frame) }
    let summary = await lane.finishWhenRead()
    #expect(summary.error == nil)
    #expect(try await pipe.all() == packed(frames))
  }

  @Test("a live output drops whole frames, the oldest first, when its reader has stopped")
  func dropOldest() async throws {
    let frames = try await Clip(name: "large", width: 1280, height: 720, frames: 24).decodedFrames()
    let pipe = PipeReader()
    let lane = try lane(
      .descriptor(pipe.writeEnd), "yuv", policy: .dropOldest,
      limits: QueueLimits(count: 4, bytes: 1 << 30))
    for frame in frames { lane.write(frame) }
    #expect(lane.counters.dropped >= UInt64(frames.count - 6))
    pipe.start()
    let summary = await lane.finishWhenRead()
    let bytes = try await pipe.all()
    #expect(bytes.count % frames[0].byteCount == 0)
    #expect(bytes.suffix(frames[0].byteCount) == frames[23].packed[...])
    #expect(summary.counters.written == UInt64(bytes.count / frames[0].byteCount))
    #expect(balance(summary.counters))
  }

  @Test(
    "an elementary stream drops up to the next random-access point, so that it stays decodable",
    arguments: [15, 6])
  func dropOldestUnits(_ limit: Int) async throws {
    let clip = Clip(
      name: "GOPs", width: 640, height: 360, frames: 60,
      encoder: [
        "-vf", "noise=alls=40:allf=t:all_seed=1", "-sc_threshold", "0", "-g", "10", "-qp", "10",
        "-tune", "zerolatency",
      ])
    let units = clip.accessUnits(of: try clip.encoded())
    let pipe = PipeReader()
    let lane = try lane(
      .descriptor(pipe.writeEnd), "h264", policy: .dropOldest,
      limits: QueueLimits(count: limit, bytes: 1 << 30))
    for unit in units[..<3] { lane.write(unit) }
    try await eventually { lane.counters.written == 3 }
    for unit in units[3...] { lane.write(unit) }
    #expect(lane.counters.dropped > 0)
    pipe.start()
    let summary = await lane.finishWhenRead()
    let kept = try await pipe.all()
    #expect(balance(summary.counters))
    let types = AnnexB.accessUnits(of: kept, codec: .testH264, format: nil)
    #expect(types.count == Int(summary.counters.written))
    // Every unit follows the one that it followed in the stream, or is a random-access point.
    let order = Dictionary(uniqueKeysWithValues: units.enumerated().map { ($1.bytes, $0) })
    var previous = -1
    for unit in types {
      let number = try #require(order[unit.bytes])
      #expect(number == previous + 1 || unit.isRandomAccess)
      previous = number
    }
    // A queue that holds a whole group of pictures always keeps the newest.
    if limit > 10 { #expect(previous == 59) }
  }

  @Test("a reader that goes away ends its output and no other")
  func closedPipe() async throws {
    let frames = try await Self.clip.decodedFrames()
    let pipe = PipeReader()
    let folder = try TemporaryFolder()
    let errors = Mutex<[any OutputFault]>([])
    let broken = try lane(.descriptor(pipe.writeEnd), "y4m") { error in
      errors.withLock { $0.append(error) }
    }
    let file = try lane(.path(folder("a.yuv")), "yuv")
    pipe.closeReadEnd()
    for frame in frames {
      broken.write(frame)
      file.write(frame)
    }
    let summary = await broken.finish()
    #expect(summary.error as? OutputError == .readerGone)
    #expect(errors.withLock { $0 }.map { $0 as? OutputError } == [.readerGone])
    #expect(balance(summary.counters))
    #expect(await file.finish().error == nil)
    #expect(try folder.contents("a.yuv") == packed(frames))
    close(pipe.writeEnd)
  }

  @Test("a full device is an error of that output")
  func fullDevice() async throws {
    let frames = try await Self.clip.decodedFrames()
    let lane = try lane(.path("/dev/full"), "yuv")
    for frame in frames { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error as? OutputError == .writeFailed(errno: ENOSPC))
    #expect(summary.counters.written == 0)
    #expect(balance(summary.counters))
  }

  @Test("an output refuses the file that another one writes, and leaves it whole")
  func fileOfAnother() async throws {
    let frames = try await Self.clip.decodedFrames()
    let folder = try TemporaryFolder()
    let first = try lane(.path(folder("a.yuv")), "yuv")
    first.write(frames[0])
    try await eventually { first.counters.written == 1 }
    let second = try lane(.path(folder("a.yuv")), "yuv")
    for frame in frames { second.write(frame) }
    let summary = await second.finish()
    #expect(summary.error as? OutputError == .inUse)
    #expect(summary.files.count == 0 && balance(summary.counters))
    for frame in frames[1...] { first.write(frame) }
    #expect(await first.finish().error == nil)
    #expect(try folder.contents("a.yuv") == packed(frames))
  }

  @Test("a path that cannot be opened says why")
  func noSuchFolder() async throws {
    let lane = try lane(.path("/nonexistent/a.yuv"), "yuv")
    let summary = await lane.finish()
    #expect(summary.error as? OutputError == .cannotOpen(path: "/nonexistent/a.yuv", errno: ENOENT))
  }

  @Test("a named pipe without a reader neither hangs nor is opened too early")
  func namedPipe() async throws {
    let frames = try await Self.clip.decodedFrames()
    let folder = try TemporaryFolder()
    unsafe mkfifo(folder("fifo"), 0o600)
    let lonely = try lane(.path(folder("fifo")), "yuv", policy: .dropOldest)
    for frame in frames { lonely.write(frame) }
    let summary = await lonely.finish(within: .milliseconds(100))
    #expect(summary.error as? OutputError == .noReader)
    #expect(balance(summary.counters))

    let lane = try lane(.path(folder("fifo")), "yuv")
    lane.write(frames[0])
    let reader = PipeReader(namedPipe: folder("fifo"))
    for frame in frames[1...] where lane.counters.offered < 4 { lane.write(frame) }
    try await eventually { lane.counters.written > 0 }
    reader.start()
    for frame in frames[4...] { lane.write(frame) }
    #expect(await lane.finishWhenRead().error == nil)
    #expect(try await reader.all() == packed(frames))
  }

  @Test("an output that takes nothing keeps one interruption of many failed connections")
  func manyInterruptions() async throws {
    let folder = try TemporaryFolder()
    unsafe mkfifo(folder("fifo"), 0o600)
    let lane = try lane(.path(folder("fifo")), "yuv")
    for _ in 0..<10_000 { lane.interrupt() }
    #expect(!lane.isCrowded)
    _ = await lane.finish(within: .zero)
  }

  @Test("finishing gives a reader that has stopped no more than its time")
  func stuckReader() async throws {
    let frames = try await Clip(name: "large", width: 1280, height: 720, frames: 4).decodedFrames()
    let pipe = PipeReader()
    let lane = try lane(.descriptor(pipe.writeEnd), "yuv", policy: .dropOldest)
    for frame in frames { lane.write(frame) }
    let start = ContinuousClock.now
    let summary = await lane.finish(within: .milliseconds(200))
    #expect(ContinuousClock.now - start < .seconds(10))
    #expect(summary.error as? OutputError == .readerTooSlow)
    #expect(balance(summary.counters))
    close(pipe.writeEnd)
    pipe.closeReadEnd()
  }

  /// A disk that may have vanished.
  private final class Disk: Sendable {
    let isAsked = Mutex(false)
    let isBack = Mutex(false)
  }

  /// A file on a disk that has vanished: a write returns once it is allowed to.
  private final class VanishedFile: OutputDestination {
    private let disk: Disk
    init(on disk: Disk) { self.disk = disk }
    var isFile: Bool { true }
    var progress = OutputProgress()
    func open(whenReaderIsLate noteDelay: () -> Void) {}
    func write(_ items: [OutputItem]) {
      disk.isAsked.withLock { $0 = true }
      try? waitUntil("the disk is back") { disk.isBack.withLock(\.self) }
      progress.written += items.count
    }
    func finish() {}
    func close() {}
  }

  /// An output that waits for `disk` with two access units.
  private func laneAwaiting(
    _ disk: Disk, storingTime: Duration = OutputLane.longestStoring
  ) async throws -> OutputLane {
    let format = OutputFormat(scheme: "vanished", summary: "nothing", inputs: .units) { _ in
      VanishedFile(on: disk)
    }
    var configuration = OutputLane.Configuration(target: .path("a"), format: format)
    configuration.storingTime = storingTime
    let lane = try OutputLane(configuration)
    let clip = Clip(name: "plain", frames: 2, encoder: ["-tune", "zerolatency"])
    #expect(lane.stall == nil)
    for unit in clip.accessUnits(of: try clip.encoded()) { lane.write(unit) }
    try await eventually { disk.isAsked.withLock(\.self) }
    return lane
  }

  @Test("a disk that takes nothing is noticed, and is waited for longer than a reader")
  func stalledDisk() async throws {
    let disk = Disk()
    // Longer than any test waits.
    let lane = try await laneAwaiting(disk, storingTime: .seconds(60))
    async let summary = lane.finish()
    let stall = try await eventualValue { lane.stall }
    #expect(stall > .seconds(2))
    // A reader has two seconds, and half of one more for a write that does not return.
    try await eventually { (lane.stall ?? .zero) > .milliseconds(2700) }
    disk.isBack.withLock { $0 = true }
    #expect(await summary.counters.written == 2)
    #expect(await summary.error == nil)
    #expect(lane.stall == nil)
  }

  @Test("a disk that does not come back is named")
  func lostDisk() async throws {
    let disk = Disk()
    defer { disk.isBack.withLock { $0 = true } }
    let lane = try await laneAwaiting(disk, storingTime: .milliseconds(10))
    #expect(await lane.finish().error as? OutputError == .diskTooSlow)
  }

  @Test(
    "what a disk takes is known before it is opened",
    arguments: [("a.h264", true), ("a-%d.jpg", true), ("a-%s.mp4", true), ("pipe", false)])
  func disks(_ name: String, isFile: Bool) throws {
    let folder = try TemporaryFolder()
    #expect(unsafe mkfifo(folder("pipe"), 0o600) == 0)
    for scheme in isFile ? [String(name.split(separator: ".")[1])] : ["y4m", "mp4", "jpg"] {
      let format = try #require(catalogue.format(named: scheme))
      let configuration = OutputLane.Configuration(target: .path(folder(name)), format: format)
      #expect(format.makeDestination(configuration, WriteDeadline()).isFile == isFile)
    }
  }

  @Test("an output that is given up waits for no disk")
  func abandonedDisk() async throws {
    let disk = Disk()
    defer { disk.isBack.withLock { $0 = true } }
    let lane = try await laneAwaiting(disk)
    #expect(await lane.finish(within: .zero).error as? OutputError == .diskTooSlow)
  }

  @Test("a disk that has not stored all in its time is named, unless nobody waits for it")
  func slowDisk() throws {
    let disk = Disk()
    let format = OutputFormat(scheme: "slow", summary: "nothing", inputs: .units) { _ in
      VanishedFile(on: disk)
    }
    let configuration = OutputLane.Configuration(target: .path("a"), format: format)
    let clip = Clip(name: "plain", frames: 2, encoder: ["-tune", "zerolatency"])
    let units = clip.accessUnits(of: try clip.encoded())
    for isAbandoned in [false, true] {
      let queue = BoundedQueue<QueuedItem>(limits: configuration.queueLimits)
      for unit in units { #expect(queue.offer(QueuedItem(item: .unit(unit)), bytes: 1) == .queued) }
      queue.close()
      let account = OutputAccount()
      if isAbandoned { account.abandon() }
      account.deadline.set(Instant(nanoseconds: 0))
      OutputWorker(configuration: configuration, queue: queue, account: account, onNews: {})
        .run(onError: { _ in }, onCompletion: {})
      #expect(account.fault as? OutputError == (isAbandoned ? nil : .diskTooSlow))
      #expect(account.counters.discarded == 2)
    }
  }

  @Test("a write that fails in the middle of a frame leaves a file of whole frames")
  func fileLimit() async {
    await #expect(processExitsWith: .success) {
      let frames = try await Clip(name: "plain", encoder: ["-tune", "zerolatency"]).decodedFrames()
      let folder = try TemporaryFolder()
      // The longest file that this process may write ends inside the third frame.
      let size = frames[0].byteCount
      var limit = rlimit(rlim_cur: rlim_t(size * 5 / 2), rlim_max: rlim_t(size * 5 / 2))
      #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      let lane = try lane(.path(folder("a.yuv")), "yuv")
      for frame in frames { lane.write(frame) }
      let summary = await lane.finish()
      #expect(summary.error as? OutputError == .fileBrokeOff(errno: EFBIG))
      #expect(summary.counters.written == 2)
      #expect(try folder.contents("a.yuv") == packed(Array(frames[..<2])))
    }
  }

  static let sizes: [Clip] = [
    Clip(name: "VGA", width: 640, height: 480, frames: 5),
    Clip(name: "HD", width: 1920, height: 1080, frames: 4, encoder: ["-bf", "2"]),
    Clip(name: "tiny", width: 64, height: 64, frames: 6, encoder: ["-bf", "3"]),
    Clip(name: "odd", width: 174, height: 98, frames: 5),
    Clip(name: "10 bit", width: 174, height: 98, frames: 5, pixelFormat: "yuv420p10le"),
    Clip(name: "4:2:2", width: 174, height: 98, frames: 5, pixelFormat: "yuv422p10le"),
    Clip(name: "4:4:4", width: 174, height: 98, frames: 5, pixelFormat: "yuv444p10le"),
    Clip(name: "VGA again", width: 640, height: 480, frames: 5),
  ]

  @Test("pictures of another size or depth go to files that continue the first")
  func sizeChangeInFiles() async throws {
    let folder = try TemporaryFolder()
    let y4m = try lane(.path(folder("a.y4m")), "y4m")
    let yuv = try lane(.path(folder("a.yuv")), "yuv")
    var parts: [[RawFrame]] = []
    for clip in Self.sizes { parts.append(try await clip.decodedFrames()) }
    for frame in parts.joined() {
      y4m.write(frame)
      yuv.write(frame)
    }
    let summary = await y4m.finish()
    #expect(await yuv.finish().error == nil)
    #expect(
      summary.files.last == ["a.y4m"].map { folder($0) }
        + (1..<Self.sizes.count).map { folder("a.000\($0).y4m") })
    for (number, clip) in Self.sizes.enumerated() {
      let name = number == 0 ? "a" : "a.000\(number)"
      #expect(try folder.contents(name + ".yuv") == packed(parts[number]))
      let samples = try run(
        ["-i", folder(name + ".y4m"), "-f", "rawvideo", "-pix_fmt", clip.pixelFormat, "-"])
      #expect(samples == packed(parts[number]), "\(clip.name)")
    }
  }

  @Test("a file that continues another replaces none, only the one that was named")
  func continuationsReplaceNothing() async throws {
    let folder = try TemporaryFolder()
    for name in ["a.yuv", "a.0001.yuv"] { try Data("precious".utf8).write(to: folder.url(name)) }
    let lane = try lane(.path(folder("a.yuv")), "yuv")
    var parts: [[RawFrame]] = []
    for clip in Self.sizes.prefix(3) { parts.append(try await clip.decodedFrames()) }
    for frame in parts.joined() { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    let names = ["a.yuv", "a.0002.yuv", "a.0003.yuv"]
    #expect(summary.files.last == names.map { folder($0) })
    for (name, part) in zip(names, parts) { #expect(try folder.contents(name) == packed(part)) }
    #expect(try folder.contents("a.0001.yuv") == Array("precious".utf8))
  }

  @Test("a pipe ends where the pictures change, on a whole frame")
  func sizeChangeInPipe() async throws {
    let small = try await Self.sizes[2].decodedFrames()
    let large = try await Self.sizes[0].decodedFrames()
    let pipe = PipeReader()
    pipe.start()
    let lane = try lane(.descriptor(pipe.writeEnd), "yuv")
    for frame in small + large { lane.write(frame) }
    let summary = await lane.finishWhenRead()
    #expect(
      summary.error as? OutputError
        == .formatChanged(from: small[0].geometry, to: large[0].geometry))
    #expect(try await pipe.all() == packed(small))
    #expect(balance(summary.counters))
  }

  @Test("scaled to the first size, every frame has the size that the header says")
  func scaleToFirst() async throws {
    let pipe = PipeReader()
    pipe.start()
    let lane = try lane(.descriptor(pipe.writeEnd), "y4m", scaleToFirst: true)
    var frames: [RawFrame] = []
    for clip in Self.sizes { frames += try await clip.decodedFrames() }
    for frame in frames { lane.write(frame) }
    #expect(await lane.finishWhenRead().error == nil)
    let bytes = try await pipe.all()
    let header = bytes.prefix { $0 != 10 }.count + 1
    let size = 6 + frames[0].byteCount
    #expect(bytes.count == header + frames.count * size)
    for (number, frame) in frames.enumerated() {
      let written = bytes[(header + number * size)...].prefix(size)
      #expect(written.starts(with: Array("FRAME\n".utf8)))
      // A scaled picture is as bright as it was.
      let luma = written.dropFirst(6).prefix(640 * 480)
      let brightness = Double(luma.reduce(0) { $0 + Int($1) }) / Double(luma.count)
      #expect(abs(brightness - frame.brightness) < 1)
    }
  }
}

extension RawFrame {
  /// The mean of the luma samples, as if they had 8 bits.
  fileprivate var brightness: Double {
    let bytes = packed.prefix(width * height * pixelFormat.bytesPerSample)
    guard pixelFormat.bitDepth > 8 else {
      return Double(bytes.reduce(0) { $0 + Int($1) }) / Double(bytes.count)
    }
    var sum = 0
    for place in stride(from: 0, to: bytes.count, by: 2) {
      sum += Int(bytes[place]) + Int(bytes[place + 1]) << 8
    }
    return Double(sum) / Double(width * height) / Double(1 << (pixelFormat.bitDepth - 8))
  }
}
