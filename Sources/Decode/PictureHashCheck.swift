import Bitstream
import CFFmpeg
import RTPWire

/// Compares decoded samples with the hashes that the sender made of them (H.265 §D.3.19).
struct PictureHashCheck {
  /// The most bytes compared per second: 30 pictures of 1080p, which takes a seventh of one core.
  static let bytesPerSecond = 100_000_000

  /// Whether some picture has matched its hash.
  private var isTrusted = false
  /// How many bytes may be compared now.
  private var allowance = Self.bytesPerSecond
  private var lastArrival: Instant?

  /// Whether `frame`, as the decoder allocated it, certainly differs from what was hashed.
  ///
  /// Also `false` before any picture has matched its hash (x265 sends wrong ones for chroma in its
  /// cyclic redundancy checks), and when pictures come faster than they can be compared.
  mutating func differs(
    _ frame: UnsafeMutablePointer<AVFrame>, from hash: PictureHash, at arrival: Instant
  ) -> Bool {
    guard let format = PixelFormat(AVPixelFormat(rawValue: unsafe frame.pointee.format)) else {
      return false
    }
    let planes = (0..<format.planeCount).compactMap { unsafe Plane($0, of: frame, format) }
    guard planes.count == format.planeCount, takeAllowance(for: planes, at: arrival) else {
      return false
    }
    let isRight =
      switch hash {
      case .md5(let hashes): zip(planes, hashes).allSatisfy { $0.md5() == $1 }
      case .crc(let hashes): zip(planes, hashes).allSatisfy { $0.crc() == $1 }
      case .checksum(let hashes): zip(planes, hashes).allSatisfy { $0.checksum() == $1 }
      }
    if isRight { isTrusted = true }
    return isTrusted && !isRight
  }

  private mutating func takeAllowance(for planes: [Plane], at arrival: Instant) -> Bool {
    let elapsed = lastArrival.map { max($0.duration(to: arrival), .zero) } ?? .zero
    lastArrival = arrival
    let gain = elapsed / .seconds(1) * Double(Self.bytesPerSecond)
    allowance = Int(min(Double(allowance) + gain, Double(Self.bytesPerSecond)))
    let count = planes.reduce(0) { $0 + $1.rowBytes * $1.rows }
    guard count <= allowance else { return false }
    allowance -= count
    return true
  }

  /// One colour component, uncropped.
  @safe private struct Plane {
    let start: UnsafePointer<UInt8>
    let stride: Int
    let rowBytes: Int
    let rows: Int
    let bytesPerSample: Int

    init?(_ index: Int, of frame: UnsafeMutablePointer<AVFrame>, _ format: PixelFormat) {
      let picture = unsafe frame.pointee
      let planes = unsafe [picture.data.0, picture.data.1, picture.data.2]
      let strides = unsafe [picture.linesize.0, picture.linesize.1, picture.linesize.2]
      (rowBytes, rows) = unsafe format.extent(
        ofPlane: index, width: Int(picture.width), height: Int(picture.height))
      stride = Int(strides[index])
      bytesPerSample = format.bytesPerSample
      guard let start = unsafe planes[index], stride >= rowBytes else { return nil }
      unsafe self.start = UnsafePointer(start)
    }

    private func row(_ number: Int) -> UnsafeBufferPointer<UInt8> {
      unsafe UnsafeBufferPointer(start: start + number * stride, count: rowBytes)
    }

    func md5() -> [UInt8]? {
      guard var digest = MessageDigest() else { return nil }
      for number in 0..<rows { unsafe digest.add(start + number * stride, count: rowBytes) }
      return digest.finish()
    }

    func crc() -> UInt16 {
      var crc: UInt16 = 0xFFFF
      func take(_ byte: UInt8) {
        let remainder = PictureHashCheck.remainders[Int(crc >> 8)]
        crc = (crc << 8 | UInt16(byte)) ^ remainder
      }
      for number in 0..<rows {
        let row = unsafe row(number)
        for index in 0..<rowBytes { take(unsafe row[index]) }
      }
      take(0)
      take(0)
      return crc
    }

    func checksum() -> UInt32 {
      var sum: UInt32 = 0
      for number in 0..<rows {
        let row = unsafe row(number)
        for index in 0..<rowBytes {
          let x = index / bytesPerSample
          let mask = (x & 0xFF) ^ (number & 0xFF) ^ (x >> 8) ^ (number >> 8)
          sum &+= UInt32(UInt8(truncatingIfNeeded: mask) ^ (unsafe row[index]))
        }
      }
      return sum
    }
  }

  /// The remainders of the first bytes of a polynomial divided by x^16 + x^12 + x^5 + 1.
  private static let remainders: [UInt16] = (0..<256).map { byte in
    (0..<8).reduce(UInt16(byte) << 8) { value, _ in
      value & 0x8000 != 0 ? value << 1 ^ 0x1021 : value << 1
    }
  }
}
