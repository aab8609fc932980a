"""Who sends bitstreams, and how they come: see tools/conformance."""
