import NIOCore
import Testing
import Transports

@testable import RTPSend

/// With what the runs of one sender begin.
@Suite struct RunNumbersTests {
  private static func sending(isProtected: Bool) throws -> SenderConfiguration {
    let bytes = (0..<30).map { UInt8($0) }
    let key = try SRTPKeyMaterial(suite: .aesCM128SHA1Tag80, keyAndSalt: bytes.span.bytes)
    var video = PacketFeed.Configuration(
      recipe: .pattern(PatternConfiguration()),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 2, initialTimestamp: 3))
    var sound = PacketFeed.SoundConfiguration(
      recipe: .tone(try SoundFormat("pcmu"), seconds: nil),
      stream: RTPStream.Configuration(ssrc: 4, initialSequence: 5, initialTimestamp: 6))
    if isProtected { (video.key, sound.key) = (key, key) }
    return SenderConfiguration(
      tracks: [TrackConfiguration(.video(video)), TrackConfiguration(.sound(sound))],
      destination: .listen(host: "", port: 0))
  }

  private static func sources(_ sending: SenderConfiguration) -> [UInt32] {
    sending.tracks.map(\.media.stream.ssrc)
  }

  /// Of a sender that has a client after the other, or many by HTTP.
  @Test(arguments: [true, false]) func aKeyAloneMakesSourcesDiffer(isProtected: Bool) throws {
    var runs = ConfiguredRuns(try Self.sending(isProtected: isProtected))
    let all = (0..<1000).map { _ in runs.next() }
    #expect(Self.sources(all[0]) == [1, 4])
    #expect(Set(all.flatMap(Self.sources)).count == (isProtected ? 2000 : 2))
    for sending in all {
      #expect(sending.tracks.map(\.media.stream.initialSequence) == [2, 5])
      #expect(sending.tracks.map(\.media.stream.initialTimestamp) == [3, 6])
    }
  }

  @Test func noSourceComesTwice() throws {
    let sending = try Self.sending(isProtected: true)
    var probe = RunNumbers(seed: 7)
    let drawn = Self.sources(probe.next(sending, keeps: false))
    // Not even if somebody else had it first.
    var other = sending
    other.tracks[0].media.stream.ssrc = drawn[1]
    var numbers = RunNumbers(seed: 7)
    numbers.note(other)
    let all = (0..<10_000).flatMap { _ in Self.sources(numbers.next(sending, keeps: false)) }
    #expect(Set(all).count == 20_000)
    #expect(!all.contains(drawn[1]))
  }
}
