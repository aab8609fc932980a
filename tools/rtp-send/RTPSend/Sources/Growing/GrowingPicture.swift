import Bitstream
import NIOCore
import RTPWire

/// A picture that has been taken out of a file that is still being written.
struct GrowingPicture: Equatable {
  var units: [ByteBuffer]
  var order: PictureOrder?
  /// 2 for a frame.
  var fields: Int64 = 2
  var isRandomAccess: Bool
  /// It is the rest of the picture before it, which was thought to be whole.
  var isContinued = false
  /// What was known of the video with its last unit, though the file was read further; `nil` where
  /// what is known holds for all of the file, as by its index.
  var video: KnownVideo?
  /// What the container says, in ticks of 90 kHz from its own zero.
  var times: Times?

  struct Times: Equatable {
    var presentation: Int64
    var decoding: Int64
    /// When the next one is decoded; `nil` where nothing says so.
    var end: Int64?

    /// How long it lasts; `nil` where nothing says so.
    var length: Int64? { end?.subtractingSaturating(decoding) }
  }

  init(_ group: AccessUnitGrouper.Group) {
    units = group.units
    order = group.order
    fields = group.fields
    isRandomAccess = group.isRandomAccess
    isContinued = group.isContinued
  }

  init(units: [ByteBuffer], isRandomAccess: Bool, times: Times) {
    self.units = units
    self.isRandomAccess = isRandomAccess
    self.times = times
  }
}
