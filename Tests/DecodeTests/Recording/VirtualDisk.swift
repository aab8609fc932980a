import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Outputs

/// The files of a recorder in memory.
struct VirtualDisk {
  struct File {
    let beginning: FileBeginning
    /// With what was replaced at the end.
    var bytes: [UInt8] = []
    /// As it was written.
    var unpatched: [UInt8] = []
    /// The length and the number of pictures after each record.
    var lengths: [(bytes: Int, items: Int)] = []
    var ending: FileEnding?
  }

  private(set) var files: [File] = []
  private(set) var skipped = 0
  private(set) var soundFailure: String?

  static func record(
    _ units: [AccessUnit], as container: Container, segment: Duration? = nil,
    firstSegment: Duration? = nil, isPipe: Bool = false,
    clockStep: (after: Int, by: Duration)? = nil
  ) throws -> VirtualDisk {
    try record(
      items: units.map { .unit($0) }, as: container, segment: segment, firstSegment: firstSegment,
      isPipe: isPipe, clockStep: clockStep)
  }

  static func record(
    items: [OutputItem], as container: Container, segment: Duration? = nil,
    firstSegment: Duration? = nil, isPipe: Bool = false, isCut: Bool = false,
    clockStep: (after: Int, by: Duration)? = nil
  ) throws -> VirtualDisk {
    var disk = VirtualDisk()
    let offset = Mutex(NamePatternTests.time.nanoseconds)
    var recorder = Recorder(
      Recorder.Configuration(
        container: container, segment: segment, firstSegment: firstSegment,
        clock: WallClock { offset.withLock(\.self) }, canSeek: !isPipe, canContinue: !isPipe))
    for (number, item) in items.enumerated() {
      if let clockStep, number == clockStep.after {
        offset.withLock { $0 += clockStep.by.wholeNanoseconds }
      }
      try recorder.take(item)
      disk.perform(&recorder)
    }
    // A crash finishes nothing.
    guard !isCut else { return disk }
    try recorder.finish()
    disk.perform(&recorder)
    disk.skipped = recorder.skipped
    disk.soundFailure = recorder.soundFailure
    return disk
  }

  private mutating func perform(_ recorder: inout Recorder) {
    while let action = recorder.nextAction() {
      switch action {
      case .begin(let beginning): files.append(File(beginning: beginning))
      case .write(let record): files[files.count - 1].write(record)
      case .end(let ending): files[files.count - 1].ending = ending
      }
    }
  }
}

extension VirtualDisk.File {
  fileprivate mutating func write(_ record: OutputRecord) {
    for case .bytes(let piece) in record.pieces {
      bytes += piece.readableBytesView
      unpatched += piece.readableBytesView
    }
    for patch in record.patches {
      let new = Array(patch.bytes.readableBytesView)
      bytes.replaceSubrange(patch.offset..<patch.offset + new.count, with: new)
    }
    lengths.append((unpatched.count, (lengths.last?.items ?? 0) + record.items))
  }
}

/// What ffprobe says of a file.
struct Probe {
  let format: [String: String]
  let stream: [String: String]
  let packets: [[String: String]]

  init(_ path: String) throws {
    func sections(_ option: String) throws -> [[String: String]] {
      let text = try RunningProcess.output(
        of: "ffprobe", ["-v", "error", "-select_streams", "v", option, path])
      return String(decoding: text, as: UTF8.self).split(separator: "\n[").map { section in
        Dictionary(
          section.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "=", maxSplits: 1)
            return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
          }, uniquingKeysWith: { first, _ in first })
      }.filter { !$0.isEmpty }
    }
    format = try #require(try sections("-show_format").first)
    stream = try #require(try sections("-show_streams").first)
    packets = try sections("-show_packets").filter { $0["pts_time"] != nil }
  }
}

extension Clip {
  /// The access units with the times at which the encoder meant them to be shown; `depth` and
  /// `rate` are what the stream says of its reordering and its pace.
  func timedUnits(
    of stream: [UInt8], startingAt first: Int = 0, depth: Int? = nil, rate: Rational? = nil,
    interval: Int64 = 3000
  ) throws -> [AccessUnit] {
    let packets = String(decoding: try encoded(as: ["-f", "framecrc"]), as: UTF8.self)
    let shown = packets.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
      Int64($0.split(separator: ",")[2].trimmingCharacters(in: .whitespaces))
    }
    let units = accessUnits(of: stream)
    try #require(units.count == shown.count)
    return zip(units, shown).map { unit, shown in
      let number = Int64(first) + shown
      let type = unit.units.first { codec == .testH264 ? $0.type <= 5 : $0.type < 32 }?.type ?? 0
      var format = self.format
      format.reorderDepth = depth
      format.frameRate = rate
      return AccessUnit(
        codec: codec, bytes: unit.bytes, units: unit.units,
        time: MediaTime(ticks: number * interval, timescale: 90_000),
        firstArrival: Instant(nanoseconds: number * interval * 100_000 / 9),
        lastArrival: Instant(nanoseconds: number * interval * 100_000 / 9 + 5_000_000),
        isRandomAccess: unit.isRandomAccess,
        dependency: PictureDependency(
          references: codec == .testH265
            ? H265.references(ofType: type) : type == 5 ? .none : .earlier),
        recoveryPoint: codec == .testH264 && unit.isRandomAccess && type != 5
          ? RecoveryPoint(distance: 0) : nil,
        format: format)
    }
  }
}

extension AccessUnit {
  private func changed(
    bytes: ByteBuffer? = nil, units: [NALUnit]? = nil, time: MediaTime? = nil,
    arrival: Duration = .zero, integrity: Integrity = .whole
  ) -> AccessUnit {
    AccessUnit(
      codec: codec, bytes: bytes ?? self.bytes, units: units ?? self.units,
      time: time ?? self.time, firstArrival: firstArrival.advanced(by: arrival),
      lastArrival: lastArrival.advanced(by: arrival), integrity: integrity,
      isRandomAccess: isRandomAccess, dependency: dependency, recoveryPoint: recoveryPoint,
      format: format)
  }

  var damaged: AccessUnit { changed(integrity: .damaged) }

  func moved(by time: Duration, arriving later: Duration? = nil) -> AccessUnit {
    let ticks = time.wholeNanoseconds / 1_000_000 * 90
    return changed(
      time: MediaTime(ticks: self.time.ticks + ticks, timescale: 90_000),
      arrival: later ?? time)
  }

  /// As a picture that renews a part of what is seen, after ten of which all is renewed.
  var asPartOfARefresh: AccessUnit {
    AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival, isRandomAccess: true,
      dependency: PictureDependency(references: .earlier),
      recoveryPoint: RecoveryPoint(distance: 10), format: format)
  }

  /// With zeros behind its parameter sets.
  var withZeros: AccessUnit {
    rewritten { bytes, isSet in [bytes + (isSet ? [0, 0, 0] : [])] }
  }

  var withoutSets: AccessUnit { rewritten { bytes, isSet in isSet ? [] : [bytes] } }

  func at(_ time: MediaTime, arriving arrival: Instant, integrity: Integrity = .whole) -> AccessUnit
  {
    AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: arrival,
      lastArrival: arrival, integrity: integrity, isRandomAccess: isRandomAccess,
      dependency: dependency, recoveryPoint: recoveryPoint, format: format)
  }

  /// With a unit of filler data (H.264 §7.3.2.7) of that many bytes.
  func padded(by count: Int) -> AccessUnit {
    var bytes = bytes
    bytes.writeBytes([0, 0, 0, 1])
    let filler = NALUnit(offset: bytes.readableBytes, length: count, type: 12)
    bytes.writeInteger(UInt8(12))
    bytes.writeRepeatingByte(0xFF, count: count - 1)
    return changed(bytes: bytes, units: units + [filler])
  }

  /// With so many more sequence parameter sets, and picture parameter sets of its own sequence,
  /// whose identifiers go round.
  func withMoreSets(_ count: Int) -> AccessUnit {
    rewritten { bytes, isSet in
      guard isSet else { return [bytes] }
      let set = ByteBuffer(bytes: bytes)
      let isPicture = codec.type(of: NALUnitHead(of: set)) == codec.parameterSetTypes.last
      let more = (0..<count).map {
        set.numbered($0 % 255 + 1, sequence: isPicture ? 0 : $0 % 31 + 1, in: codec)
      }
      return [bytes] + more.map { Array($0.readableBytesView) }
    }
  }

  /// With what `change` makes of each NAL unit, given whether it is a parameter set.
  func rewritten(_ change: ([UInt8], Bool) -> [[UInt8]]) -> AccessUnit {
    var bytes = ByteBuffer()
    var units: [NALUnit] = []
    for unit in self.units {
      let isSet = codec.parameterSetTypes.contains(unit.type)
      for new in change(Array(self.bytes(of: unit).readableBytesView), isSet) {
        bytes.writeBytes([0, 0, 0, 1])
        let type = codec.type(of: NALUnitHead(of: ByteBuffer(bytes: new)))
        units.append(NALUnit(offset: bytes.writerIndex, length: new.count, type: type))
        bytes.writeBytes(new)
      }
    }
    return changed(bytes: bytes, units: units)
  }
}
