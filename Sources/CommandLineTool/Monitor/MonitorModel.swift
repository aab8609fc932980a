import Telemetry

/// What the monitor shows of one stream.
struct MonitorModel: Sendable {
  struct Event: Sendable, Hashable {
    /// Of the day: `12:34:56`.
    var time: String
    var words: String
    var tone: Tone
  }

  struct Graph: Sendable, Hashable {
    var label: String
    var value: String
    var samples: [Double]
    /// The least value at the top.
    var top = 0.0
    var tone = Tone.plain
  }

  struct Fact: Sendable, Hashable {
    var label: String
    var words: String
    var tone = Tone.plain
  }

  var name = ""
  var state = CameraState.resting
  /// The state in words.
  var stateWords = ""
  /// In seconds, since the run began.
  var elapsed = 0.0
  /// What comes.
  var contents = ""
  var graphs: [Graph] = []
  var facts: [Fact] = []
  /// The latest last.
  var events: [Event] = []

  /// For the table of a fleet.
  var bitsPerSecond = 0.0
  var picturesPerSecond = 0.0
  var lossPercentage = 0.0
  var jitter = 0.0
  var lost: UInt64 = 0
  /// What came to harm in the last ten seconds, in words; empty if nothing.
  var harm = ""

  /// How much it needs attention: more where the number is lower.
  var rank: Int {
    switch state {
    case .resting: 0
    case .reconnecting: 1
    case .connecting: 2
    case .waiting: 3
    case .playing: harm.isEmpty ? 5 : 4
    }
  }

  var stateTone: Tone {
    switch state {
    case .playing: harm.isEmpty ? .good : .warning
    case .connecting, .waiting: .warning
    case .resting, .reconnecting: .bad
    }
  }
}
