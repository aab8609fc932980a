// swift-tools-version: 6.2
import PackageDescription

// A separate package: it measures the programs that people run, and links nothing of them.
let package = Package(
  name: "bench",
  targets: [
    .executableTarget(name: "bench"),
    .executableTarget(name: "bare-loop", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "bare-server", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "rtsp-crowd", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "connection-server", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "datagram-sink", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "paced-sender", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(
      name: "srtp-loop", cSettings: [.unsafeFlags(["-O2"])],
      linkerSettings: [.linkedLibrary("srtp2")]
    ),
  ],
  swiftLanguageModes: [.v6]
)
