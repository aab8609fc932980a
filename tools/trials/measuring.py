"""What a process costs, as the kernel counts it, and how that changes over time."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Optional, Sequence

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """One look at a process."""

    resident: float
    """MiB in memory, shared pages included."""
    own: float
    """MiB of memory of its own (PSS of anonymous pages)."""
    descriptors: int
    threads: int
    processor: float
    """Seconds of processor time since its start."""


def usage(process: int) -> Optional[Usage]:
    """What a process uses now; nothing if it is gone."""
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            sizes = dict(line.split()[:2] for line in file if line[0] in "RP")
        with open(f"/proc/{process}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        count = len(os.listdir(f"/proc/{process}/fd"))
    except (OSError, ProcessLookupError):
        return None
    if "Rss:" not in sizes:
        return None
    return Usage(
        resident=int(sizes["Rss:"]) / 1024, own=int(sizes["Pss_Anon:"]) / 1024, descriptors=count,
        threads=int(fields[17]), processor=(int(fields[11]) + int(fields[12])) / _TICKS)


def usage_of_running(process: int) -> Usage:
    """The same of a process that must be there."""
    if (found := usage(process)) is None:
        raise ProcessLookupError(f"process {process} has ended")
    return found


def peak(process: int) -> float:
    """The most MiB that a process has had in memory since its start, or since `forget_peak`."""
    return _kibibytes(process, "VmHWM") / 1024


def forget_peak(process: int) -> None:
    """Has the kernel note anew from now on what the most is that a process has in memory."""
    with open(f"/proc/{process}/clear_refs", "w") as file:
        file.write("5")


def writable(process: int) -> int:
    """How many bytes a process may write to (RLIMIT_DATA counts them)."""
    return 1024 * _kibibytes(process, "VmData")


def _kibibytes(process: int, name: str) -> int:
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))


def children(process: int) -> list[int]:
    """The processes that a process has begun and not waited for."""
    found = []
    try:
        # Each thread has its own.
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as file:
                found += [int(child) for child in file.read().split()]
    except OSError:
        # Threads and processes may end meanwhile.
        pass
    return found


@dataclass(frozen=True)
class Line:
    """The straight line of least squares through samples."""

    slope: float
    """By the hour."""
    error: float
    """The standard error of the slope."""
    growth: float
    """From the first sample to the last."""
    middle: float
    """The median of the samples."""
    least: float
    most: float
    hours: float
    """From the first sample to the last."""


def fit(hours: Sequence[float], values: Sequence[float]) -> Optional[Line]:
    """A line through samples; none through fewer than three."""
    count = len(values)
    if count < 3 or hours[-1] <= hours[0]:
        return None
    mean_hour, mean_value = sum(hours) / count, sum(values) / count
    spread = sum((hour - mean_hour) ** 2 for hour in hours)
    slope = sum((h - mean_hour) * (v - mean_value) for h, v in zip(hours, values)) / spread
    rest = sum(
        (v - mean_value - slope * (h - mean_hour)) ** 2 for h, v in zip(hours, values))
    return Line(
        slope=slope, error=math.sqrt(rest / (count - 2) / spread),
        growth=slope * (hours[-1] - hours[0]), middle=sorted(values)[count // 2],
        least=min(values), most=max(values), hours=hours[-1] - hours[0])
