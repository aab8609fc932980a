"""Tries cases, several at once, prints a line for each, and reports them all."""

from __future__ import annotations

import fnmatch
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Optional

from ..programs import RTP_RECV, RTP_SEND
from ..provenance import head
from .trial import CASES, Case, Failure, Trial


def chosen(names: list[str]) -> list[Case]:
    """The cases of these rows, or all; a pattern such as 'V*' chooses too."""
    if not names:
        return CASES
    found = [
        case for case in CASES
        if any(case.name == name or fnmatch.fnmatchcase(case.name.split()[0], name) for name in names)]
    if not found:
        print(f"tools/faults: no case fits {' '.join(names)}; --list lists them", file=sys.stderr)
        sys.exit(64)
    return found


def try_all(cases: list[Case], jobs: int, report: Optional[Path]) -> int:
    """Tries cases, those that need the machine for themselves at the end; the exit status."""
    began, lock = time.time(), threading.Lock()
    lines: dict[str, str] = {}
    failed: set[str] = set()
    if report:
        # Rather now than behind all cases.
        report.touch()

    def try_one(case: Case) -> None:
        passed, line = _try(case)
        with lock:
            lines[case.name] = line
            if not passed:
                failed.add(case.name)
            print(line, flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(try_one, [case for case in cases if not case.alone]))
    for case in cases:
        if case.alone:
            try_one(case)
    sum_up = f"{len(cases) - len(failed)} of {len(cases)} cases pass" + (
        f"; these do not: {', '.join(sorted(failed))}" if failed else "")
    print(sum_up)
    if report:
        report.write_text("\n".join([
            "Faults of networks, servers, cameras, disks and clocks, and attackers", "",
            *head(began, RTP_RECV, RTP_SEND), "",
            "A line for each case: how long it took, the most memory of a receiver, the processor time of "
            "all receivers.", "", *(lines[case.name] for case in cases), "", sum_up, ""]))
    return 1 if failed else 0


def _try(case: Case) -> tuple[bool, str]:
    begin = time.monotonic()
    fault = ""
    with Trial() as trial:
        try:
            case.run(trial)
            trial.within_bounds()
        except Failure as failure:
            fault = str(failure)
        except Exception:
            fault = traceback.format_exc()
    if not fault:
        trial.clean()
    line = (
        f"{'pass' if not fault else 'FAIL'} {case.name:16} {time.monotonic() - begin:6.1f} s "
        f"{trial.memory:5.0f} MiB {trial.processor:6.2f} s processor  {case.title}"
        + "".join(f"\n       {note}" for note in trial.notes))
    if fault:
        line += f" ({trial.folder})\n" + "\n".join("     | " + text for text in fault.splitlines())
    return not fault, line


def list_all() -> None:
    for case in CASES:
        print(f"{case.name:16} {case.title}")
