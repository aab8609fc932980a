public import NIOCore

extension H264 {
  /// Reads H.264 slice headers.
  public struct PictureReader: PictureReading {
    private var sets = CodingParameterSets()
    private var counter = OrderCounter()
    private var frames = FrameNumbers()

    public init() {}

    public mutating func take(parameterSet unit: ByteBuffer) { sets.take(unit) }

    public func isParameterSet(_ type: UInt8) -> Bool {
      switch NALUnitType(rawValue: type) {
      case .sequenceParameterSet, .pictureParameterSet: true
      default: false
      }
    }

    public func identity(ofSlice head: NALUnitHead, body: ByteBuffer) -> PictureIdentity? {
      switch NALUnitType(rawValue: H264.type(of: head)) {
      // They begin with `slice_id`; the header is in partition A (§7.3.2.9).
      case .codedSliceDataPartitionB, .codedSliceDataPartitionC: nil
      default: header(head, body)?.identity
      }
    }

    public mutating func order(of units: [ByteBuffer]) -> PictureOrder? {
      var hasSlice = false
      var (first, last): (SliceHeader?, ByteBuffer?) = (nil, nil)
      for unit in units {
        switch NALUnitType(rawValue: H264.type(of: NALUnitHead(of: unit))) {
        case .sequenceParameterSet, .pictureParameterSet: sets.take(unit)
        case .codedSliceOfNonIDRPicture, .codedSliceDataPartitionA, .codedSliceOfIDRPicture:
          hasSlice = true
          if first == nil { first = header(of: unit) } else { last = unit }
        default: break
        }
      }
      guard let first, let picture = sets.picture(first.pictureSet),
        let sequence = sets.sequence(picture.sequenceIdentifier)
      else {
        if hasSlice { frames.forget() }
        return nil
      }
      let resets = first.resetsOrder(with: sets)
      let lacksReference = frames.take(first, resets: resets, with: sequence)
      var counts = counter.count(first, resets: resets, with: sequence)
      var field = first.field
      // Both fields of a frame may be in one access unit.
      if let parity = first.field, let second = last.flatMap(header),
        second.field == parity.opposite
      {
        let other = counter.count(
          second, resets: second.resetsOrder(with: sets), with: sequence)
        counts.top = counts.top ?? other.top
        counts.bottom = counts.bottom ?? other.bottom
        field = nil
      }
      // Others are forbidden (§8.2.1), and nothing can be placed by them.
      guard PictureOrder.counts.contains(counts.lower) else { return nil }
      var order = PictureOrder(count: counts.lower)
      order.lacksReference = lacksReference
      order.beginsSequence = first.isIDR || resets
      order.mayBeLed = first.isIDR
      order.field = field
      order.isDecodingOrder = sequence.order == .decoding
      order.reorderDepth = sequence.reorderDepth
      order.capacity = sequence.capacity
      order.isBidirectional = first.isBidirectional
      order.hasParts = last != nil
      // A frame has two fields, and each is counted.
      order.usualStep = 2
      return order
    }

    /// H.264 has no such message.
    public func hash(of units: [ByteBuffer]) -> PictureHash? { nil }

    public mutating func restart() {
      counter = OrderCounter()
      frames.forget()
    }

    private func header(of unit: ByteBuffer) -> SliceHeader? {
      header(NALUnitHead(of: unit), unit.dropping(bytes: 1))
    }

    private func header(_ head: NALUnitHead, _ body: ByteBuffer) -> SliceHeader? {
      try? SliceHeader(head: head, body: body, with: sets)
    }
  }
}
