"""Faults of networks, servers, cameras, disks and users as scripted cases: see tools/faults."""
