import Bitstream
import Decode
import NIOCore

/// A file format of recordings: its names, and what libavformat's muxer of it has to be told.
struct Container: Sendable {
  /// A setting of the muxer.
  typealias Setting = (name: String, value: String)

  /// The name and usual file ending.
  let name: String
  let otherEndings: [String]
  /// libavformat's name.
  let muxerName: String
  /// Whether a sample leaves the muxer at once; otherwise with the fragment that it belongs to.
  let isImmediate: Bool
  /// Whether the header is a `moov` box, in which the duration is replaced at the end.
  let hasMovieHeader: Bool
  /// Whether NAL units are behind their lengths, not behind start codes.
  ///
  /// libavformat would convert them, but it has to search for the start codes that are known here.
  let hasLengths: Bool
  /// Set before each key picture.
  let keyPictureFlags: Setting?
  /// Four characters that stand for a codec instead of libavformat's: those which say that the
  /// parameter sets are in the header alone.
  let tags: [VideoCodec: String]
  /// The sound that can be copied into it.
  private let copiedSound: Set<SoundCodec>
  /// Whether each unit of AAC is behind a header of its own (ADTS), which cannot name all of AAC.
  private var hasHeadersOfAAC = false
  /// What other sound becomes; linear samples where it is `nil`.
  private var coding: SoundEncoder.Coding? = .aac
  /// Whether it holds pictures too.
  var holdsPictures = true
  /// Whether nothing in it says when its sound is heard, so that a hole has to be filled.
  var fillsHoles = false
  private let settings: [Setting]
  /// What an output that cannot seek needs besides.
  private let pipeSettings: [Setting]

  /// Whether the parameter sets of `codec` are in the header alone.
  func takesSetsFromHeader(of codec: VideoCodec) -> Bool { tags[codec] != nil }

  /// Whether a file that began with `sets` can go on with a key picture that brings `own`.
  ///
  /// Some cameras change a picture parameter set with every key picture. Where the sets are among
  /// the pictures, that is no reason to end a file. Apple's players read the header of MP4 alone.
  func goesOn(after sets: StreamSets, with own: StreamSets, of codec: VideoCodec) -> Bool {
    sets.contains(hasMovieHeader ? own : own.withoutPictureSets(of: codec))
  }

  func options(canSeek: Bool) -> [Setting] { settings + (canSeek ? [] : pipeSettings) }

  /// Whether sound of that format is copied.
  ///
  /// ADTS has room for the usual configurations alone. Where a program config element says more,
  /// libavformat writes it once, and nothing behind a reader's later beginning could be decoded.
  func copies(_ format: SoundFormat) -> Bool {
    guard copiedSound.contains(format.codec) else { return false }
    guard hasHeadersOfAAC, format.codec == AAC.codec else { return true }
    let configuration = try? AudioSpecificConfig(parsing: ByteBuffer(bytes: format.configuration))
    return configuration.flatMap { ADTSHeader(of: $0, byteCount: 0) } != nil
  }

  /// What sound of that format, which is not copied, becomes.
  func coding(for format: SoundFormat) -> SoundEncoder.Coding {
    coding ?? (format.codec == LinearPCM.l24 ? .linear24 : .linear16)
  }

  /// Fragmented, so that a crash costs the last fragment at most.
  ///
  /// A fragment ends after a second, 16 MiB, or with the group of pictures. `delay_moov` makes the
  /// edit list right: without it, the first picture of a stream with B pictures is shown late.
  static let mp4 = Container(
    name: "mp4", otherEndings: ["m4v"], muxerName: "mp4", isImmediate: false,
    hasMovieHeader: true, hasLengths: true, keyPictureFlags: nil,
    // Apple's players know H.265 by this one only; libavformat writes `hev1`.
    tags: [H265.codec: "hvc1"], copiedSound: [AAC.codec, Opus.codec],
    settings: [
      ("movflags", fragments), ("frag_duration", "1000000"),
      ("frag_size", "\(16 << 20)"), ("write_tmcd", "0"),
    ],
    // A pipe needs no list of its fragments at the end, which would grow in memory until then.
    pipeSettings: [("movflags", "\(fragments)+skip_trailer")])

  private static let fragments = "frag_keyframe+delay_moov+default_base_moof"

  /// A cluster ends after a second or 5 MB.
  static let matroska = Container(
    name: "mkv", otherEndings: [], muxerName: "matroska", isImmediate: false,
    hasMovieHeader: false, hasLengths: true, keyPictureFlags: nil, tags: [:],
    copiedSound: [
      AAC.codec, Opus.codec, G711.muLaw, G711.aLaw, G722.codec, LinearPCM.l8, LinearPCM.l16,
      LinearPCM.littleEndian16, LinearPCM.l24, LinearPCM.littleEndian24,
    ], settings: [("cluster_time_limit", "1000")],
    pipeSettings: [("live", "1")])

  /// Playable from each key picture on, before which the tables are repeated.
  static let transportStream = Container(
    name: "ts", otherEndings: ["m2ts", "mts"], muxerName: "mpegts", isImmediate: true,
    hasMovieHeader: false, hasLengths: false, keyPictureFlags: ("mpegts_flags", "+resend_headers"),
    tags: [:], copiedSound: [AAC.codec, Opus.codec], hasHeadersOfAAC: true,
    settings: [("mpegts_m2ts_mode", "0")], pipeSettings: [])

  /// Linear samples, of 24 bits where the sender's have as many, otherwise of 16.
  ///
  /// Beyond 4 GiB the file becomes RF64 (EBU Tech 3306), for whose lengths there is room from the
  /// beginning.
  static let wave = Container(
    name: "wav", otherEndings: ["wave"], muxerName: "wav", isImmediate: true,
    hasMovieHeader: false, hasLengths: false, keyPictureFlags: nil, tags: [:], copiedSound: [],
    coding: nil, holdsPictures: false, settings: [("rf64", "auto")], pipeSettings: [])

  /// AAC with a header before each unit (ADTS, ISO/IEC 13818-7 §6.2).
  static let audioDataTransportStream = Container(
    name: "aac", otherEndings: ["adts"], muxerName: "adts", isImmediate: true,
    hasMovieHeader: false, hasLengths: false, keyPictureFlags: nil, tags: [:],
    copiedSound: [AAC.codec], hasHeadersOfAAC: true, holdsPictures: false, fillsHoles: true,
    settings: [], pipeSettings: [])

  /// Opus in Ogg (RFC 7845), half a second in each page: the muxer keeps a page back until the next
  /// is whole, and a crash costs both.
  static let opus = Container(
    name: "opus", otherEndings: ["ogg"], muxerName: "opus", isImmediate: false,
    hasMovieHeader: false, hasLengths: false, keyPictureFlags: nil, tags: [:],
    copiedSound: [Opus.codec], coding: .opus,
    holdsPictures: false, fillsHoles: true, settings: [("page_duration", "500000")],
    pipeSettings: [])

  /// Those of pictures and sound.
  static let recordings = [mp4, matroska, transportStream]
  /// Those of sound alone.
  static let sounds = [wave, audioDataTransportStream, opus]
}
