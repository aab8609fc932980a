extension VideoCodec {
  /// How the NAL units of a codec go in RTP, for those that send them on: whole or in fragments,
  /// with their parameter sets in the description.
  public struct Packetization: Sendable {
    /// Bytes of the header of a NAL unit.
    public let headerLength: Int
    /// The names of parameter sets in `a=fmtp`: one for each of ``VideoCodec/parameterSetTypes``,
    /// or one for all.
    public let setParameters: [String]
    /// What `a=fmtp` says beside them.
    public let otherParameters: [String]
    /// What stands before each fragment of a unit that begins with `head`, apart from the byte with
    /// its type.
    public let fragmentIndicator: @Sendable (_ head: NALUnitHead) -> [UInt8]

    public init(
      headerLength: Int, setParameters: [String], otherParameters: [String] = [],
      fragmentIndicator: @escaping @Sendable (_ head: NALUnitHead) -> [UInt8]
    ) {
      self.headerLength = headerLength
      self.setParameters = setParameters
      self.otherParameters = otherParameters
      self.fragmentIndicator = fragmentIndicator
    }
  }
}
