/// The types of RTCP packets (RFC 3550 §12.1, RFC 4585 §6.1, RFC 3611 §2).
public enum RTCPPacketType: UInt8, Sendable, Hashable, CaseIterable {
  case senderReport = 200
  case receiverReport = 201
  case sourceDescription = 202
  case goodbye = 203
  case applicationDefined = 204
  case transportFeedback = 205
  case payloadFeedback = 206
  case extendedReport = 207
}
