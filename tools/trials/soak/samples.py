"""Samples of everything that runs, taken again and again."""

from __future__ import annotations

import json
import time
from collections import defaultdict

from ..measuring import Line, children, fit, usage
from ..programs import Impatience
from ..web import last_object, metrics
from .stations import Stations


# Of these only the least in each of so many windows counts. A pool of threads breathes, and what
# comes late, or in fragments of a second, comes late by as much as that; but a thread that is left
# behind, or a clock that drifts, is in the least as well.
LEAST = {"threads", "decoder threads", "stream drift ms"}
WINDOWS = 24

# What a leak does, and what settles or leaps does not: it grows in each third of the time. Shorter
# ones, in hours, say little.
THIRDS = 3
SHORTEST_THIRD = 0.25


class Samples:
    """Series of figures, each by program and kind, with the hour of each sample."""

    def __init__(self, stations: Stations) -> None:
        self.stations = stations
        self.series: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        self.scrapes = 0
        self.failed_scrapes: list[str] = []
        self.processor: dict[str, float] = {}
        self.died: dict[str, str] = {}
        self._began = time.monotonic()

    def _note(self, name: str, kind: str, value: float) -> None:
        self.series[name, kind].append(((time.monotonic() - self._began) / 3600, value))

    def take(self) -> None:
        for name, member in self.stations.members.items():
            now = usage(member.program.id)
            if not member.program.is_running() or now is None:
                if member.status is None and not member.rests:
                    self.died.setdefault(
                        name, f"ended with {member.program.status}: "
                        f"{member.program.text[-500:]}")
                continue
            self.processor[name] = now.processor
            # One that was begun again is another process.
            if not member.restarts:
                self._note(name, "resident MiB", now.resident)
                self._note(name, "own MiB", now.own)
                self._note(name, "descriptors", now.descriptors)
                self._note(name, "threads", now.threads)
                if decoders := [d for d in map(usage, children(member.program.id)) if d]:
                    self._note(name, "decoder MiB", sum(d.own for d in decoders))
                    self._note(name, "decoder threads", sum(d.threads for d in decoders))
            if member.stats and name.startswith("recv"):
                self._take_statistics(name, last_object(member.stats))
        for camera in ("tcp", "udp"):
            self._take_statistics(
                f"fleet {camera}", last_object(self.stations.folder / f"fleet-{camera}.stats"))
        self._take_ring()

    def _take_statistics(self, name: str, values: dict) -> None:
        """Latencies of the frames of the last second, and how sound and arrivals drift."""
        if not values:
            return
        if latency := values.get("delivery", {}).get("latency_ms"):
            self._note(name, "latency ms", latency)
        duration = (values.get("pictures") or {}).get("duration_s")
        first = (values.get("pictures") or {}).get("first_picture_s")
        missed = (values.get("connection") or {}).get("missed_s", 0)
        if duration and first is not None and not missed:
            # The stream's own time against the clock of this machine.
            self._note(name, "stream drift ms", 1000 * (values["elapsed_s"] - first - duration))
        for track in values.get("tracks", []):
            sound = track.get("sound")
            if sound and sound.get("sample_rate") and duration and not missed:
                heard = (sound["samples"] + sound["missing_samples"]) / sound["sample_rate"]
                self._note(name, "sound drift ms", 1000 * (heard - duration))

    def _take_ring(self) -> None:
        lines = self.stations.members["ring-reader"].program.lines
        if lines:
            try:
                said = json.loads(lines[-1])
            except ValueError:
                return
            if said["age_ms"] is not None:
                self._note("ring-reader", "age ms", said["age_ms"])

    def scrape(self) -> None:
        for name, port in self.stations.pages.items():
            self.scrapes += 1
            try:
                found = metrics(port)
                if not any(key.startswith("rtp_recv_up") for key in found):
                    raise Impatience("no rtp_recv_up")
            except Exception as error:
                self.failed_scrapes.append(f"{name}: {error}")

    def line(self, name: str, kind: str, after: float) -> Line | None:
        """The line through a series, without its first hours."""
        points = self._points(name, kind, after)
        if kind in LEAST:
            points = least(points)
        return fit([hour for hour, _ in points], [value for _, value in points])

    def steady_slope(self, name: str, kind: str, after: float) -> float | None:
        """The slope that each third of a series certainly has; nothing where they are short."""
        points = self._points(name, kind, after)
        length = (points[-1][0] - points[0][0]) / THIRDS if points else 0
        if length < SHORTEST_THIRD:
            return None
        slopes = []
        for third in range(THIRDS):
            begin = points[0][0] + third * length
            part = [point for point in points if begin <= point[0] <= begin + length]
            line = fit([hour for hour, _ in part], [value for _, value in part])
            if line is None:
                return None
            slopes.append(line.slope - 2 * line.error)
        return min(slopes)

    def _points(self, name: str, kind: str, after: float) -> list[tuple[float, float]]:
        return [point for point in self.series.get((name, kind), []) if point[0] >= after]


def least(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The least point of each window; all of them where there are few."""
    if len(points) < 2 * WINDOWS:
        return points
    begin, end = points[0][0], points[-1][0]
    windows: dict[int, tuple[float, float]] = {}
    for hour, value in points:
        window = min(int((hour - begin) / (end - begin) * WINDOWS), WINDOWS - 1)
        if window not in windows or value < windows[window][1]:
            windows[window] = (hour, value)
    return list(windows.values())
