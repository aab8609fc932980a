import NIOCore

/// Packets that leave together, made once for all clients of a stream.
final class PacketBatch {
  let packets: [PacketFeed.Packet]
  /// Of each track the last packet of media.
  let lasts: [PacketFeed.Packet]
  /// Framed for connections, once for each set of channels: most clients ask for the same.
  private var framed: [(channels: ChannelMap, frames: InterleavedFrames)] = []

  init(_ packets: [PacketFeed.Packet]) {
    self.packets = packets
    var lasts: [Int: PacketFeed.Packet] = [:]
    for packet in packets where !packet.isControl { lasts[packet.track] = packet }
    self.lasts = Array(lasts.values)
  }

  /// The packets as interleaved frames (RFC 2326 §10.12) on these channels.
  func frames(on channels: ChannelMap) -> InterleavedFrames {
    if let known = framed.first(where: { $0.channels == channels }) { return known.frames }
    let frames = channels.frames(of: packets)
    framed.append((channels, frames))
    return frames
  }
}

/// Packets in the form in which they go through a connection.
struct InterleavedFrames {
  var bytes = ByteBuffer()
  /// How many packets there are, and their bytes without what frames them.
  var count = 0
  var packetBytes = 0
}

/// The channels of a client's tracks.
struct ChannelMap: Equatable {
  /// By tracks.
  private var pairs: [TransportOffer.ChannelPair?] = []

  init(_ carriers: [Int: Carrier]) {
    for (track, carrier) in carriers {
      guard case .interleaved(let pair) = carrier else { continue }
      while pairs.count <= track { pairs.append(nil) }
      pairs[track] = pair
    }
  }

  /// The packets of these tracks, each behind a dollar sign, its channel and its length.
  func frames(of packets: some Collection<PacketFeed.Packet>) -> InterleavedFrames {
    let length = packets.reduce(0) { $0 + 4 + $1.bytes.readableBytes }
    var frames = InterleavedFrames(bytes: ByteBufferAllocator().buffer(capacity: length))
    for packet in packets {
      guard pairs.indices.contains(packet.track), let pair = pairs[packet.track],
        // Packets are shorter than 65,536 bytes, as datagrams are.
        let size = UInt16(exactly: packet.bytes.readableBytes)
      else { continue }
      frames.bytes.writeMultipleIntegers(
        UInt8(ascii: "$"), packet.goesToControlPort ? pair.rtcp : pair.rtp, size)
      frames.bytes.writeImmutableBuffer(packet.bytes)
      frames.count += 1
      frames.packetBytes += Int(size)
    }
    return frames
  }
}
