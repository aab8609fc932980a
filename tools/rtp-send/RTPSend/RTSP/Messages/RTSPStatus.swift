/// The statuses of responses that are used here (RFC 2326 §7.1.1).
enum RTSPStatus: Int, Sendable {
  case ok = 200
  case movedPermanently = 301
  case badRequest = 400
  case unauthorized = 401
  case notFound = 404
  case notAcceptable = 406
  case entityTooLarge = 413
  case targetTooLong = 414
  case parameterNotUnderstood = 451
  case sessionNotFound = 454
  case notValidInThisState = 455
  case invalidRange = 457
  case aggregateNotAllowed = 459
  case unsupportedTransport = 461
  case internalError = 500
  case notImplemented = 501
  case unavailable = 503
  case versionNotSupported = 505
  case optionNotSupported = 551

  var reason: String {
    switch self {
    case .ok: "OK"
    case .movedPermanently: "Moved Permanently"
    case .badRequest: "Bad Request"
    case .unauthorized: "Unauthorized"
    case .notFound: "Not Found"
    case .notAcceptable: "Not Acceptable"
    case .entityTooLarge: "Request Entity Too Large"
    case .targetTooLong: "Request-URI Too Long"
    case .parameterNotUnderstood: "Parameter Not Understood"
    case .sessionNotFound: "Session Not Found"
    case .notValidInThisState: "Method Not Valid In This State"
    case .invalidRange: "Invalid Range"
    case .aggregateNotAllowed: "Aggregate Operation Not Allowed"
    case .unsupportedTransport: "Unsupported Transport"
    case .internalError: "Internal Server Error"
    case .notImplemented: "Not Implemented"
    case .unavailable: "Service Unavailable"
    case .versionNotSupported: "RTSP Version Not Supported"
    case .optionNotSupported: "Option not supported"
    }
  }
}
