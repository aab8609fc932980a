/// Weights by which the motion of a cell and of its neighbours predict its samples together (H.263
/// annex F.3), in eighths, row by row.
///
/// A neighbour's motion is as likely near the border, and its cell ends without an edge.
enum OverlappedCells {
  static let own = rows { x, y in
    let rows: [[Int32]] = [[4, 5, 5, 5], [5, 5, 5, 5], [5, 5, 6, 6], [5, 5, 6, 6]]
    return rows[min(y, 7 - y)][min(x, 7 - x)]
  }
  static let above = rows { fromAbove($0, $1) }
  static let below = rows { fromAbove($0, 7 - $1) }
  static let left = rows { fromLeft($0, $1) }
  static let right = rows { fromLeft(7 - $0, $1) }

  private static func fromAbove(_ x: Int, _ y: Int) -> Int32 {
    let rows: [[Int32]] = [[2, 2, 2, 2], [1, 1, 2, 2], [1, 1, 1, 1], [1, 1, 1, 1]]
    return y < 4 ? rows[y][min(x, 7 - x)] : 0
  }

  private static func fromLeft(_ x: Int, _ y: Int) -> Int32 {
    switch x {
    case 0: 2
    case 1: y == 0 || y == 7 ? 1 : 2
    case 2, 3: 1
    default: 0
    }
  }

  private static func rows(_ weight: (Int, Int) -> Int32) -> [SIMD8<Int32>] {
    (0..<8).map { y in
      var row = SIMD8<Int32>()
      for x in 0..<8 { row[x] = weight(x, y) }
      return row
    }
  }
}
