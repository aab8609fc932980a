"""Peers that misbehave as a case tells them to."""
