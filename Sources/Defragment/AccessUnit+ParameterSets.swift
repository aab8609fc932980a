package import Bitstream
package import NIOCore

extension AccessUnit {
  /// Its parameter sets by name, without trailing zeros; cut and malformed ones are none.
  package var parameterSets: [ParameterSetNames.Name: ByteBuffer] {
    codec.parameterSets(among: units.filter(isParameterSet).map { bytes(of: $0) })
  }

  /// Whether `part` is a parameter set that came whole; longer ones than streams have are none
  /// (``ParameterSets/maximumLength``).
  package func isParameterSet(_ part: NALUnit) -> Bool {
    part.isWhole && part.length <= ParameterSets.maximumLength
      && codec.parameterSetTypes.contains(part.type)
  }

  /// The bytes of a parameter set without trailing zeros.
  package func bytes(ofSet part: NALUnit) -> ByteBuffer { bytes(of: part).withoutTrailingZeros }
}

extension VideoCodec {
  /// The parameter sets among `units` by name, without trailing zeros; of those with one name the
  /// last, because it replaces the others.
  func parameterSets(among units: [ByteBuffer]) -> [ParameterSetNames.Name: ByteBuffer] {
    var found: [ParameterSetNames.Name: ByteBuffer] = [:]
    for unit in units where unit.readableBytes <= ParameterSets.maximumLength {
      let set = unit.withoutTrailingZeros
      if let name = parameterSetNames(of: set)?.own { found[name] = set }
    }
    return found
  }
}

extension ByteBuffer {
  fileprivate var withoutTrailingZeros: ByteBuffer {
    var set = self
    while set.readableBytesView.last == 0 { set.moveWriterIndex(to: set.writerIndex - 1) }
    return set
  }
}
