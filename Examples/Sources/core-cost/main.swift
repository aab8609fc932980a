import CoreCost

// Prints what a packet costs in the core by itself, where packets in memory become access units:
// its codec, how it came, nanoseconds and allocations.
//
// usage: core-cost [PICTURES]

let pictures = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 20_000
for codec in Traffic.Codec.allCases {
  for isReordered in [false, true] {
    let cost = try CoreCost(of: Traffic(codec, pictures: pictures, isReordered: isReordered))
    print(
      codec.rawValue, isReordered ? "reordered" : "in-order", cost.nanosecondsPerPacket,
      cost.allocationsPerPacket)
  }
}
