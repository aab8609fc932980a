"""The decoder: pictures that change their size, processes that die, hang or grow (F-18, F-23)."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Callable

from ...measuring import children, writable
from ...media import clip, goodbye, seen
from ...programs import Program, until
from ...servers.udp import HelloServer
from ..trial import Trial, case
from .connections import LINES
from .machine import SMALL


@case("F-18", "the size changes twice: a file for each, and no frame of a wrong size")
def sizes(trial: Trial) -> None:
    (trial.folder / "sizes.plan").write_text("2 size 480x270\n4 size 256x144\n")

    def start():
        sender = trial.send(
            "pattern", "listen://127.0.0.1:0", *SMALL, "--once", "--frames", 180, "--plan",
            "sizes.plan")
        return f"udp://127.0.0.1:{sender.port()}"

    receiver = trial.receive(start(), "-o", "sizes.y4m")
    trial.ends(receiver, 0)
    found = []
    for name in ("sizes.y4m", "sizes.0001.y4m", "sizes.0002.y4m"):
        head, _, rest = (trial.folder / name).read_bytes().partition(b"\n")
        fields = {word[:1]: word[1:] for word in head.split()[1:]}
        width, height = int(fields[b"W"]), int(fields[b"H"])
        frame = 6 + width * height * 3 // 2
        trial.equal(len(rest) % frame, 0, f"{name}: bytes behind the last whole frame")
        found.append((width, height, len(rest) // frame))
    trial.equal([f[:2] for f in found], [(320, 180), (480, 270), (256, 144)], "sizes")
    trial.expect(sum(f[2] for f in found) >= 175, f"frames: {found}")
    pipe = trial.receive(start(), "-o", "-", "--format", "yuv", output="count")
    trial.ends(pipe, 8, "cannot change its format")
    trial.equal(pipe.bytes_read % (320 * 180 * 3 // 2), 0, "bytes behind the last whole frame")
    scaled = trial.receive(
        start(), "-o", "-", "--format", "yuv", "--scale-to-first", output="count")
    trial.ends(scaled, 0)
    trial.equal(scaled.bytes_read % (320 * 180 * 3 // 2), 0, "scaled: bytes behind the last frame")
    trial.expect(scaled.bytes_read // (320 * 180 * 3 // 2) >= 175, "scaled: frames")


def _decoder(receiver: Program) -> int:
    """The decoder's process, once there is one."""
    return until(lambda: children(receiver.id), "a decoder's process")[0]


def _decodes(trial: Trial) -> tuple[Program, Callable[[], int]]:
    """A receiver that decodes, and how many pictures it has."""
    sender = trial.send("pattern", "listen://127.0.0.1:0", *SMALL, "--once", "--frames", 300)
    receiver = trial.receive(
        f"udp://127.0.0.1:{sender.port()}", "-o", "seen.jsonl", "--sandbox", "require")
    path = trial.folder / "seen.jsonl"

    def count() -> int:
        return path.read_text().count("\n") if path.exists() else 0

    until(lambda: count() > 15, "pictures")
    return receiver, count


def _was_replaced(trial: Trial, receiver: Program, times: int) -> None:
    delivery = trial.statistics(receiver)["delivery"]
    trial.equal(delivery["decoder_restarts"], times, "decoders that were replaced")
    trial.equal(delivery["intact"], delivery["frames"], "intact frames, of those that came out")


@case("F-23", "the decoder's process is killed again and again")
def decoder_dies(trial: Trial) -> None:
    receiver, count = _decodes(trial)
    for _ in range(3):
        os.kill(_decoder(receiver), signal.SIGKILL)
        before = count()
        until(lambda: count() > before + 20, "pictures of another decoder")
    trial.ends(
        receiver, 0, "the decoder's process was lost: it was ended by signal 9; decoding goes on at "
        "the next key picture", "the decoder's process was replaced 3 times")
    _was_replaced(trial, receiver, 3)


@case("F-23 hangs", "the decoder's process stands still (SIGSTOP)")
def decoder_hangs(trial: Trial) -> None:
    receiver, count = _decodes(trial)
    begin = time.monotonic()
    os.kill(_decoder(receiver), signal.SIGSTOP)
    receiver.line(
        "the decoder's process was lost: it did not answer in time; decoding goes on at the next key "
        "picture")
    trial.expect(time.monotonic() - begin < 6, "it is given up after two seconds")
    before = count()
    until(lambda: count() > before + 20, "pictures of another decoder")
    trial.ends(receiver, 0, "the decoder's process was replaced once")
    _was_replaced(trial, receiver, 1)


@case("F-23 grows", "the decoder's process may have no more memory (prlimit --data), and needs some")
def decoder_grows(trial: Trial) -> None:
    larger = clip(trial.folder, 3, "1280x720")
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES, "--sandbox", "require")
    server.await_hello()
    server.pictures(range(50))
    decoder = _decoder(receiver)
    # A little for what it takes all the time; pictures of another size need much more.
    subprocess.run(
        ["prlimit", "--pid", str(decoder), f"--data={writable(decoder) + (256 << 10)}"], check=True)
    server.clip = larger
    server.pictures(range(75))
    server.send(goodbye())
    trial.memory_limit = 150  # For larger pictures than usual.
    trial.ends(
        receiver, 0, "the decoder's process was lost: it (needed more memory than it may have|was ended "
        "by signal [0-9]+); decoding goes on at the next key picture")
    last = seen(trial.folder / "seen.jsonl")[-50:]
    trial.equal({s.condition for s in last}, {"intact"}, "the last two seconds")
    trial.equal([s.hash for s in last], list(larger.hashes[25:]), "the last two seconds")
    trial.equal(
        trial.statistics(receiver)["delivery"]["decoder_restarts"], 1, "decoders that were replaced")
