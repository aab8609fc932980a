/// What is said of a camera beyond the tables of counters.
extension MetricFamily {
  static let up = MetricFamily(.gauge, "up", "1 while media comes, otherwise 0.")
  static let state = MetricFamily(
    .gauge, "state", "1 for the state that the camera is in, 0 for the others.")
  static let runs = MetricFamily(.counter, "runs", "Runs that began, each with its connections.")
  static let runsFailed = MetricFamily(
    .counter, "runs_failed", "Runs that ended by themselves without success.")
  static let connectionFailures = MetricFamily(
    .counter, "connection_failures",
    "Connections that ended or could not be opened, by what that says of the next attempt.")
  static let outages = MetricFamily(
    .counter, "outage_seconds", "Time without media between connections.")
  static let lastMedia = MetricFamily(
    .gauge, "last_media_timestamp_seconds", "When media last came, in Unix time.")
  static let lastFrame = MetricFamily(
    .gauge, "last_frame_timestamp_seconds", "When the last picture came, in Unix time.")
  static let stream = MetricFamily(.info, "stream", "What comes, and by what.")

  static let datagrams = MetricFamily(
    .counter, "datagrams", "Datagrams that the transport handed on, of all media.")
  static let datagramBytes = MetricFamily(.counter, "datagram_bytes", "Bytes of these datagrams.")
  static let unrecognized = MetricFamily(
    .counter, "datagrams_unrecognized", "Datagrams dropped before the codec was known.")
  static let jitter = MetricFamily(
    .gauge, "jitter_seconds", "Interarrival jitter (RFC 3550 section 6.4.1).")
  static let roundTrip = MetricFamily(
    .gauge, "repair_round_trip_seconds", "From a request for packets to its answer.")

  static let frames = MetricFamily(.counter, "frames", "Frames handed on, by result.")
  static let framesDamaged = MetricFamily(
    .counter, "frames_not_intact", "Frames that are not intact, by cause.")
  static let framesFailed = MetricFamily(
    .counter, "frames_failed", "Access units that became no frame, by reason.")
  static let freezes = MetricFamily(.counter, "freezes", "Times that the picture stood still.")
  static let frozen = MetricFamily(
    .counter, "frozen_seconds", "Time for which the picture stood still.")
  static let latency = MetricFamily(
    .counter, "frame_latency_seconds",
    "From the last packet of a frame to the decoded frame, for all frames together.")
  static let longestKeyInterval = MetricFamily(
    .gauge, "longest_key_interval_seconds", "The longest time between two key pictures of the run.")
  static let soundLength = MetricFamily(
    .counter, "sound_seconds", "Length of the sound that was handed on.")
  static let decoderThreads = MetricFamily(
    .gauge, "decoder_threads", "Threads that decode now; 0 where nothing is decoded.")
  static let decoderLoad = MetricFamily(
    .gauge, "decoder_load_ratio", "How much of the last second the decoder worked.")
  static let decoderLimit = MetricFamily(
    .gauge, "decoder_at_limit", "1 while decoding hardly keeps up, or not any more.")

  static let outputWaiting = MetricFamily(
    .gauge, "output_items_waiting", "Items that wait for an output to write them.")
  static let outputFaults = MetricFamily(
    .counter, "output_errors", "Times that an output ended by an error; the log says by which.")
  static let outputStall = MetricFamily(
    .gauge, "output_stall_seconds", "How long the disk has not taken what is written.")
  static let segments = MetricFamily(
    .counter, "segments", "Complete files of recordings, by why each has ended.")
  static let storageFree = MetricFamily(
    .gauge, "storage_free_bytes", "Bytes free where the camera's files are.")
  static let storageSize = MetricFamily(
    .gauge, "storage_size_bytes", "Bytes in all where the camera's files are.")
}
