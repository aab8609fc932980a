import Bitstream
import Defragment
import NIOCore
import RTPWire

/// All that waits for one viewer, and what it gets next.
struct ViewerBacklog: Sendable {
  /// A second and more of sound; what is older is left out.
  static let mostSound = 100
  /// Figures come once a second, events seldom; a viewer that reads none for a while misses some.
  static let mostTexts = 64

  private struct Watched: Sendable {
    var queue: ViewerQueue?
    var jpeg: JPEGPicture?
    /// The format that the viewer has been told.
    var told: BrowserFormat?

    var isEmpty: Bool { jpeg == nil && queue?.isEmpty != false }
  }

  /// What it begins with: what there is of each camera, however many there are.
  private var greeting = CircularBuffer<ByteBuffer>()
  private var texts = CircularBuffer<ByteBuffer>()
  private var sound = CircularBuffer<(camera: UInt16, unit: SoundUnit)>()
  private var toldSound: (camera: UInt16, format: SoundFormat)?
  private var watched: [UInt16: Watched] = [:]
  /// The cameras that are watched, in the order in which they have their turn.
  private var turns: [UInt16] = []

  /// Begins with `group` of a camera; with nothing, where it gets pictures as JPEG.
  mutating func watch(_ camera: UInt16, group: PictureGroup?, at now: Instant) {
    if watched[camera] == nil { turns.append(camera) }
    watched[camera] = Watched(queue: group.map { ViewerQueue($0, at: now) })
  }

  /// Drops what waits of a camera.
  mutating func stop(_ camera: UInt16) {
    watched[camera] = nil
    turns.removeAll { $0 == camera }
  }

  /// Drops the sound that waits, and says the format of the next again.
  mutating func mute() {
    sound.removeAll()
    toldSound = nil
  }

  mutating func append(_ unit: BrowserUnit, of camera: UInt16, at now: Instant) {
    watched[camera]?.queue?.append(unit, at: now)
  }

  /// Only the newest one waits.
  mutating func append(_ picture: JPEGPicture, of camera: UInt16) {
    guard let entry = watched[camera], entry.queue == nil else { return }
    watched[camera]?.jpeg = picture
  }

  mutating func append(_ unit: SoundUnit, of camera: UInt16) {
    sound.append((camera, unit))
    if sound.count > Self.mostSound { sound.removeFirst() }
  }

  mutating func begin(with texts: [ByteBuffer]) { greeting.append(contentsOf: texts) }

  mutating func append(_ text: ByteBuffer) {
    texts.append(text)
    if texts.count > Self.mostTexts { texts.removeFirst() }
  }

  /// What the viewer gets next: words, then sound, which is small, then pictures of each camera in
  /// turn.
  mutating func next() -> ViewerMessage? {
    if let text = greeting.popFirst() ?? texts.popFirst() { return .text(text) }
    if let (camera, unit) = sound.first {
      guard let toldSound, toldSound.camera == camera, toldSound.format == unit.format else {
        toldSound = (camera, unit.format)
        return .soundFormat(camera: camera, unit)
      }
      sound.removeFirst()
      return .sound(camera: camera, unit)
    }
    guard let place = turns.firstIndex(where: { watched[$0]?.isEmpty == false }) else { return nil }
    let camera = turns[place]
    if let picture = watched[camera]?.jpeg {
      watched[camera]?.jpeg = nil
      turns.append(turns.remove(at: place))
      return .jpeg(camera: camera, picture)
    }
    if let format = watched[camera]?.queue?.first?.format, format !== watched[camera]?.told {
      watched[camera]?.told = format
      return .format(camera: camera, format)
    }
    turns.append(turns.remove(at: place))
    return watched[camera]?.queue?.next().map { .picture(camera: camera, $0) }
  }
}
