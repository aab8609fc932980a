"""What tools/soak and tools/faults share: programs, measurements, clocks, peers that misbehave."""
