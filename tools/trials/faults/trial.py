"""One case while it is tried: what it starts, what it expects, and what that cost."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, ContextManager, Iterator, Sequence, TypeVar

from .. import media
from ..measuring import Usage, forget_peak, peak, usage
from ..programs import PATIENCE, RTP_RECV, RTP_SEND, Program, scratch
from ..web import last_object

Resource = TypeVar("Resource")

# What a receiver of small pictures may have in memory at most, whatever comes: it has 60 MiB when
# nothing happens.
MOST_MEMORY = 100.0
# What it may say at most: one line for each thing that happens.
MOST_LINES = 25
# How many MiB more it may have while it is attacked.
MOST_RISE = 8.0
# How much of a processor it may take a second behind an attack: small pictures take less than half.
MOST_IDLE = 0.2
# Where it is attacked, it says the same once in so many seconds.
QUIET_SECONDS = 5.0

# The beginning of a line of rtp-recv, with the name of a camera where there are many.
_SPEAKER = re.compile(r"rtp-recv: (?:[\w-]+: )?")


class Failure(Exception):
    """Something is not as it must be."""


@dataclass(frozen=True)
class Case:
    name: str
    """The row, and which part of it: 'F-01' or 'F-01 reset'."""
    title: str
    run: Callable[["Trial"], None]
    alone: bool = False
    """Whether it needs the machine for itself."""


CASES: list[Case] = []


def case(name: str, title: str, *, alone: bool = False):
    """Declares a case; the name begins with its row."""

    def declare(run: Callable[[Trial], None]) -> Callable[[Trial], None]:
        CASES.append(Case(name, title, run, alone))
        return run

    return declare


class Turns:
    """A server's thread that attacks, and the trial's that looks at the receiver before and behind."""

    def __init__(self) -> None:
        self._ready, self._begun, self._over = (threading.Event() for _ in range(3))

    def begin(self) -> None:
        """On the server's thread: returns once the attack may begin."""
        self._ready.set()
        if not self._begun.wait(PATIENCE):
            raise TimeoutError("nobody looked at the receiver")

    def end(self) -> None:
        """On the server's thread: the attack is over."""
        self._over.set()

    @contextmanager
    def attacking(self) -> Iterator[None]:
        """On the server's thread: around the attack."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def await_server(self) -> None:
        if not self._ready.wait(PATIENCE):
            raise Failure("the attack did not begin: nobody asked the server for so much")

    def await_attack(self, within: float) -> None:
        self._begun.set()
        if not self._over.wait(within):
            raise Failure(f"the attack was not over within {within:.0f} s")


class Trial:
    """What a case has at hand; all that it starts ends with it."""

    def __init__(self) -> None:
        self.folder = scratch("faults")
        self.memory_limit = MOST_MEMORY
        self.line_limit = MOST_LINES
        self.notes: list[str] = []
        self._stack = ExitStack()
        self._receivers: list[Program] = []
        self._attacked: list[Program] = []
        self._former_peaks: list[float] = []
        self._count = 0
        self._began = time.monotonic()

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def clean(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def enter(self, resource: ContextManager[Resource]) -> Resource:
        """Closes a server or a network with the case."""
        return self._stack.enter_context(resource)

    @property
    def clip(self) -> media.Clip:
        """Four seconds with a key picture each second."""
        return media.clip(self.folder)

    # Programs

    def program(self, command: Sequence[object], **options: Any) -> Program:
        program = Program(command, folder=self.folder, **options)
        self._stack.callback(program.kill)
        return program

    def receive(self, *arguments: object, stats: bool = True, **options: Any) -> Program:
        """Starts rtp-recv; its statistics go to a file that `statistics` reads."""
        self._count += 1
        more = ["--stats", self.folder / f"{self._count}.stats"] if stats else []
        program = self.program([RTP_RECV, *arguments, *more], **options)
        program.stats = self.folder / f"{self._count}.stats" if stats else None
        self._receivers.append(program)
        return program

    def send(self, *arguments: object, **options: Any) -> Program:
        return self.program([RTP_SEND, *arguments], **options)

    @staticmethod
    def statistics(program: Program) -> dict:
        return last_object(program.stats) if program.stats else {}

    # Expectations

    def expect(self, condition: object, what: str) -> None:
        if not condition:
            raise Failure(what)

    def equal(self, found: object, expected: object, what: str) -> None:
        if found != expected:
            raise Failure(f"{what}: {found!r}, and not {expected!r}")

    def ends(
        self, program: Program, status: int, *says: str, within: float = PATIENCE
    ) -> None:
        """It ends with a status, and says all of that on the way, in any order."""
        found = program.wait(within)
        if found != status:
            raise Failure(f"it ended with {found}, and not {status}; it said:\n{program.text[-1500:]}")
        for words in says:
            program.line(words, 1)

    def pictures(
        self, path: Path, clip: media.Clip, *, first: int = 0, ticks: int = media.TICKS
    ) -> list[media.Seen]:
        """The pictures of a .jsonl file; each that is called intact must be that of FFmpeg."""
        seen = media.seen(path, first, ticks)
        for picture in seen:
            if picture.condition == "intact":
                self.equal(
                    picture.hash, clip.hashes[picture.index % len(clip.hashes)],
                    f"intact picture {picture.index}")
        return seen

    def all_intact(self, path: Path, clip: media.Clip, indices: Sequence[int], **options) -> None:
        """These pictures came, intact, each once and in order."""
        found = [
            picture.index for picture in self.pictures(path, clip, **options)
            if picture.condition == "intact"]
        missing = sorted(set(indices) - set(found))
        self.expect(not missing, f"these pictures are not there intact: {missing[:20]}")
        self.equal(len(found), len(set(found)), "intact pictures, each once")
        self.equal(found, sorted(found), "intact pictures in order")

    # Attacks

    @contextmanager
    def attack(
        self, receiver: Program, *, rise: float = MOST_RISE, idle: float = MOST_IDLE
    ) -> Iterator[None]:
        """Around what is done to a receiver: it keeps to its memory and to one processor, and is soon idle.

        Media may go on at its pace.
        """
        before, begin = self._look(receiver), time.monotonic()
        self._attacked.append(receiver)
        self._former_peaks.append(peak(receiver.id))
        forget_peak(receiver.id)
        yield
        behind, seconds = self._look(receiver), time.monotonic() - begin
        grown = peak(receiver.id) - before.resident
        time.sleep(1)  # As long as it may take to come to rest.
        rest = self._look(receiver).processor
        time.sleep(2)
        rest = (self._look(receiver).processor - rest) / 2
        used = (behind.processor - before.processor) / seconds
        self.notes.append(
            f"attacked for {seconds:.1f} s: {grown:+.1f} MiB at most, {100 * used:.0f} % of a "
            f"processor, {100 * rest:.0f} % a second later")
        self.expect(grown < rise, f"{grown:.1f} MiB more than before the attack")
        # A twentieth, because the kernel counts in hundredths of a second and threads are many.
        self.expect(used < 1.05, f"{100 * used:.0f} % of a processor during the attack")
        self.expect(rest < idle, f"{100 * rest:.0f} % of a processor a second behind the attack")

    def attacked(
        self, receiver: Program, turns: Turns, *, within: float = PATIENCE, **bounds: float
    ) -> None:
        """The same where a server's thread attacks."""
        turns.await_server()
        with self.attack(receiver, **bounds):
            turns.await_attack(within)

    @staticmethod
    def _look(receiver: Program) -> Usage:
        if (found := usage(receiver.id)) is None:
            raise Failure(
                f"it ended meanwhile with {receiver.status}; it said:\n{receiver.text[-1500:]}")
        return found

    # What it cost

    @property
    def memory(self) -> float:
        """The most MiB that one of the receivers had in memory."""
        return max([*(program.peak for program in self._receivers), *self._former_peaks], default=0.0)

    @property
    def processor(self) -> float:
        """The seconds of processor time of all receivers."""
        return sum(program.processor for program in self._receivers)

    def within_bounds(self) -> None:
        """The part of the oracle that all cases share."""
        for program in self._receivers:
            if program.is_running():
                program.stop()
            status = program.status or 0
            if status < 0 and -status not in (9, 15, 2):
                raise Failure(f"it crashed with signal {-status}:\n{program.text[-3000:]}")
            if program.said > self.line_limit:
                raise Failure(f"it said {program.said} lines:\n{program.text[:2000]}")
        for program in self._attacked:
            for words, count in Counter(map(_without_figures, program.lines)).items():
                if count > 1 + program.seconds / QUIET_SECONDS:
                    raise Failure(f"it said '{words}' {count} times in {program.seconds:.0f} s")
        if self.processor > time.monotonic() - self._began:
            raise Failure(f"it took more than one processor: {self.processor:.1f} s")
        if self.memory > self.memory_limit:
            raise Failure(f"it had {self.memory:.0f} MiB in memory")


def _without_figures(line: str) -> str:
    """What a line says, whatever its figures; that of another camera is another."""
    speaker = _SPEAKER.match(line)
    end = speaker.end() if speaker else 0
    return line[:end] + re.sub(r"\d+", "#", line[end:])


def written(path: Path) -> list[dict]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]
