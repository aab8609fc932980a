internal import Glibc

/// A time in UTC, to the second.
struct UTCTime: Sendable, Hashable {
  var secondsSince1970: Int

  init(secondsSince1970: Int) { self.secondsSince1970 = secondsSince1970 }

  /// The time in a `SystemDateAndTime` (ONVIF Core §8.3.5); `nil` if there is none in UTC, or if it
  /// is before 1970 or after 9999.
  ///
  /// The local time is of no use: Dahua cameras are wrong about summer time.
  init?(in element: XMLElement) {
    guard let utc = element.first("UTCDateTime"), let date = utc["Date"], let time = utc["Time"],
      let year = date["Year"]?.number, (1970...9999).contains(year),
      let month = date["Month"]?.number, (1...12).contains(month),
      let day = date["Day"]?.number, (1...31).contains(day),
      let hour = time["Hour"]?.number, (0...24).contains(hour),
      let minute = time["Minute"]?.number, (0...59).contains(minute),
      let second = time["Second"]?.number, (0...60).contains(second)
    else { return nil }
    var parts = unsafe tm()
    unsafe parts.tm_year = Int32(year - 1900)
    unsafe parts.tm_mon = Int32(month - 1)
    unsafe parts.tm_mday = Int32(day)
    unsafe parts.tm_hour = Int32(hour)
    unsafe parts.tm_min = Int32(minute)
    unsafe parts.tm_sec = Int32(second)
    secondsSince1970 = unsafe timegm(&parts)
  }

  /// The time later by as many seconds; what no clock shows is bounded.
  func advanced(by seconds: Int) -> UTCTime {
    let sum = secondsSince1970.addingReportingOverflow(seconds)
    return UTCTime(secondsSince1970: sum.overflow ? secondsSince1970 : sum.partialValue)
  }

  /// This machine's clock.
  static var now: UTCTime { UTCTime(secondsSince1970: time(nil)) }
}

extension UTCTime: CustomStringConvertible {
  /// As in XML (XML Schema part 2 §3.2.7), such as `2026-11-26T06:07:08Z`.
  var description: String {
    var parts = unsafe tm()
    var seconds = time_t(secondsSince1970)
    unsafe gmtime_r(&seconds, &parts)
    func digits(_ number: some BinaryInteger) -> String {
      (number < 10 ? "0" : "") + String(number)
    }
    let date =
      unsafe "\(Int(parts.tm_year) + 1900)-\(digits(parts.tm_mon + 1))-\(digits(parts.tm_mday))"
    let time = unsafe "\(digits(parts.tm_hour)):\(digits(parts.tm_min)):\(digits(parts.tm_sec))"
    return "\(date)T\(time)Z"
  }
}
