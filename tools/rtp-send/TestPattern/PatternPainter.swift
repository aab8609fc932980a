/// Paints the moving test pattern: frame-number strip, colour bars, a ball, a ramp, a clock, a
/// flash.
package struct PatternPainter {
  private let background: Picture
  private let framesPerSecond: Int
  private let layout: Layout

  /// Where things lie, in samples from the top.
  private struct Layout {
    var stripBottom: Int
    var barsBottom: Int
    var rampBottom: Int

    init(width: Int, height: Int) {
      stripBottom = FrameNumberStrip.blockSize(pictureWidth: width)
      barsBottom = height * 62 / 100
      rampBottom = height * 70 / 100
    }
  }

  /// The 75 % bars of ITU-R BT.471 in BT.601 coefficients, brightest first.
  private static let bars = [
    Picture.Colour(luma: 180, cb: 128, cr: 128), Picture.Colour(luma: 162, cb: 44, cr: 142),
    Picture.Colour(luma: 131, cb: 156, cr: 44), Picture.Colour(luma: 112, cb: 72, cr: 58),
    Picture.Colour(luma: 84, cb: 184, cr: 198), Picture.Colour(luma: 65, cb: 100, cr: 212),
    Picture.Colour(luma: 35, cb: 212, cr: 114),
  ]
  private static let floor = Picture.Colour(luma: 34, cb: 140, cr: 122)
  private static let ink = Picture.Colour(luma: 220)
  private static let dimmed = Picture.Colour(luma: 70, cb: 136, cr: 124)
  private static let accent = Picture.Colour(luma: 150, cb: 70, cr: 190)

  package init(width: Int, height: Int, framesPerSecond: Int) {
    var picture = Picture(width: width, height: height)
    layout = Layout(width: picture.width, height: picture.height)
    self.framesPerSecond = max(1, framesPerSecond)
    for (index, colour) in Self.bars.enumerated() {
      let left = picture.width * index / Self.bars.count
      let right = picture.width * (index + 1) / Self.bars.count
      picture.fill(
        x: left, y: layout.stripBottom, width: right - left,
        height: layout.barsBottom - layout.stripBottom, colour)
    }
    picture.fill(
      x: 0, y: layout.rampBottom, width: picture.width,
      height: picture.height - layout.rampBottom, Self.floor)
    background = picture
  }

  /// The picture that carries `number`.
  package func picture(number: UInt32) -> Picture {
    var picture = background
    let frame = Int(number % FrameNumberStrip.modulus)
    paintBall(frame, in: &picture)
    paintRamp(frame, in: &picture)
    paintClock(frame, in: &picture)
    paintTimecode(frame, in: &picture)
    paintProgress(frame, in: &picture)
    paintFlash(frame, in: &picture)
    paintStrip(number, in: &picture)
    return picture
  }

  private func paintStrip(_ number: UInt32, in picture: inout Picture) {
    let size = FrameNumberStrip.blockSize(pictureWidth: picture.width)
    let bits = FrameNumberStrip.bits(of: number)
    for block in 0..<FrameNumberStrip.blockCount {
      let isWhite = bits >> UInt32(31 - block) & 1 == 1
      let luma = isWhite ? FrameNumberStrip.white : FrameNumberStrip.black
      picture.fill(x: block * size, y: 0, width: size, height: size, .init(luma: luma))
    }
  }

  private func paintFlash(_ frame: Int, in picture: inout Picture) {
    let place = PatternFlash.place(width: picture.width, height: picture.height)
    let isLit = PatternFlash.isLit(frame: frame, framesPerSecond: framesPerSecond)
    picture.fill(
      x: place.x, y: place.y, width: place.size, height: place.size,
      .init(luma: isLit ? FrameNumberStrip.white : FrameNumberStrip.black))
  }

  /// A ball that crosses the bars in three seconds and bounces on their lower edge once a second.
  private func paintBall(_ frame: Int, in picture: inout Picture) {
    let radius = picture.height / 14
    let span = picture.width - 2 * radius
    let crossing = 3 * framesPerSecond
    let phase = frame % (2 * crossing)
    let x = radius + span * (phase < crossing ? phase : 2 * crossing - phase) / crossing
    let fall = Double(frame % framesPerSecond) / Double(framesPerSecond) * 2 - 1
    let height = layout.barsBottom - layout.stripBottom - 2 * radius
    let y = layout.barsBottom - radius - Int(Double(height) * (1 - fall * fall))
    picture.fillDisc(x: x, y: y, radius: radius, Self.accent, isShaded: true)
  }

  /// A grey ramp that scrolls by its own width in four seconds.
  private func paintRamp(_ frame: Int, in picture: inout Picture) {
    let width = picture.width
    let shift = width * (frame % (4 * framesPerSecond)) / (4 * framesPerSecond)
    picture.fillGrey(rows: layout.barsBottom..<layout.rampBottom) { column in
      // Up and down again, so that the seam is not an edge.
      let place = (column + shift) % width * 2
      return UInt8(clamping: 16 + 219 * (place < width ? place : 2 * width - place) / width)
    }
  }

  /// A dial with a hand that turns once a second and one that turns once a minute.
  private func paintClock(_ frame: Int, in picture: inout Picture) {
    let room = picture.height - layout.rampBottom
    let radius = room * 3 / 8
    let (x, y) = (picture.width / 8, layout.rampBottom + room * 9 / 20)
    picture.fillDisc(x: x, y: y, radius: radius, Self.dimmed)
    picture.fillDisc(x: x, y: y, radius: radius * 9 / 10, Self.floor)
    let second = frame / framesPerSecond % 60
    let fraction = frame % framesPerSecond * 120 / framesPerSecond
    for (step, reach, colour) in [(second * 2, 6, Self.ink), (fraction, 8, Self.accent)] {
      let (dx, dy) = Self.directions[step]
      for distance in 0..<radius {
        let reached = Double(distance * reach) / 10
        picture.fillDisc(
          x: x + Int(dx * reached), y: y + Int(dy * reached), radius: max(1, radius / 24), colour)
      }
    }
  }

  /// Unit vectors in steps of three degrees, clockwise from the top.
  private static let directions: [(Double, Double)] = {
    let (cosine, sine) = (0.998_629_534_754_573_9, 0.052_335_956_242_943_83)
    var directions = [(0.0, -1.0)]
    for _ in 1..<120 {
      let (x, y) = directions[directions.count - 1]
      directions.append((x * cosine - y * sine, x * sine + y * cosine))
    }
    return directions
  }()

  /// Minutes, seconds and frames in seven-segment digits.
  private func paintTimecode(_ frame: Int, in picture: inout Picture) {
    let seconds = frame / framesPerSecond
    let fields = [seconds / 60 % 100, seconds % 60, frame % framesPerSecond % 100]
    let room = picture.height - layout.rampBottom
    let height = room * 2 / 5
    let width = height / 2
    let y = layout.rampBottom + room / 4
    var x = picture.width * 3 / 10
    for (index, field) in fields.enumerated() {
      if index > 0 {
        let dot = max(2, height / 10)
        picture.fill(x: x, y: y + height / 4, width: dot, height: dot, Self.ink)
        picture.fill(x: x, y: y + height * 2 / 3, width: dot, height: dot, Self.ink)
        x += width / 2
      }
      for digit in [field / 10, field % 10] {
        paint(digit, x: x, y: y, width: width, height: height, in: &picture)
        x += width * 3 / 2
      }
    }
  }

  /// The segments of each digit in the usual order a to g, the lowest bit first.
  private static let segments = [0x3F, 0x06, 0x5B, 0x4F, 0x66, 0x6D, 0x7D, 0x07, 0x7F, 0x6F]

  private func paint(
    _ digit: Int, x: Int, y: Int, width: Int, height: Int, in picture: inout Picture
  ) {
    let stroke = max(2, height / 10)
    let half = height / 2
    let right = x + width - stroke
    let strokes = [
      (x, y, width, stroke), (right, y, stroke, half), (right, y + half, stroke, half),
      (x, y + height - stroke, width, stroke), (x, y + half, stroke, half), (x, y, stroke, half),
      (x, y + half - stroke / 2, width, stroke),
    ]
    for (segment, (left, top, across, down)) in strokes.enumerated() {
      guard Self.segments[digit % 10] >> segment & 1 == 1 else { continue }
      picture.fill(x: left, y: top, width: across, height: down, Self.ink)
    }
  }

  /// A bar along the bottom that grows over ten seconds.
  private func paintProgress(_ frame: Int, in picture: inout Picture) {
    let height = max(4, picture.height / 60)
    let period = 10 * framesPerSecond
    let y = picture.height - 2 * height
    picture.fill(x: 0, y: y, width: picture.width, height: height, Self.dimmed)
    picture.fill(
      x: 0, y: y, width: picture.width * (frame % period + 1) / period, height: height, Self.accent)
  }
}
