"""The same of those that last: servers that go, answers without end, a flood (V59, V62, V68)."""

from __future__ import annotations

import random
import re
import statistics
import threading
import time

from ...measuring import usage_of_running
from ...media import Numbering, clip
from ...programs import until
from ...servers import http
from ...servers.http import HTTPServer
from ...servers.rtsp import RTSPServer, Session
from ...servers.udp import Flood
from ..trial import MOST_LINES, MOST_MEMORY, Trial, Turns, case


@case("V59", "ten thousand times a server goes at any moment: descriptors, threads and memory stay",
      alone=True)
def ten_thousand_losses(trial: Trial) -> None:
    cameras, wanted = 1000, 10_000
    dice = random.Random(59)
    is_over = threading.Event()

    def behave(session: Session) -> None:
        if is_over.is_set():
            # A thousand at once would try the machine, and not the program.
            if "watched" in (request := session.until("PLAY")).uri:
                session.answer_usually(request)
                session.attend_aside()
                session.pictures(range(100))
            return
        phase = dice.choice(["OPTIONS", "DESCRIBE", "SETUP", "PLAY", "media", "media"])
        if phase == "media":
            session.play()
            for index in range(dice.randrange(30)):
                session.picture(index)
            session.send(b"$\0\4\0"[:dice.randrange(5)])
        else:
            session.until(phase)
            if dice.random() < 0.5:
                session.send(b"RTSP/1.0 200 OK\r\nCSeq: " [:dice.randrange(25)])
        if dice.random() < 0.5:
            session.connection.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER: a reset

    server = trial.enter(RTSPServer(trial.clip, behave))
    (trial.folder / "fleet.yaml").write_text(
        "version: 1\ncameras:\n" + "".join(
            f"  c{n}: {{source: '{server.url}{'' if n else '-watched'}', rtsp-transport: tcp, "
            + ("output: /dev/null, format: h264}\n" if n else "output: seen.jsonl, frame-md5: true}\n")
            for n in range(cameras)))
    # Each camera has a connection and the thread of its output: less than two thirds of the 0.85 MiB
    # of one that records (Documentation/Figures.md).
    trial.memory_limit = MOST_MEMORY + 0.6 * cameras
    fleet = trial.receive("fleet", "fleet.yaml", stats=False)

    def lost(count: int) -> tuple[float, float]:
        """The usual descriptors and threads after so many losses: some are connecting just now."""
        until(lambda: server.connections >= count or not fleet.is_running(), f"{count} losses", 500)
        trial.expect(fleet.is_running(), f"it ended: {fleet.text[-500:]}")
        looks = []
        for _ in range(9):
            looks.append(usage_of_running(fleet.id))
            time.sleep(0.3)
        found = (
            statistics.median(s.descriptors for s in looks), statistics.median(s.threads for s in looks))
        trial.notes.append(
            f"after {count} losses: {looks[-1].resident:.0f} MiB, {found[0]} descriptors, "
            f"{found[1]} threads")
        return found

    descriptors, threads = lost(6_000)
    # Some thirty cameras a second try again for ever.
    with trial.attack(fleet, idle=0.5):
        last_descriptors, last_threads = lost(wanted)
        is_over.set()
    path = trial.folder / "seen.jsonl"
    count = path.read_text().count("\n") if path.exists() else 0
    until(lambda: path.exists() and path.read_text().count("\n") > count + 75, "pictures again", 60)
    begin = time.monotonic()
    trial.equal(fleet.stop(within=60), 0, "status")
    trial.notes.append(f"a thousand cameras end in {time.monotonic() - begin:.1f} s")
    last = trial.pictures(path, trial.clip)[-50:]
    trial.equal({s.condition for s in last}, {"intact"}, "the last pictures")
    trial.expect(last_threads - threads <= 4, "threads stay")
    trial.expect(last_descriptors - descriptors < 40, "descriptors stay")
    # At each loss what failed, and at most that media came again; and what each camera received.
    trial.line_limit = 2 * server.connections + cameras + MOST_LINES


@case("V62", "endless headers of HTTP, and a body that says that it was compressed a thousand times")
def endless_headers(trial: Trial) -> None:
    # Each of them ends with the connection.
    def endless(connection) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-Filler: " + b"a" * 1000 + b"\r\n")

    def slow(connection) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X: y\r\n")
            time.sleep(0.5)

    def interim(connection) -> None:
        while True:
            connection.sendall(b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 100)

    def compressed(connection) -> None:
        connection.sendall(
            b"HTTP/1.1 200 OK\r\n" + b"Content-Encoding: gzip\r\n" * 300 + b"Content-Encoding: "
            + b", ".join([b"gzip"] * 700) + b"\r\n\r\n" + http.body(trial.clip))

    hostile = (
        (endless, "sent headers of more than 65536 bytes"),
        (interim, "sent headers of more than 65536 bytes"),
        (slow, "did not answer within 10 s"), (compressed, "compresses the stream .gzip, gzip"),
    )
    for respond, says in hostile:
        begin = time.monotonic()
        with HTTPServer(lambda connection, head, number: respond(connection)) as server:
            receiver = trial.receive(server.url, "-o", f"{respond.__name__}.h264")
            trial.ends(receiver, 2, says, within=12)
        trial.expect(
            "accept-encoding" not in server.heads[0].lower(), "no compression is asked for")
        trial.notes.append(
            f"{respond.__name__}: given up after {time.monotonic() - begin:.1f} s, "
            f"{receiver.peak:.0f} MiB")

    # All of them again, to a process that goes on, between a stream and the next.
    later = 900_000
    is_over = threading.Event()

    def stream(connection, timestamp: int) -> None:
        numbering = Numbering(timestamp=timestamp, ssrc=timestamp + 1)
        connection.sendall(
            http.HEAD + http.chunk(http.body(trial.clip, numbering)) + http.LAST_CHUNK)

    def in_turn(connection, head: str, number: int) -> None:
        if number == 0:
            stream(connection, 0)
        elif number <= len(hostile):
            if number == 1:
                turns.begin()
            hostile[number - 1][0](connection)
        elif number == len(hostile) + 1:
            turns.end()
            stream(connection, later)
        else:
            is_over.wait(60)

    def count() -> int:
        text = path.read_text() if path.exists() else ""
        return sum(int(time) >= later for time in re.findall(r'"rtp_timestamp": ?(\d+)', text))

    turns, path = Turns(), trial.folder / "seen.jsonl"
    server = trial.enter(HTTPServer(in_turn))
    (trial.folder / "fleet.yaml").write_text(
        "version: 1\ncameras:\n"
        f"  c1: {{source: '{server.url}', output: seen.jsonl, frame-md5: true}}\n")
    fleet = trial.receive("fleet", "fleet.yaml", stats=False)
    trial.attacked(fleet, turns, within=60)
    until(lambda: count() >= 100, "the next stream")
    is_over.set()
    trial.equal(fleet.stop(), 0, "status")
    trial.all_intact(path, trial.clip, range(100), first=later)
    for _, says in hostile:
        fleet.line(f"c1: .*{says}", 1)


@case("V68", "100,000 packets of garbage a second at an SRTP stream, from elsewhere and forged",
      alone=True)
def garbage_flood(trial: Trial) -> None:
    seconds = 60
    film = clip(trial.folder, 20)
    (trial.folder / "key").write_text(
        "AES_CM_128_HMAC_SHA1_80 MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkw\n")
    (trial.folder / "key").chmod(0o600)
    for name, forged, kind, counter in (
        ("elsewhere", False, "random", "foreign_origin"),
        ("forged", True, "rtp", "authentication_failed"),
    ):
        sender = trial.send(
            film.path, "listen://127.0.0.1:0", "--fps", "25", "--initial-timestamp", "0", "--loop",
            "forever", "--frames", 25 * (seconds + 10), "--once", "--srtp-key-file", "key", "--stats",
            f"{name}.sent")
        port = sender.port()
        receiver = trial.receive(
            f"udp://127.0.0.1:{port}", "-o", f"{name}.jsonl", "--frame-md5", "--srtp-key-file", "key")
        path = trial.folder / f"{name}.jsonl"
        until(lambda: path.exists() and path.read_text().count("\n") > 25, "pictures")
        local = trial.statistics(receiver)["transport"]["local_address"].rpartition(":")[2]
        with trial.attack(receiver):
            begin = time.monotonic()
            flood = Flood(
                trial.folder, ("127.0.0.1", int(local)), 100_000, kind=kind,
                origin=f"127.0.0.1:{port}" if forged else "127.0.0.1")
            time.sleep(seconds)
            sent = flood.stop()
            length = time.monotonic() - begin
        trial.ends(receiver, 0, within=60)
        values = trial.statistics(receiver)
        transport = values["transport"]
        trial.notes.append(
            f"{name}: {sent / length:.0f} a second; {values['rtp']['lost']} of "
            f"{values['rtp']['received']} lost, {transport['kernel_dropped']} datagrams of both dropped "
            "by the kernel")
        trial.expect(
            values["rtp"]["lost"] <= transport["kernel_dropped"],
            f"{name}: {values['rtp']['lost']} lost, {transport['kernel_dropped']} dropped by the kernel")
        last = [s for s in trial.pictures(path, film)][-100:]
        trial.expect(all(s.condition == "intact" for s in last), f"{name}: after it all is intact")
        trial.expect(sent > 95_000 * seconds, f"{name}: only {sent} were sent in {length:.1f} s")
        counted = {**transport, **transport["srtp"]}[counter]
        trial.expect(counted > 0, f"{name}: none is counted as {counter}")
        # Each has a name; a few may be lost on their way through the kernel.
        named = counted + transport["kernel_dropped"] + transport["srtp"]["malformed"]
        trial.expect(named > 0.99 * sent, f"{name}: {named} of {sent} are counted")
