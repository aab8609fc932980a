import Decode
import NIOCore
public import Outputs

/// A line for each frame with its size and a checksum of its samples (FNV-1a), as an output that
/// comes from another package.
public struct ChecksumOutput: Output {
  public static let format = OutputFormat(name: "fnv", inputs: .frames) { ChecksumOutput() }

  public mutating func record(for item: OutputItem) throws(ChecksumError) -> OutputRecord? {
    guard case .frame(let frame) = item else { return nil }
    let bits = frame.pixelFormat.bitDepth
    guard bits == 8 else { throw .deepSamples(bits: bits) }
    var sum: UInt64 = 0xCBF2_9CE4_8422_2325
    for plane in 0..<frame.planeCount {
      frame.withPlane(plane) { samples, layout in
        for row in 0..<layout.rows {
          for column in 0..<layout.rowBytes {
            let sample = samples.unsafeLoad(
              fromByteOffset: row * layout.stride + column, as: UInt8.self)
            sum = (sum ^ UInt64(sample)) &* 0x0100_0000_01B3
          }
        }
      }
    }
    let line = "\(frame.width)x\(frame.height) \(String(sum, radix: 16))\n"
    return OutputRecord(pieces: [.bytes(ByteBuffer(string: line))])
  }
}
