internal import CExpat

/// Why bytes are not taken as XML.
enum XMLFault: Error, Sendable, Hashable {
  /// It is no well-formed XML.
  case malformed
  /// It has a document type, in which entities are declared: no protocol here needs one.
  case documentType
  /// Elements inside one another, or in all, beyond the limits.
  case tooComplex
  /// More bytes than the limit.
  case tooLong(limit: Int)
}

extension XMLElement {
  /// The most bytes of a document: a recorder describes each of its profiles in 10 KiB.
  static let maximumBytes = 4 << 20
  /// The most elements inside one another; SOAP and ONVIF have about ten.
  static let maximumDepth = 48
  /// The most elements of a document; a recorder's profiles have about a hundred each.
  static let maximumElements = 50_000
  /// The most attributes of one element.
  static let maximumAttributes = 64

  /// Reads a document whose bytes are from the network: nothing is fetched, and no entity is
  /// expanded but those of XML itself.
  ///
  /// What follows the root element is ignored, and so is white space before the document: both come
  /// from cameras that send buffers of a fixed size, or templates.
  init(parsing bytes: some Sequence<UInt8>) throws(XMLFault) {
    let bytes = Array(bytes.drop(while: Self.isSpace))
    guard bytes.count <= Self.maximumBytes else { throw .tooLong(limit: Self.maximumBytes) }
    guard let parser = unsafe XML_ParserCreate(nil) else { throw .malformed }
    defer { unsafe XML_ParserFree(parser) }
    let builder = unsafe XMLBuilder(parser)
    unsafe XML_SetUserData(parser, Unmanaged.passUnretained(builder).toOpaque())
    unsafe XML_SetElementHandler(
      parser,
      { context, name, attributes in
        unsafe XMLBuilder.at(context)?.begin(name, attributes)
      },
      { context, _ in unsafe XMLBuilder.at(context)?.end() })
    unsafe XML_SetCharacterDataHandler(parser) { context, text, count in
      unsafe XMLBuilder.at(context)?.append(text, count)
    }
    unsafe XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
      unsafe XMLBuilder.at(context)?.stop(for: .documentType)
    }
    // What is wrong behind the root element does not matter, so the status does not.
    _ = unsafe bytes.withUnsafeBytes { bytes in
      unsafe XML_Parse(
        parser, bytes.bindMemory(to: CChar.self).baseAddress, CInt(clamping: bytes.count), 1)
    }
    withExtendedLifetime(builder) {}
    if let fault = builder.fault { throw fault }
    guard let root = builder.root else { throw .malformed }
    self = root
  }

  /// Whether a byte is white space, line ends included.
  fileprivate static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}

/// Makes elements of what expat calls it with; it belongs to one parser.
@safe private final class XMLBuilder {
  private let parser: XML_Parser
  private var open: [XMLElement] = []
  private var text: [[UInt8]] = []
  private var count = 0
  private(set) var root: XMLElement?
  private(set) var fault: XMLFault?

  init(_ parser: XML_Parser) { unsafe self.parser = parser }

  static func at(_ context: UnsafeMutableRawPointer?) -> XMLBuilder? {
    unsafe context.map { unsafe Unmanaged<XMLBuilder>.fromOpaque($0).takeUnretainedValue() }
  }

  func stop(for fault: XMLFault) {
    self.fault = self.fault ?? fault
    unsafe XML_StopParser(parser, XML_Bool(0))
  }

  func begin(
    _ name: UnsafePointer<CChar>?, _ attributes: UnsafeMutablePointer<UnsafePointer<CChar>?>?
  ) {
    guard fault == nil, let name = unsafe name else { return }
    count += 1
    guard count <= XMLElement.maximumElements, open.count < XMLElement.maximumDepth else {
      return stop(for: .tooComplex)
    }
    var element = XMLElement(name: Self.localName(unsafe String(cString: name)))
    var index = 0
    while let attributes = unsafe attributes, let key = unsafe attributes[index],
      let value = unsafe attributes[index + 1]
    {
      index += 2
      guard index <= 2 * XMLElement.maximumAttributes else { return stop(for: .tooComplex) }
      let key = unsafe String(cString: key)
      if key == "xmlns" || key.hasPrefix("xmlns:") { continue }
      element.attributes[Self.localName(key)] = unsafe String(cString: value)
    }
    open.append(element)
    text.append([])
  }

  func append(_ bytes: UnsafePointer<CChar>?, _ count: CInt) {
    guard fault == nil, !text.isEmpty, let bytes = unsafe bytes else { return }
    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: Int(count))
    unsafe text[text.count - 1].append(contentsOf: part)
  }

  func end() {
    guard fault == nil, var element = open.popLast(), let bytes = text.popLast() else { return }
    let trimmed = bytes.drop(while: XMLElement.isSpace).reversed().drop(while: XMLElement.isSpace)
      .reversed()
    element.text = String(decoding: trimmed, as: UTF8.self)
    if open.isEmpty {
      root = root ?? element
    } else {
      open[open.count - 1].children.append(element)
    }
  }

  private static func localName(_ name: String) -> String {
    name.lastIndex(of: ":").map { String(name[$0...].dropFirst()) } ?? name
  }
}
