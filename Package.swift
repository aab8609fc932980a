// swift-tools-version: 6.2
import PackageDescription

/// What the targets of tools/fuzz reach.
let fuzzed: [Target.Dependency] = [
  "RTPWire", "RTPProcessor", "Bitstream", "Defragment", "Reception", "BlockingIO", "Decode",
  "Outputs", "CFFmpeg", "Transports", "Serving", "CommandLineTool", "RTPSend", "Impairment",
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOEmbedded", package: "swift-nio"),
  .product(name: "NIOHTTP1", package: "swift-nio"),
  .product(name: "NIOWebSocket", package: "swift-nio"),
]

let package = Package(
  name: "rtp-recv",
  products: [
    .library(name: "RTPWire", targets: ["RTPWire"]),
    .library(name: "RTPProcessor", targets: ["RTPProcessor"]),
    .library(name: "Bitstream", targets: ["Bitstream"]),
    .library(name: "Defragment", targets: ["Defragment"]),
    .library(name: "Reception", targets: ["Reception"]),
    .library(name: "BlockingIO", targets: ["BlockingIO"]),
    .library(name: "Decode", targets: ["Decode"]),
    .library(name: "Outputs", targets: ["Outputs"]),
    .library(name: "Transports", targets: ["Transports"]),
    .library(name: "Receiver", targets: ["Receiver"]),
    .library(name: "JetStream", targets: ["JetStream"]),
    .library(name: "Serving", targets: ["Serving"]),
    .library(name: "Telemetry", targets: ["Telemetry"]),
    .library(name: "CommandLineTool", targets: ["CommandLineTool"]),
    .library(name: "TransportConformance", targets: ["TransportConformance"]),
    .executable(name: "rtp-recv", targets: ["rtp-recv"]),
    .executable(name: "rtp-send", targets: ["rtp-send"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  ],
  targets: [
    // Each module imports only modules upstream of it.
    .target(
      name: "RTPWire",
      dependencies: [.product(name: "NIOCore", package: "swift-nio")]
    ),
    .target(
      name: "RTPProcessor",
      dependencies: ["RTPWire", .product(name: "NIOCore", package: "swift-nio")]
    ),
    .target(
      name: "Bitstream",
      dependencies: [.product(name: "NIOCore", package: "swift-nio")]
    ),
    .target(
      name: "Defragment",
      dependencies: [
        "RTPWire", "RTPProcessor", "Bitstream", .product(name: "NIOCore", package: "swift-nio"),
      ]
    ),
    .target(
      name: "Reception",
      dependencies: [
        "RTPWire", "RTPProcessor", "Bitstream", "Defragment",
        .product(name: "NIOCore", package: "swift-nio"),
      ]
    ),
    // What blocks a thread: queues in front of threads, files and pipes.
    .target(
      name: "BlockingIO",
      dependencies: ["RTPWire", "CLinux", .product(name: "NIOCore", package: "swift-nio")]
    ),
    // FFmpeg's libraries, loaded at run time. Of Debian's packages it takes libavcodec-dev,
    // libavformat-dev, libavutil-dev, libswresample-dev and libswscale-dev.
    .target(name: "CFFmpeg"),
    // The same, linked, for those that read files and encode.
    .systemLibrary(
      name: "CAVFormat", pkgConfig: "libavformat libavcodec libswscale libavutil",
      providers: [.apt(["libavformat-dev", "libavcodec-dev", "libswscale-dev", "libavutil-dev"])]),
    .systemLibrary(
      name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),
    // A process for the decoder, and walls around it.
    .target(name: "CBox", dependencies: ["CSeccomp"]),
    .target(
      name: "Decode",
      dependencies: [
        "RTPWire", "BlockingIO", "Bitstream", "Defragment", "CBox", "CFFmpeg",
        .product(name: "NIOCore", package: "swift-nio"),
      ]
    ),
    // The memory and the socket of a ring of frames; its public header is for readers in C.
    .target(name: "CFrameRing"),
    // RGB of planes, with the processor's vector instructions.
    .target(name: "CPixels"),
    .systemLibrary(
      name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),
    .target(
      name: "Outputs",
      dependencies: [
        "RTPWire", "BlockingIO", "Bitstream", "Defragment", "Decode", "CFFmpeg", "CFrameRing",
        "CPixels", "CTurboJPEG",
        .product(name: "NIOCore", package: "swift-nio"),
      ]
    ),
    .systemLibrary(
      name: "CAVHash", pkgConfig: "libavutil", providers: [.apt(["libavutil-dev"])]),
    .systemLibrary(name: "CSRTP", pkgConfig: "libsrtp2", providers: [.apt(["libsrtp2-dev"])]),
    .target(name: "CLinux"),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(
      name: "Transports",
      dependencies: [
        "RTPWire", "BlockingIO", "CLinux", "CCurl", "CExpat", "COpenSSL", "CSRTP", "CZlib",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ]
    ),
    .target(
      name: "Receiver",
      dependencies: [
        "RTPWire", "BlockingIO", "RTPProcessor", "Bitstream", "Defragment", "Reception", "Decode",
        "Outputs", "Transports",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    // The figures of a receiver for swift-metrics, and as text for Prometheus.
    .target(
      name: "Telemetry",
      dependencies: [
        "RTPWire", "BlockingIO", "RTPProcessor", "Bitstream", "Defragment", "Reception", "Decode",
        "Outputs", "Transports", "Receiver",
        .product(name: "CoreMetrics", package: "swift-metrics"),
      ]
    ),
    .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
    // Cameras in NATS: an output, a transport, and the leases of a cluster.
    .target(
      name: "JetStream",
      dependencies: [
        "RTPWire", "BlockingIO", "Bitstream", "Defragment", "Outputs", "Transports", "CNATS",
        .product(name: "NIOCore", package: "swift-nio"),
      ]
    ),
    // For authors of transports: checks every clause of the contract from a test.
    .target(
      name: "TransportConformance",
      dependencies: [
        "RTPWire", "Transports",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    // The live page: HTTP, WebSocket, and what a browser needs.
    .target(
      name: "Serving",
      dependencies: [
        "RTPWire", "BlockingIO", "Bitstream", "Defragment", "Decode", "Outputs", "Receiver",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ],
      resources: [.embedInCode("Page")]
    ),
    // What both command lines say of an option or a value that they do not know.
    .target(
      name: "OptionNames",
      dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")]
    ),
    // The command line tool as a library, for programs that extend it.
    .target(
      name: "CommandLineTool",
      dependencies: [
        "RTPWire", "BlockingIO", "CLinux", "RTPProcessor", "Bitstream", "Defragment", "Reception",
        "Decode", "Outputs", "Transports", "JetStream", "Receiver", "Serving", "Telemetry",
        "OptionNames",
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Yams", package: "Yams"),
      ]
    ),
    .executableTarget(name: "rtp-recv", dependencies: ["CommandLineTool"]),

    // Bad networks and bad senders by a plan: a value on a virtual clock.
    .target(
      name: "Impairment",
      dependencies: ["RTPWire", .product(name: "NIOCore", package: "swift-nio")],
      path: "tools/rtp-send/Impairment"
    ),
    // The pictures of the sender's test pattern, and what is read from them.
    .target(name: "TestPattern", path: "tools/rtp-send/TestPattern"),
    // The sender for all tests, which can misbehave on request.
    .target(
      name: "RTPSend",
      dependencies: [
        "TestPattern", "Impairment", "RTPWire", "Bitstream", "BlockingIO", "Transports", "CFFmpeg",
        "CAVFormat",
        "CAVHash", "CLinux",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      path: "tools/rtp-send/RTPSend"
    ),
    .executableTarget(
      name: "rtp-send",
      dependencies: [
        "RTPSend", "Impairment", "RTPWire", "Transports", "BlockingIO", "OptionNames",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "tools/rtp-send/rtp-send"
    ),

    // What the tests share: generators, sinks, waits with a deadline, programs and files.
    .target(
      name: "TestSupport", dependencies: ["RTPWire", "Bitstream", "Transports", "CAVHash"],
      path: "Tests/TestSupport"),
    .testTarget(name: "RTPWireTests", dependencies: ["RTPWire", "TestSupport"]),
    .testTarget(
      name: "RTPProcessorTests",
      dependencies: ["RTPProcessor", "RTPWire", "Impairment", "TestSupport"]),
    .testTarget(
      name: "DefragmentTests",
      dependencies: ["Bitstream", "Defragment", "RTPProcessor", "RTPWire", "TestSupport"],
      resources: [.copy("Vectors")]
    ),
    .testTarget(
      name: "DecodeTests",
      dependencies: [
        "Decode", "Outputs", "Reception", "BlockingIO", "Bitstream", "Defragment", "RTPWire",
        "CFFmpeg", "CPixels", "TestSupport",
      ],
      resources: [.copy("Decoders"), .copy("Readers")]
    ),
    .testTarget(name: "BlockingIOTests", dependencies: ["BlockingIO", "RTPWire", "TestSupport"]),
    .testTarget(
      name: "TransportsTests",
      dependencies: [
        "Transports", "COpenSSL", "RTPWire", "TestSupport",
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      resources: [.copy("Certificates")]
    ),
    .testTarget(
      name: "TransportConformanceTests",
      dependencies: [
        "TransportConformance", "Transports", "JetStream", "RTPWire", "TestSupport",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    .testTarget(
      name: "ReceptionTests",
      dependencies: [
        "Reception", "Bitstream", "Defragment", "RTPProcessor", "RTPWire", "RTPSend", "Impairment",
        "TestSupport",
      ]
    ),
    .testTarget(
      name: "ReceiverTests",
      dependencies: [
        "Receiver", "Telemetry", "Reception", "Transports", "Decode", "Outputs", "BlockingIO",
        "Bitstream", "Defragment", "RTPProcessor", "RTPWire", "RTPSend", "TestPattern",
        "Impairment", "TestSupport",
        .product(name: "CoreMetrics", package: "swift-metrics"),
      ]
    ),
    .testTarget(
      name: "JetStreamTests",
      dependencies: [
        "JetStream", "Transports", "Outputs", "BlockingIO", "Bitstream", "Defragment", "RTPWire",
        "TestSupport",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    .testTarget(
      name: "CommandLineToolTests",
      dependencies: [
        "CommandLineTool", "BlockingIO", "JetStream", "Outputs", "RTPProcessor", "RTPWire",
        "Receiver", "Telemetry", "TestSupport", "Transports",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "NIOCore", package: "swift-nio"),
      ]
    ),
    .testTarget(
      name: "TelemetryTests",
      dependencies: [
        "Telemetry", .product(name: "CoreMetrics", package: "swift-metrics"),
      ]
    ),
    .testTarget(
      name: "ServingTests",
      dependencies: [
        "Serving", "BlockingIO", "Bitstream", "Defragment", "RTPWire", "TestSupport",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ]
    ),
    .testTarget(
      name: "RTPSendTests",
      dependencies: [
        "RTPSend", "TestPattern", "Impairment", "Bitstream", "BlockingIO", "Defragment",
        "RTPProcessor", "RTPWire", "Transports", "TestSupport",
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      path: "tools/rtp-send/Tests"
    ),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "Decode", "Bitstream", "Defragment", "RTPWire", "Impairment", "TestSupport", "Transports",
      ],
      resources: [.copy("Servers")]
    ),
    .testTarget(
      name: "MisbehaviourTests",
      dependencies: [
        "Receiver", "Reception", "Transports", "BlockingIO", "Bitstream", "Defragment", "RTPWire",
        "RTPSend", "TestSupport",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      resources: [.copy("Scripts")]
    ),
    // What tools/fuzz feeds with made-up input; here it replays the files in Corpus.
    .testTarget(
      name: "FuzzTests", dependencies: fuzzed, exclude: ["Fuzzer", "REPORT.md", "seeds.py"],
      resources: [.copy("Corpus")]),
  ],
  swiftLanguageModes: [.v6]
)

// tools/fuzz makes a program of the same files. It links libFuzzer, so no other build has it.
if Context.environment["RTP_RECV_FUZZER"] != nil {
  package.targets.removeAll { $0.name == "FuzzTests" }
  package.targets.append(
    .executableTarget(
      name: "fuzzer", dependencies: fuzzed, path: "Tests/FuzzTests",
      exclude: ["Corpus", "CorpusTests.swift", "REPORT.md", "seeds.py"]))
  for target in package.targets where ["CPixels", "CFrameRing"].contains(target.name) {
    target.cSettings = [.unsafeFlags(["-fsanitize=address"])]
  }
}

// tools/build makes both programs at once, and nothing that only tests are made of.
if Context.environment["RTP_RECV_PROGRAMS"] != nil {
  let forTests: Set = ["TestSupport", "TransportConformance"]
  package.products.removeAll { forTests.contains($0.name) }
  package.targets.removeAll { $0.type == .test || forTests.contains($0.name) }
}

let targetsInC: Set = ["CBox", "CFFmpeg", "CLinux", "CFrameRing", "CPixels"]
for target in package.targets where target.type != .system && !targetsInC.contains(target.name) {
  target.swiftSettings = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ]
  // Strict memory safety is not needed in tests.
  let isForTests = target.type == .test || ["TestSupport", "fuzzer"].contains(target.name)
  if !isForTests { target.swiftSettings?.append(.strictMemorySafety()) }
}
