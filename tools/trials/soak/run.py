"""Runs the soak: what happens when, and when samples are taken."""

from __future__ import annotations

import shutil
import sys
import threading
import time
import traceback
from pathlib import Path

from ..programs import scratch
from .report import Report
from .samples import Samples
from .stations import Stations

# How many events of each kind there are, whatever the duration.
ROUNDS = 24
SHORTEST_ROUND = 25.0
# The share of the run after which slopes are measured, and the longest such time.
WARM_UP, LONGEST_WARM_UP = 0.2, 1200.0


def soak(hours: float, folder: Path | None) -> int:
    """Runs for so many hours, prints the report, and returns the exit status."""
    where = folder or scratch("soak")
    where.mkdir(parents=True, exist_ok=True)
    stations = Stations(where)
    samples = Samples(stations)
    began = time.time()
    fault = None
    try:
        stations.start()
        _run(stations, samples, 3600 * hours)
        stations.end()
    except (Exception, KeyboardInterrupt):
        fault = traceback.format_exc()
    finally:
        stations.kill()
    report = Report(stations, samples, hours, began, fault)
    text, passed = report.write(min(WARM_UP * hours, LONGEST_WARM_UP / 3600))
    (where / "report.txt").write_text(text)
    print(text)
    if passed and folder is None:
        shutil.rmtree(where, ignore_errors=True)
    else:
        print(f"what was written: {where}", file=sys.stderr)
    return 0 if passed else 1


def _run(stations: Stations, samples: Samples, seconds: float) -> None:
    """Takes samples and lets things happen until the time is over."""
    begin = time.monotonic()
    between_samples = max(2.0, seconds / 720)
    round_length = max(SHORTEST_ROUND, seconds / ROUNDS)
    # When in a round what happens: its share of the round, and what.
    plan = [
        (0.10, lambda n: stations.step_clock((1, -1, 0)[n % 3])),
        (0.25, lambda n: stations.restart_server()),
        (0.40, lambda n: stations.reload_fleet()),
        (0.50, lambda n: stations.restless_camera(begin=n % 2 == 1)),
        (0.65, lambda n: _aside(stations.short_client)),
        (0.75, lambda n: stations.pause(min(8.0, round_length / 5))),
        (0.90, lambda n: samples.scrape()),
    ]
    done = 0
    next_sample = begin
    while (now := time.monotonic()) - begin < seconds and not samples.died:
        number, index = divmod(done, len(plan))
        at = begin + round_length * (number + plan[index][0])
        # The last minute or so is quiet, so that all that is delayed comes.
        if at <= now and at < begin + seconds - 10:
            plan[index][1](number)
            done += 1
            continue
        if next_sample <= now:
            samples.take()
            next_sample = now + between_samples
        time.sleep(max(0.05, min(next_sample, at) - time.monotonic()) if at > now else 0.5)
    stations.rounds = done // len(plan)
    stations.step_clock(0)


def _aside(action) -> None:
    threading.Thread(target=action, daemon=True).start()
