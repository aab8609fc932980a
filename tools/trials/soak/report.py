"""The report of a soak: figures, limits, and a verdict for each line."""

from __future__ import annotations

from dataclasses import dataclass

from ..programs import RTP_RECV, RTP_SEND
from ..provenance import head
from . import balance
from .samples import WINDOWS, Samples
from .stations import Stations

# How much a figure may grow while it is measured: so much in any case, which is what an allocator
# and a busy machine do, and so much more each hour.
LIMITS = {
    "own MiB": (4.0, 1.0),
    "resident MiB": (8.0, 1.0),
    "descriptors": (1.0, 0.0),
    "threads": (1.0, 0.0),
    "decoder MiB": (8.0, 1.0),
    "decoder threads": (1.0, 0.0),
    "latency ms": (10.0, 0.0),
    "age ms": (10.0, 0.0),
    "stream drift ms": (20.0, 5.0),
    "sound drift ms": (20.0, 5.0),
}

# MiB an hour by which memory may not grow in each third of the time.
STEADY_LIMIT = 0.5

# The longest time that a viewer may be without a picture: a key picture every two seconds, a server
# that begins again, and a wait of up to ten seconds before another attempt.
LONGEST_PAUSE = 45.0


@dataclass(frozen=True)
class Verdict:
    holds: bool
    text: str


class Report:
    """Says what was measured, and whether it is within the limits."""

    def __init__(
        self, stations: Stations, samples: Samples, hours: float, began: float, fault: str | None
    ) -> None:
        self.stations, self.samples, self.hours = stations, samples, hours
        self.began, self.fault = began, fault

    def write(self, warm_up: float) -> tuple[str, bool]:
        """The text, and whether everything holds."""
        parts = [
            ("Slopes", self._slopes(warm_up)), ("Balance", self._balance()),
            ("Ends", self._ends()), ("Viewers and metrics", self._web())]
        lines = self._head(warm_up)
        failures = 0
        if self.fault or self.samples.died:
            failures += 1
            lines += ["", "BROKE OFF", str(self.fault or "")]
            lines += [f"{name} {why}" for name, why in self.samples.died.items()]
        for title, verdicts in parts:
            lines += ["", title, "-" * len(title)]
            for verdict in verdicts:
                lines.append(f"{'ok  ' if verdict.holds else 'FAIL'} {verdict.text}")
                failures += not verdict.holds
        lines += ["", "everything holds" if not failures else f"{failures} lines FAIL", ""]
        return "\n".join(lines), failures == 0

    def _head(self, warm_up: float) -> list[str]:
        members = self.stations.members.values()
        restarts = {member.name: member.restarts for member in members if member.restarts}
        used = sum(self.samples.processor.values())
        return [
            f"A soak of {self.hours:g} hours", "", *head(self.began, RTP_RECV, RTP_SEND), "",
            f"{len(self.stations.members)} programs at once, {used / (36 * self.hours):.0f} % of one "
            f"processor together (those that were begun again are counted since then)",
            f"rounds of events: {self.stations.rounds}; begun again on purpose: {restarts}; "
            f"short clients: {self.stations.short_clients}",
            f"slopes are of least squares, without the first {60 * warm_up:.1f} minutes; of threads and "
            f"of a stream's drift through the least in each of {WINDOWS} windows; memory "
            f"may not grow by more than {STEADY_LIMIT:g} MiB an hour in each third of the time",
        ]

    def _slopes(self, warm_up: float) -> list[Verdict]:
        found = []
        for name, kind in sorted(self.samples.series):
            line = self.samples.line(name, kind, warm_up)
            if line is None:
                continue
            base, hourly = LIMITS[kind]
            limit = base + hourly * self.hours
            # What is not certain is not held against anybody.
            growth = abs(line.growth) if "drift" in kind else line.growth
            certain = growth - 2 * line.error * line.hours
            steady = self.samples.steady_slope(name, kind, warm_up) if "MiB" in kind else None
            is_steady = steady is not None and steady > STEADY_LIMIT
            found.append(Verdict(
                certain <= limit and not is_steady,
                f"{name:16} {kind:16} {line.slope:+9.2f} an hour (± {line.error:.2f}), "
                f"{line.growth:+8.2f} in all (limit {limit:.1f}), median {line.middle:.1f}, "
                f"{line.least:.1f} to {line.most:.1f}"
                + (f"; {steady:+.2f} an hour in each third" if is_steady else "")))
        return found

    def _balance(self) -> list[Verdict]:
        equations = []
        for pair in self.stations.pairs:
            equations += balance.between(
                pair.sender, pair.receiver, self.stations.folder, pair.unread)
        for name, member in self.stations.members.items():
            if name.startswith("recv") and member.stats:
                equations += balance.inner(name, member.stats)
        for camera in ("tcp", "udp"):
            equations += balance.inner(
                f"fleet {camera}", self.stations.folder / f"fleet-{camera}.stats")
        equations += balance.in_nats("recv-tls", "recv-nats", self.stations.folder)
        equations.append(balance.film("recv-http", self.stations.folder, "http.h265"))
        return [
            Verdict(e.holds, f"{e.name}: {e.left} = {e.right}" + (f" ({e.detail})" if e.detail else ""))
            for e in equations]

    def _ends(self) -> list[Verdict]:
        found = [
            Verdict(
                member.status == member.expected,
                f"{name} ended with {member.status}; said: "
                + (member.program.lines[-1] if member.program.lines else "nothing")[:300])
            for name, member in self.stations.members.items()]
        failed = self.stations.failed_clients
        found.append(Verdict(
            not failed, f"{self.stations.short_clients} short clients, {len(failed)} failed "
            + "; ".join(failed[:3])))
        return found

    def _web(self) -> list[Verdict]:
        found = []
        for name, viewer in self.stations.viewers.items():
            found.append(Verdict(
                viewer.pictures > 0 and viewer.connections == 1
                and viewer.longest_pause <= LONGEST_PAUSE,
                f"viewer of {name}: {viewer.pictures} pictures, {viewer.bytes / 1e6:.1f} MB, "
                f"{viewer.connections} connection(s), longest pause {viewer.longest_pause:.1f} s "
                f"{viewer.fault}"))
        failed = self.samples.failed_scrapes
        found.append(Verdict(
            not failed and self.samples.scrapes > 0,
            f"/metrics: {self.samples.scrapes} times, {len(failed)} failed {'; '.join(failed[:3])}"))
        return found
