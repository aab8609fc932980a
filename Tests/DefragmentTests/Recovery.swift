import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Sends a whole key picture and expects it back.
func expectRecovery(
  _ bench: inout Bench, _ material: Material, lost: Int = 0,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  _ = bench.take()
  let units = [material.delimiter] + material.parameterSets + [material.keySlice]
  for unit in units {
    bench.push(unit, at: 1 << 40, marker: unit == material.keySlice, lost: 0)
  }
  let last = bench.take().last
  #expect(
    last?.wholeHex.suffix(units.count) == units.map(\.hex)[...], sourceLocation: sourceLocation)
  #expect(last?.time.ticks == 1 << 40, sourceLocation: sourceLocation)
  if let last { #expect(last.isTidy, sourceLocation: sourceLocation) }
}

/// Sends a key picture in fragments and expects it back.
func expectKeyPicture(from bench: inout Bench, of codec: VideoCodec) throws {
  let body = [UInt8](repeating: 0x99, count: 50)
  let ticks: Int64 = 9_000_000
  let unit: [UInt8]
  if codec == H264.codec {
    unit = [0x65, 0x88] + body + body
    bench.push([0x7C, 0x85, 0x88] + body, at: ticks)
    bench.push([0x7C, 0x45] + body, at: ticks, marker: true)
  } else {
    unit = [0x26, 1, 0x88] + body + body
    bench.push([0x62, 1, 0x93, 0x88] + body, at: ticks)
    bench.push([0x62, 1, 0x53] + body, at: ticks, marker: true)
  }
  bench.flush()
  let last = try #require(bench.accessUnits.last)
  #expect(last.isRandomAccess)
  #expect(last.time.ticks == ticks)
  #expect(last.wholeHex.last == ByteBuffer(bytes: unit).hex)
}
