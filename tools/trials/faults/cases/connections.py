"""Connections that end, stall, drip, lie, or carry garbage (F-01 to F-06)."""

from __future__ import annotations

import random
import struct
import threading
import time

from ...media import Numbering, goodbye, packet
from ...network import Network
from ...programs import until
from ...servers import http
from ...servers.http import HTTPServer
from ...servers.rtsp import RTSPServer, Session
from ...servers.tcp import drip, reset
from ..trial import Trial, case

TCP = ["--rtsp-transport", "tcp"]
LINES = ["-o", "seen.jsonl", "--frame-md5"]


def _goes(trial: Trial, end) -> None:
    """Without --reconnect: the run ends within a second, and all whole pictures are there."""
    gone: list[float] = []

    def behave(session: Session) -> None:
        session.play()
        session.pictures(range(30))
        gone.append(time.monotonic())
        end(session.connection)

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES)
    trial.ends(receiver, 1, "--reconnect goes on by itself")
    trial.expect(time.monotonic() - gone[0] < 2, "it notices at once")
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(30))


@case("F-01 closed", "the server closes the connection in mid-stream")
def closed(trial: Trial) -> None:
    _goes(trial, lambda connection: connection.close())


@case("F-01 reset", "the server resets the connection in mid-stream")
def was_reset(trial: Trial) -> None:
    _goes(trial, reset)


@case("F-01 reconnect", "the server goes three times, and one file goes on")
def reconnects(trial: Trial) -> None:
    def behave(session: Session) -> None:
        # What a camera sends after its restart has other numbers.
        session.numbering = Numbering(
            sequence=1000 * session.number, timestamp=session.number * 90_000 * 4,
            ssrc=0x1234 + session.number)
        session.play()
        session.pictures(range(25))
        (reset if session.number % 2 else lambda c: c.close())(session.connection)

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(
        server.url, *TCP, *LINES, "-o", "all.h264", "--reconnect", "--frames", 100)
    trial.ends(receiver, 0)
    seen = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
    trial.equal(len(seen), 100, "pictures in one file")
    trial.equal([s.time for s in seen], sorted(s.time for s in seen), "times go on")
    trial.equal(trial.statistics(receiver)["connection"]["reconnects"], 3, "reconnects")


@case("F-01 http", "an HTTP body ends in the middle of a chunk, and later within a packet")
def http_ends(trial: Trial) -> None:
    whole = http.body(trial.clip)
    def respond(connection, head: str, number: int) -> None:
        connection.sendall(http.HEAD)
        if number == 0:
            connection.sendall(b"%x\r\n" % len(whole) + whole[:len(whole) // 2])
        else:
            connection.sendall(http.chunk(whole) + http.LAST_CHUNK)

    server = trial.enter(HTTPServer(respond))
    first = trial.receive(server.url, "-o", "a.h264")
    trial.ends(first, 1, "the connection broke")
    trial.expect((trial.folder / "a.h264").stat().st_size > 10_000, "half of it is there")
    second = trial.receive(server.url, *LINES)
    trial.ends(second, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))


def _unplugged(trial: Trial, destination: str, url: str, *options: str) -> None:
    """A cable is pulled, and nobody says so: once for good, and once for a while."""
    network = trial.enter(Network())
    for name, more in (("gives-up", ["--timeout", "3"]), ("goes-on", ["--reconnect"])):
        # One that waits for a hello goes on sending to who is cut off, and to nobody else.
        server = trial.send(
            "pattern", destination.format(network.SERVER), "--size", "320x180", "--bitrate", "300k",
            prefix=network.at_server)
        server.port()
        receiver = trial.receive(
            url.format(network.SERVER), *options, *more, "-o", f"{name}.jsonl",
            prefix=network.at_receiver)
        seen = trial.folder / f"{name}.jsonl"
        until(lambda: seen.exists() and seen.read_text().count("\n") > 10, "pictures")
        network.unplug()
        pulled = time.monotonic()
        if name == "gives-up":
            trial.ends(
                receiver, 5, "no more media for 3 s|nothing of the stream came for 3 s", within=15)
            trial.expect(time.monotonic() - pulled < 8, "it gives up after --timeout")
            network.plug()
            server.kill()
        else:
            receiver.line("(no more media|nothing of the stream came) for 5 s.*; connecting again")
            time.sleep(3)  # Longer than the silence, so that attempts fail too.
            network.plug()
            count = seen.read_text().count("\n")
            until(lambda: seen.read_text().count("\n") > count + 30, "pictures again", 45)
            trial.equal(receiver.stop(), 0, "status")
            trial.expect(
                trial.statistics(receiver)["connection"]["reconnects"] >= 1, "it was connected again")


@case("F-02 cable", "a cable is pulled: nothing comes, and nobody says so; later it is back: RTSP in TCP")
def cable(trial: Trial) -> None:
    _unplugged(trial, "rtsp://{}:8554/live", "rtsp://{}:8554/live", *TCP)


@case("F-02 rtsp udp", "the same with the media of RTSP over UDP")
def cable_beside_the_connection(trial: Trial) -> None:
    _unplugged(trial, "rtsp://{}:8554/live", "rtsp://{}:8554/live", "--rtsp-transport", "udp")


@case("F-02 udp", "the same with a server that waits for a hello")
def cable_behind_a_hello(trial: Trial) -> None:
    _unplugged(trial, "listen://{}:5004", "udp://{}:5004")


@case("F-02 http", "the same with HTTP")
def cable_of_http(trial: Trial) -> None:
    _unplugged(trial, "http://{}:8080", "http://{}:8080/live")


@case("F-02 link", "the receiver's own link goes down, which its kernel knows, and up again")
def link(trial: Trial) -> None:
    network = trial.enter(Network())
    for name, destination, url, options in (
        ("rtsp", "rtsp://{}:8554/live", "rtsp://{}:8554/live", TCP),
        ("udp", "listen://{}:5004", "udp://{}:5004", []),
    ):
        server = trial.send(
            "pattern", destination.format(network.SERVER), "--size", "320x180", "--bitrate", "300k",
            prefix=network.at_server)
        server.port()
        receiver = trial.receive(
            url.format(network.SERVER), *options, "--reconnect", "-o", f"{name}.jsonl",
            prefix=network.at_receiver)
        seen = trial.folder / f"{name}.jsonl"
        until(lambda: seen.exists() and seen.read_text().count("\n") > 10, f"{name}: pictures")
        network.link_down()
        receiver.line("; connecting again")
        time.sleep(3)  # Longer than the silence, so that attempts fail too.
        count = seen.read_text().count("\n")
        network.link_up()
        until(lambda: seen.read_text().count("\n") > count + 30, f"{name}: pictures again", 45)
        trial.equal(receiver.stop(), 0, f"{name}: status")
        trial.expect(
            trial.statistics(receiver)["connection"]["reconnects"] >= 1,
            f"{name}: it was connected again")


def _drips(trial: Trial, method: str, behave) -> None:
    """An answer comes too slowly: there is a deadline for all of it."""
    stop = threading.Event()
    server = trial.enter(RTSPServer(trial.clip, lambda session: behave(session, stop)))
    begin = time.monotonic()
    receiver = trial.receive(server.url, *TCP, "-o", "a.h264")
    try:
        trial.ends(
            receiver, 2,
            f"did not answer {method} within 10 s|stopped in the middle of a message for 10 s",
            within=25)
    finally:
        stop.set()
    trial.expect(time.monotonic() - begin < 15, "it is given up after ten seconds")


@case("F-03 headers", "an answer comes at one byte in half a second")
def slow_headers(trial: Trial) -> None:
    def behave(session: Session, stop: threading.Event) -> None:
        session.request()
        drip(session.connection, b"RTSP/1.0 200 OK\r\nCSeq: 1\r\n" * 100, 0.5, stop)

    _drips(trial, "OPTIONS", behave)


@case("F-03 body", "the head of a description comes at once, and the description a byte at a time")
def slow_description(trial: Trial) -> None:
    def behave(session: Session, stop: threading.Event) -> None:
        request = session.until("DESCRIBE")
        sdp = session.clip.sdp().encode()
        session.send(
            f"RTSP/1.0 200 OK\r\nCSeq: {request.headers['cseq']}\r\nContent-Type: application/sdp\r\n"
            f"Content-Length: {len(sdp)}\r\n\r\n".encode())
        drip(session.connection, sdp, 0.5, stop)

    _drips(trial, "DESCRIBE", behave)


@case("F-03 frame", "a packet in the connection comes a byte at a time, for ever")
def slow_frame(trial: Trial) -> None:
    stop = threading.Event()

    def behave(session: Session) -> None:
        session.play()
        session.pictures(range(10))
        large = packet(session.numbering.sequence, 0, bytes(59_988))
        drip(session.connection, struct.pack(">cBH", b"$", 0, len(large)) + large, 0.2, stop)

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES, "--timeout", "4")
    try:
        trial.ends(
            receiver, 5, "no more media for 4 s|nothing of the stream came for 4 s", within=20)
    finally:
        stop.set()
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(10))


@case("F-03 http", "an HTTP body comes a byte at a time")
def slow_body(trial: Trial) -> None:
    stop = threading.Event()

    def respond(connection, head: str, number: int) -> None:
        connection.sendall(http.HEAD)
        for byte in http.body(trial.clip):
            connection.sendall(http.chunk(bytes([byte])))
            if stop.wait(0.3):
                return

    server = trial.enter(HTTPServer(respond))
    receiver = trial.receive(server.url, "-o", "a.h264", "--timeout", "4")
    try:
        trial.ends(
            receiver, 4, "no media within 4 s; nothing came through the connection"
            "|no packet came within 4 s", within=20)
    finally:
        stop.set()


@case("F-04", "garbage between the packets of a connection, with dollar signs in it")
def garbage(trial: Trial) -> None:
    dice = random.Random(4)

    def behave(session: Session) -> None:
        session.play()
        session.attend_aside()

        def beside(index: int) -> None:
            if index % 5 == 4:
                session.send(dice.randbytes(dice.randrange(1, 400)).replace(b"RTSP/", b"") + b"$$\0")

        session.pictures(range(100), beside=beside)
        session.close()

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES)
    trial.ends(receiver, 1, "closed the connection in the middle of the stream")
    seen = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
    intact = [s for s in seen if s.condition == "intact"]
    trial.expect(len(seen) >= 95, f"{len(seen)} of 100 pictures came")
    trial.expect(len(intact) >= 60, f"{len(intact)} of 100 pictures are intact")
    trial.notes.append(f"{len(intact)} of 100 pictures intact with garbage before every fifth")
    trial.expect(trial.statistics(receiver)["transport"]["skipped_bytes"] > 0, "skipped bytes")


@case("F-04 endless", "garbage without end")
def endless_garbage(trial: Trial) -> None:
    def behave(session: Session) -> None:
        session.play()
        session.pictures(range(10))
        while True:
            session.send(b"\x55" * 65536)

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES)
    trial.ends(receiver, 1, r"does not send RTSP \(\d+ bytes skipped\)")
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(10))


@case("F-05 http", "lengths that lie: 0, 1, 11, 64 KiB and more, 2 GiB, 4 GiB")
def lying_lengths(trial: Trial) -> None:
    lengths = [1, 11, 65_536, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]
    one = Numbering()
    before = b"".join(http.prefixed(one.picture(units)) for units in trial.clip.units[:25])

    def respond(connection, head: str, number: int) -> None:
        connection.sendall(http.HEAD)
        connection.sendall(http.chunk(before))
        length = lengths[number]
        connection.sendall(http.chunk(struct.pack(">I", length) + bytes(min(length, 200_000))))
        connection.sendall(http.LAST_CHUNK)

    server = trial.enter(HTTPServer(respond))
    for length in lengths:
        receiver = trial.receive(server.url, "-o", f"{length}.jsonl", "--frame-md5")
        if length < 65_536:
            # So many bytes come, which are too few for RTP.
            trial.ends(receiver, 0)
            trial.equal(
                trial.statistics(receiver)["rtp"]["malformed"], 1, f"length {length}: malformed")
        else:
            trial.ends(receiver, 1, f"announced a packet of {length} bytes, more than 65535")
        trial.all_intact(trial.folder / f"{length}.jsonl", trial.clip, range(25))


@case("F-05 rtsp", "frames of 0, 1, 7, 8 and 65,535 bytes on known and unknown channels")
def odd_frames(trial: Trial) -> None:
    dice = random.Random(5)

    def length(index: int) -> int:
        return (0, 1, 7, 8, 65_535)[index % 5]

    def behave(session: Session) -> None:
        session.play()
        session.attend_aside()

        def beside(index: int) -> None:
            # What begins like RTP is a frame of another stream, and no garbage.
            for channel in (1, 2, 77, 255):
                session.frame(channel, (b"\x80\x6b" + dice.randbytes(65_533))[:length(index)])

        session.pictures(range(100), beside=beside)
        session.frame(1, goodbye())
        session.attend()

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))


@case("F-05 empty", "packets of no bytes between the others")
def empty_packets(trial: Trial) -> None:
    numbering = Numbering()
    body = b"".join(
        bytes(4) + http.prefixed(numbering.picture(units)) for units in trial.clip.units)

    def respond(connection, head: str, number: int) -> None:
        connection.sendall(http.HEAD + http.chunk(body) + http.LAST_CHUNK)

    receiver = trial.receive(trial.enter(HTTPServer(respond)).url, *LINES)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    trial.equal(trial.statistics(receiver)["transport"]["empty"], 100, "empty ones are counted")


@case("F-06", "chunks of every length from 1 to 64 bytes, and pieces that end anywhere")
def chunks(trial: Trial) -> None:
    numbering = Numbering()
    body = b"".join(http.prefixed(numbering.picture(units)) for units in trial.clip.units[:10])

    def respond(connection, head: str, number: int) -> None:
        size = number + 1
        chunked = b"".join(
            http.chunk(body[at:at + size]) for at in range(0, len(body), size)) + http.LAST_CHUNK
        connection.sendall(http.HEAD)
        dice = random.Random(number)
        at = 0
        while at < len(chunked):
            step = dice.randrange(1, 5000)
            connection.sendall(chunked[at:at + step])
            at += step

    server = trial.enter(HTTPServer(respond))
    outputs = set()
    for size in range(1, 65):
        receiver = trial.receive(server.url, "-o", f"{size}.h264", stats=False)
        trial.ends(receiver, 0)
        outputs.add((trial.folder / f"{size}.h264").read_bytes())
    trial.equal(len(outputs), 1, "different results")
