// swift-tools-version: 6.2
import PackageDescription

// What other programs can do with the package in the parent folder, which does not know them.
let package = Package(
  name: "rtp-recv-examples",
  dependencies: [
    .package(name: "rtp-recv", path: ".."),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
  ],
  targets: [
    // A transport with its own scheme, a payload format and an output.
    .target(
      name: "ExtraRooms",
      dependencies: [
        .product(name: "Bitstream", package: "rtp-recv"),
        .product(name: "Defragment", package: "rtp-recv"),
        .product(name: "Decode", package: "rtp-recv"),
        .product(name: "Outputs", package: "rtp-recv"),
        .product(name: "RTPWire", package: "rtp-recv"),
        .product(name: "Transports", package: "rtp-recv"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    // The command line tool with them.
    .executableTarget(
      name: "rtp-recv-extra",
      dependencies: [
        "ExtraRooms",
        .product(name: "CommandLineTool", package: "rtp-recv"),
        .product(name: "Defragment", package: "rtp-recv"),
        .product(name: "Outputs", package: "rtp-recv"),
        .product(name: "Transports", package: "rtp-recv"),
      ]
    ),
    // The core alone; a test checks that it links no library of C.
    .executableTarget(
      name: "access-units",
      dependencies: [
        .product(name: "Reception", package: "rtp-recv")
      ]
    ),
    .executableTarget(
      name: "first-frames",
      dependencies: [
        .product(name: "Receiver", package: "rtp-recv")
      ]
    ),
    .executableTarget(
      name: "many-streams",
      dependencies: [
        .product(name: "Receiver", package: "rtp-recv"),
        .product(name: "Reception", package: "rtp-recv"),
        .product(name: "RTPProcessor", package: "rtp-recv"),
        .product(name: "Transports", package: "rtp-recv"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    .executableTarget(
      name: "billion-packets",
      dependencies: [
        .product(name: "RTPProcessor", package: "rtp-recv"),
        .product(name: "RTPWire", package: "rtp-recv"),
        .product(name: "NIOCore", package: "swift-nio"),
      ]
    ),
    // Counts allocations in place of the C library's own functions.
    .target(name: "CAllocations"),
    .target(
      name: "CoreCost",
      dependencies: [
        "CAllocations",
        .product(name: "Reception", package: "rtp-recv"),
        .product(name: "RTPWire", package: "rtp-recv"),
        .product(name: "NIOCore", package: "swift-nio"),
      ]
    ),
    .executableTarget(name: "core-cost", dependencies: ["CoreCost"]),
    .testTarget(name: "CoreCostTests", dependencies: ["CoreCost"]),
    .testTarget(
      name: "ExtraRoomsTests",
      dependencies: [
        "ExtraRooms",
        .product(name: "RTPWire", package: "rtp-recv"),
        .product(name: "TransportConformance", package: "rtp-recv"),
        .product(name: "Transports", package: "rtp-recv"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
