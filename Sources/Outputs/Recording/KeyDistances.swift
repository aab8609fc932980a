import RTPWire

/// How far apart the key pictures are, as seen in the files that they divide.
struct KeyDistances {
  /// How long a file lasted in which no key picture came for longer than files are to be, in
  /// seconds.
  private(set) var longest: Double?
  /// The times of the first and the last key picture of the file.
  private var ofFile: (first: MediaTime, last: MediaTime)?

  /// Notes a key picture of the file.
  mutating func note(_ time: MediaTime) { ofFile = (ofFile?.first ?? time, time) }

  /// What follows is in another file.
  mutating func beginFile() { ofFile = nil }

  /// Notes where a file that ends before the key picture of `time` has none but its first, and is
  /// thus longer than the `segment` that it is to be.
  mutating func noteEnd(before time: MediaTime, segment: Duration?) {
    guard let segment, let ofFile, ofFile.first == ofFile.last else { return }
    let distance = time.nanoseconds(since: ofFile.first)
    // A key picture that is late by one or two is not rare.
    guard distance > segment.wholeNanoseconds / 20 * 21 else { return }
    longest = longest ?? Double(distance) / 1e9
  }
}
