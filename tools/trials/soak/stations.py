"""What runs during a soak: senders, receivers, a fleet, servers, proxies."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from ..clock import SteppingClock
from ..programs import (
    REPOSITORY, RTP_RECV, RTP_SEND, Impatience, Program, free_port, until)
from ..web import Viewer
from .carriers import Carriers

# A receiver that is stopped for a while is still there.
PATIENT = ["--once", "--heartbeat-interval", "30"]

# Small pictures: a soak is about hours, and shares its machine.
SIZE = ["--size", "320x180", "--fps", "12", "--bitrate", "150k", "--gop", "24"]

# Loss, jitter, copies, an outage of a second, and pictures of another size, again and again. The
# delays stay within the reorder window, so that what is lost was lost.
EVENING = """\
0        delay 20ms jitter 5ms, loss 0.5%, duplicate 0.2%
20-21    burst-loss 20% 5
30-31    silence
40       size 480x270
70       size 320x180
75       parameter-sets
repeat 90
"""
LOSSY = "0 delay 15ms jitter 5ms, loss 1%, reorder 2% 4 within 80ms\n"


@dataclass
class Member:
    """A program of the soak."""

    name: str
    program: Program
    stats: Optional[Path] = None
    restarts: int = 0
    """How often it was ended and begun again on purpose."""
    rests: bool = False
    """Whether it has been ended on purpose for a while."""
    status: Optional[int] = None
    expected: int = 0
    """The exit status that it must end with."""


@dataclass
class Pair:
    """A sender and its only receiver, both there from beginning to end: their figures must agree."""

    sender: str
    receiver: str
    unread: int = 0
    """How many datagrams the receiver may leave unread at the end."""


@dataclass
class Stations:
    """Everything that runs; `start` begins it, `end` ends it in an order in which nothing is lost."""

    folder: Path
    members: dict[str, Member] = field(default_factory=dict)
    viewers: dict[str, Viewer] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    short_clients: int = 0
    rounds: int = 0
    failed_clients: list[str] = field(default_factory=list)
    _fleet_has_guest: bool = False

    # Beginning

    def __post_init__(self) -> None:
        self._carriers = Carriers(self, SIZE)

    def add(self, name: str, command: list[object], *, stats: bool = True, **options) -> Program:
        path = None
        if stats:
            path = self.folder / f"{name}.stats"
            command = [*command, "--stats", path]
        program = Program(command, name=name, folder=self.folder, **options)
        self.members[name] = Member(name, program, path)
        return program

    def pair(self, sender: str, receiver: str, unread: int = 0) -> None:
        self.pairs.append(Pair(sender, receiver, unread))

    def start(self) -> None:
        self._make_films()
        (self.folder / "evening.plan").write_text(EVENING)
        (self.folder / "lossy.plan").write_text(LOSSY)
        key = f"AES_CM_128_HMAC_SHA1_80 {base64.b64encode(os.urandom(30)).decode()}\n"
        (self.folder / "srtp.key").write_text(key)
        (self.folder / "srtp.key").chmod(0o600)
        self.clock = SteppingClock(self.folder)
        self._start_hello()
        self._start_srtp()
        self._start_http()
        self._start_clock()
        self._start_rtsp()
        self._start_follower()
        self._start_fleet()
        self._carriers.start()

    def _make_films(self) -> None:
        for name, codec in (("film.mp4", "libx264"), ("film.h265", "libx265")):
            sound = ["-c:a", "aac", "-b:a", "48k"] if name.endswith("mp4") else ["-an"]
            quiet = ["-x265-params", "log-level=none"] if codec == "libx265" else []
            subprocess.run(
                ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
                 "testsrc2=size=320x180:rate=12", "-f", "lavfi", "-i",
                 "sine=frequency=440:sample_rate=32000", "-t", "20", "-c:v", codec, *quiet,
                 "-preset", "veryfast", "-b:v", "150k", "-g", "24", "-bf", "0", "-pix_fmt",
                 "yuv420p", *sound, self.folder / name], check=True)

    def _start_hello(self) -> None:
        """UDP with hello and heartbeats: loss, jitter, sizes; a pipe of samples, sound, pictures."""
        sender = self.add("send-hello", [
            RTP_SEND, "pattern", "listen://127.0.0.1:0", *SIZE, "--audio", "opus", *PATIENT,
            "--plan", "evening.plan", "--seed", "7", "--sdp", "hello.sdp"])
        self.add("recv-hello", [
            RTP_RECV, f"udp://127.0.0.1:{sender.port()}", "--sdp", "hello.sdp",
            "-o", "-", "--format", "yuv", "--scale-to-first", "-o", "hello.h264",
            "-o", "hello.opus", "-o", "hello.jsonl"], output="count")
        self.pair("send-hello", "recv-hello")

    def _start_srtp(self) -> None:
        """SRTP with loss and reordering, recorded in segments, of which the oldest are deleted."""
        sender = self.add("send-srtp", [
            RTP_SEND, "film.mp4", "listen://127.0.0.1:0", "--loop", "forever", "--audio", "copy",
            *PATIENT, "--srtp-key-file", "srtp.key", "--plan", "lossy.plan", "--seed", "8",
            "--sdp", "srtp.sdp"])
        self.add("recv-srtp", [
            RTP_RECV, f"udp://127.0.0.1:{sender.port()}", "--sdp", "srtp.sdp",
            "--srtp-key-file", "srtp.key", "-o", "srtp-%Y%m%dT%H%M%SZ.mp4", "--segment", "20s",
            "--keep", "20MB"])
        self.pair("send-srtp", "recv-srtp")

    def _start_http(self) -> None:
        """HTTP with length prefixes, H.265, watched in a page and by Prometheus."""
        sender = self.add("send-http", [
            RTP_SEND, "film.h265", "http://127.0.0.1:0", "--loop", "forever", "--fps", "12",
            "--once"])
        receiver = self.add("recv-http", [
            RTP_RECV, f"http://127.0.0.1:{sender.port()}/live", "-o", "http.h265", "-o", "-",
            "--format", "yuv", "--pixel-format", "bgr24", "--size", "160x90",
            "--serve", "127.0.0.1:0"], output="count")
        self._watch("recv-http", receiver, ["camera"])
        self.pair("send-http", "recv-http")

    def _start_clock(self) -> None:
        """A receiver whose wall clock is set forward and back by an hour."""
        sender = self.add("send-clock", [
            RTP_SEND, "film.mp4", "listen://127.0.0.1:0", "--loop", "forever", *PATIENT])
        self.add("recv-clock", [
            RTP_RECV, f"udp://127.0.0.1:{sender.port()}", "-o", "clock-%Y%m%dT%H%M%SZ.mkv",
            "--segment", "60s", "--keep", "20MB", "-o", "clock-every-%04d.jpg", "--every", "30s"],
            environment=self.clock.environment)
        self.pair("send-clock", "recv-clock")

    def _serve(self, name: str, port: int) -> None:
        program = Program([
            RTP_SEND, "film.mp4", f"rtsp://127.0.0.1:{port}/film", "pattern",
            f"rtsp://127.0.0.1:{port}/pattern", *SIZE, "--loop", "forever"],
            name=name, folder=self.folder)
        program.port()
        if member := self.members.get(name):
            member.program = program
            member.restarts += 1
        else:
            self.members[name] = Member(name, program)

    def _start_rtsp(self) -> None:
        """An RTSP server, a proxy with losses in front of it, and another that is begun again."""
        self.steady, self.restless = free_port(), free_port()
        self._serve("serve-steady", self.steady)
        self._serve("serve-restless", self.restless)
        proxy = self.add("proxy", [
            RTP_SEND, "proxy", "rtsp://127.0.0.1:0", f"rtsp://127.0.0.1:{self.steady}",
            "--plan", "lossy.plan", "--seed", "9"])
        self.add("recv-tcp", [
            RTP_RECV, f"rtsp://127.0.0.1:{self.restless}/pattern", "--rtsp-transport", "tcp",
            "--reconnect", "-o", "shm:ring", "--pixel-format", "bgr24", "-o",
            "tcp-%Y%m%dT%H%M%SZ.mkv", "--segment", "60s", "--keep", "20MB"])
        self.add("recv-rtsp-udp", [
            RTP_RECV, f"rtsp://127.0.0.1:{proxy.port()}/film", "--rtsp-transport", "udp",
            "--reconnect", "-o", "udp-%Y%m%dT%H%M%SZ.ts", "--segment", "60s", "--keep", "20MB",
            "-o", "udp.h264", "--capture", "udp.pcapng"])
        ring = self.folder / "ring"
        until(ring.exists, "a ring of frames")
        program = Program(
            ["/usr/bin/python3", Path(__file__).with_name("ring_reader.py"), ring],
            name="ring-reader", environment={"PYTHONPATH": str(REPOSITORY / "python")})
        self.members["ring-reader"] = Member(
            "ring-reader", program, expected=-signal.SIGTERM)

    def _start_follower(self) -> None:
        """What is being written is read again: segments by rtp-send, a capture by rtp-recv."""
        port = free_port()
        self.add("recv-followed", [
            RTP_RECV, f"rtp://127.0.0.1:{port}", "--codec", "h264", "-o", "followed.h264",
            "--timeout", "0"])
        until(lambda: list(self.folder.glob("srtp-*.mp4")), "a recording")
        self.add("send-followed", [
            RTP_SEND, "--follow", "srtp-*.mp4", f"udp://127.0.0.1:{port}"])
        self.pair("send-followed", "recv-followed")
        capture = self.folder / "udp.pcapng"
        until(capture.exists, "a capture")
        self.tail = Program(["tail", "-c", "+1", "-f", capture], output="pipe")
        self.add("recv-capture", [RTP_RECV, "-", "-o", "captured.h264"],
                 input=self.tail.output)
        self.tail.output.close()

    def _start_fleet(self) -> None:
        """A fleet: a camera over TCP, one over UDP, one that comes and goes, one that is a guest."""
        self.guest_port = free_port()
        sender = self.add("send-fleet", [
            RTP_SEND, "film.mp4", "listen://127.0.0.1:0", "--loop", "forever"])
        self.fleet_port = sender.port()
        self.restless_camera(begin=True)
        self._write_fleet()
        fleet = self.add("fleet", [RTP_RECV, "fleet", "fleet.yaml"], stats=False)
        self._watch("fleet", fleet, ["tcp", "udp"])

    def _write_fleet(self) -> None:
        guest = f"""
  guest:
    source: rtsp://127.0.0.1:{self.steady}/pattern
    output: fleet-guest.h264
""" if self._fleet_has_guest else ""
        (self.folder / "fleet.yaml").write_text(f"""\
version: 1
serve: 127.0.0.1:0
defaults:
  timeout: 5
cameras:
  tcp:
    source: rtsp://127.0.0.1:{self.restless}/film
    rtsp-transport: tcp
    output: fleet-tcp-%Y%m%dT%H%M%SZ.mp4
    segment: 30s
    keep: 10MB
    stats: fleet-tcp.stats
  udp:
    source: udp://127.0.0.1:{self.fleet_port}
    output: fleet-udp-%Y%m%dT%H%M%SZ.mkv
    segment: 30s
    keep: 10MB
    stats: fleet-udp.stats
  restless:
    source: udp://127.0.0.1:{self.guest_port}
    output: fleet-restless-%Y%m%dT%H%M%SZ.ts
    segment: 30s
    keep: 10MB
{guest}""")

    def _watch(self, name: str, program: Program, cameras: list[str]) -> None:
        port = int(program.line(r"the page is at http://[^:]*:(\d+)")[1])
        self.pages[name] = port
        self.viewers[name] = Viewer(port, cameras)

    # What happens in between

    def restart_server(self) -> None:
        member = self.members["serve-restless"]
        member.rests = True
        member.program.stop()
        self._serve("serve-restless", self.restless)
        member.rests = False

    def restless_camera(self, begin: bool) -> None:
        if begin:
            program = Program([
                RTP_SEND, "film.mp4", f"listen://127.0.0.1:{self.guest_port}", "--loop", "forever"],
                name="send-restless", folder=self.folder)
            program.port()
            member = self.members.setdefault("send-restless", Member("send-restless", program))
            if member.program is not program:
                member.program = program
                member.restarts += 1
                member.rests = False
        else:
            self.members["send-restless"].rests = True
            self.members["send-restless"].program.stop()

    def reload_fleet(self) -> None:
        self._fleet_has_guest = not self._fleet_has_guest
        self._write_fleet()
        self.members["fleet"].program.send(signal.SIGHUP)

    def step_clock(self, hours: int) -> None:
        self.clock.shift(3600 * hours)

    def short_client(self) -> None:
        """Comes to the steady server, takes ten frames, and goes."""
        program = Program([
            RTP_RECV, f"rtsp://127.0.0.1:{self.steady}/film", "--rtsp-transport",
            ("tcp", "udp")[self.short_clients % 2], "-o", "/dev/null", "--format", "yuv",
            "--frames", "10"])
        self.short_clients += 1
        try:
            status = program.wait()
        except Impatience:
            program.kill()
            status = "none, it hung"
        if status:
            self.failed_clients.append(f"status {status}: {program.text[-300:]}")

    def pause(self, seconds: float) -> None:
        """The receiver with the clock of its own sleeps, as a machine does that is suspended."""
        program = self.members["recv-clock"].program
        program.send(signal.SIGSTOP)
        threading.Timer(seconds, lambda: program.send(signal.SIGCONT)).start()

    # The end

    def end(self) -> None:
        """Senders first, whose receivers then know that all came; those of servers before them."""
        for viewer in self.viewers.values():
            viewer.stop()
        self.stop("ring-reader")
        self._carriers.end()
        for name in ("send-hello", "send-srtp", "send-http", "send-clock", "send-followed"):
            self.stop(name)
        for pair in self.pairs:
            self.wait(pair.receiver)
        self.stop("recv-rtsp-udp")
        # What follows a file has no other sign of its end.
        self.tail.stop()
        self.wait("recv-capture")
        for name in ("recv-tcp", "fleet", "proxy", "send-fleet", "send-restless", "serve-steady",
                     "serve-restless"):
            self.stop(name)

    def stop(self, name: str) -> None:
        self.members[name].program.send(signal.SIGTERM)
        self.wait(name)

    def wait(self, name: str) -> None:
        self.members[name].status = self.members[name].program.wait(20)

    def kill(self) -> None:
        """Ends what still runs, after a failure."""
        for viewer in self.viewers.values():
            viewer._stopped = True
        for member in self.members.values():
            member.program.kill()
        if hasattr(self, "tail"):
            self.tail.kill()
        self._carriers.kill()
