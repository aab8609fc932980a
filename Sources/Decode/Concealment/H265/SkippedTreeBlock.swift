import Bitstream
import Defragment

/// The slice data of one coding tree block of a ``StandInPicture`` (H.265 §7.3.8).
struct SkippedTreeBlock: Hashable {
  /// Motion is stored for blocks of 16 × 16 (§8.5.3.2.8); no coding block is larger unless it must
  /// be.
  private static let log2Unit = 4

  /// The part of the block that is inside the picture, in luma samples.
  let width: Int
  let height: Int
  let log2Size: Int
  let log2Smallest: Int

  func coded() -> BitWriter {
    var coder = Coder(self)
    coder.write(x: 0, y: 0, log2Size: log2Size)
    return coder.finish()
  }

  private struct Coder {
    /// The grid is in units of the smallest coding block there is, 8 × 8.
    private static let log2Grid = 3
    private static let gridWidth = 8

    private let block: SkippedTreeBlock
    private var encoder = ArithmeticEncoder()
    /// `split_cu_flag` and `cu_skip_flag` for initType 1 (tables 9-7 and 9-9).
    private var split = [107, 139, 126].map(Self.context)
    private var skip = [197, 185, 201].map(Self.context)
    /// The sizes of the coding blocks written so far, by their place; 0 where there is none yet.
    private var sizes = [Int](repeating: 0, count: gridWidth * gridWidth)

    init(_ block: SkippedTreeBlock) { self.block = block }

    private static func context(_ value: Int) -> ArithmeticEncoder.Context {
      ArithmeticEncoder.Context(value: value, quantization: StandInPicture.quantization)
    }

    /// `coding_quadtree` (§7.3.8.4), with coding units that consist of `cu_skip_flag` alone.
    mutating func write(x: Int, y: Int, log2Size: Int) {
      guard x < block.width, y < block.height else { return }
      let size = 1 << log2Size
      let isInside = x + size <= block.width && y + size <= block.height
      let isSplit = log2Size > block.log2Smallest && (!isInside || log2Size > log2Unit)
      let neighbours = [blockSize(x - 1, y), blockSize(x, y - 1)].filter { $0 > 0 }
      if isInside, log2Size > block.log2Smallest {
        encoder.encode(isSplit, &split[neighbours.count { $0 < log2Size }])
      }
      guard isSplit else {
        encoder.encode(true, &skip[neighbours.count])
        return occupy(x: x, y: y, log2Size: log2Size)
      }
      for (column, row) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        write(x: x + column * size / 2, y: y + row * size / 2, log2Size: log2Size - 1)
      }
    }

    /// The base-two logarithm of the size of the block at a place; 0 outside.
    private func blockSize(_ x: Int, _ y: Int) -> Int {
      x < 0 || y < 0 ? 0 : sizes[(y >> Self.log2Grid) * Self.gridWidth + (x >> Self.log2Grid)]
    }

    private mutating func occupy(x: Int, y: Int, log2Size: Int) {
      let (column, row) = (x >> Self.log2Grid, y >> Self.log2Grid)
      let count = 1 << (log2Size - Self.log2Grid)
      for row in row..<row + count {
        for column in column..<column + count { sizes[row * Self.gridWidth + column] = log2Size }
      }
    }

    mutating func finish() -> BitWriter {
      encoder.end()
      return encoder.bits
    }
  }
}
