import RTPWire
import Testing

@testable import Transports

struct RTSPSessionExchangesTests {
  private static func exchange(_ purpose: RTSPExchanges.Purpose) -> RTSPExchanges.Exchange {
    RTSPExchanges.Exchange(purpose: purpose, request: RTSPRequest(method: "X", uri: "*"))
  }

  private static func response(_ sequence: Int?) -> RTSPResponse {
    var response = RTSPResponse(status: 200, reason: "OK")
    if let sequence { response.headers.add("CSeq", String(sequence)) }
    return response
  }

  private static func exchanges(_ purposes: RTSPExchanges.Purpose...) -> RTSPExchanges {
    var exchanges = RTSPExchanges()
    for purpose in purposes { _ = exchanges.begin(exchange(purpose), deadline: nil) }
    return exchanges
  }

  @Test(
    arguments: [
      (exchanges(.keepAlive, .play), Int?.some(1), "answer keepAlive"),
      (exchanges(.keepAlive, .play), 2, "answer play"),
      // Without a number it answers what is waited for, with a wrong one a keep-alive.
      (exchanges(.keepAlive, .play), nil, "guess play"),
      (exchanges(.play, .keepAlive), nil, "guess play"),
      (exchanges(.keepAlive, .play), 0, "guess keepAlive"),
      (exchanges(.play, .keepAlive), 99, "guess keepAlive"),
      (exchanges(.keepAlive), nil, "guess keepAlive"), (exchanges(.play), -7, "guess play"),
      (exchanges(), 1, "unrelated"), (exchanges(), nil, "unrelated"),
    ]
  )
  func aResponseBelongsTo(exchanges: RTSPExchanges, sequence: Int?, expected: String) {
    var exchanges = exchanges
    switch exchanges.take(answeredBy: Self.response(sequence)) {
    case .answer(let exchange): #expect("answer \(exchange.purpose)" == expected)
    case .guess(let exchange): #expect("guess \(exchange.purpose)" == expected)
    case .unrelated: #expect("unrelated" == expected)
    }
  }

  @Test func aCopyOfAnAnswerBelongsToNothing() {
    var exchanges = Self.exchanges(.options)
    _ = exchanges.take(answeredBy: Self.response(1))
    _ = exchanges.begin(Self.exchange(.describe), deadline: nil)
    for _ in 0..<2 {
      guard case .unrelated = exchanges.take(answeredBy: Self.response(1)) else {
        Issue.record("it is taken for another answer")
        return
      }
    }
    #expect(exchanges.awaited?.purpose == .describe)
  }

  @Test func keepAlivesThatAreNeverAnsweredAreForgottenAndWhatIsAwaitedIsNot() {
    var exchanges = Self.exchanges(.play)
    for _ in 0..<1000 { _ = exchanges.begin(Self.exchange(.keepAlive), deadline: nil) }
    #expect(exchanges.awaited?.purpose == .play)
    var count = 0
    while case .guess = exchanges.take(answeredBy: Self.response(nil)) { count += 1 }
    #expect(count == 8)
  }

  @Test func numbersBeginWithOneAndNeverRepeat() {
    var exchanges = RTSPExchanges()
    let numbers = (0..<100).map { _ in exchanges.begin(Self.exchange(.keepAlive), deadline: nil) }
    #expect(numbers == Array(1...100))
    exchanges.abandon()
    #expect(exchanges.begin(Self.exchange(.options), deadline: nil) == 101)
  }
}
