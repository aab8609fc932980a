"""Tries cases, several at once, and prints a line for each."""

from __future__ import annotations

import fnmatch
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

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


def try_all(cases: list[Case], jobs: int) -> int:
    """Tries cases, those that need the machine for themselves at the end; the exit status."""
    lock, failed = threading.Lock(), []

    def try_one(case: Case) -> None:
        passed, line = _try(case)
        with lock:
            if not passed:
                failed.append(case.name)
            print(line, flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(try_one, [case for case in cases if not case.alone]))
    for case in cases:
        if case.alone:
            try_one(case)
    print(f"{len(cases) - len(failed)} of {len(cases)} cases pass"
          + (f"; these do not: {', '.join(sorted(failed))}" if failed else ""))
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
