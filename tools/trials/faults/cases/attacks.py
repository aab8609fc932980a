"""Known vulnerabilities of others in full numbers (V10, V13, V20, V42, V43, V53, V59, V62, V68)."""

from __future__ import annotations

import random
import struct
import subprocess
import threading
import time

from ...measuring import usage_of_running
from ...media import Clip, Numbering, clip, goodbye, packet
from ...programs import until
from ...servers import http
from ...servers.http import HTTPServer
from ...servers.rtsp import RTSPServer, Session
from ...servers.udp import Flood, HelloServer
from ..trial import Trial, case
from .connections import LINES, TCP

# Stacks of 256 KiB, on which what calls itself for each packet would not get far.
SHALLOW = ["prlimit", f"--stack={256 << 10}"]


@case("V10", "a camera sends thirty reports of 65,535 bytes a second beside its video, for a minute")
def large_reports(trial: Trial) -> None:
    seconds = 60
    report = bytearray(65_532)
    struct.pack_into(">BBHI", report, 0, 0x80, 204, len(report) // 4 - 1, 0x1234)

    def plays(with_reports: bool):
        def behave(session: Session) -> None:
            session.play()
            session.attend_aside()

            def beside(index: int) -> None:
                for _ in range(2 if index % 5 == 0 else 1):
                    session.frame(1, bytes(report))

            session.pictures(
                range(25 * seconds), beside=beside if with_reports else lambda index: None)
            session.frame(1, goodbye())
            session.attend()

        return behave

    receivers = []
    for name, with_reports in (("quiet", False), ("loud", True)):
        server = trial.enter(RTSPServer(trial.clip, plays(with_reports)))
        receivers.append(trial.receive(server.url, *TCP, "-o", f"{name}.jsonl", "--frame-md5"))
    for receiver in receivers:
        trial.ends(receiver, 0, within=seconds + 30)
    quiet, loud = (receiver.processor for receiver in receivers)
    trial.notes.append(
        f"{100 * quiet / seconds:.1f} % of a processor without them, {100 * loud / seconds:.1f} % with")
    seen = trial.pictures(trial.folder / "loud.jsonl", trial.clip)
    trial.equal(sum(s.condition == "intact" for s in seen), 25 * seconds, "intact pictures")
    trial.expect(loud - quiet < 0.05 * seconds, f"{loud - quiet:.1f} s more processor time")
    trial.expect(len(receivers[1].lines) <= 12, f"{len(receivers[1].lines)} lines")
    trial.expect(trial.statistics(receivers[1])["rtp"]["control"] > 1500, "they are counted")


@case("V13", "short and broken RTP and RTCP of every length, from the sender itself")
def short_packets(trial: Trial) -> None:
    dice = random.Random(13)
    broken: list[bytes] = []
    for length in range(81):
        broken += [bytes(length), b"\xff" * length, dice.randbytes(length)]
        for first in (0x80, 0x8F, 0x90, 0xA0, 0xBF, 0x9F):  # CSRCs, extensions, padding
            for second in (96, 200, 201, 202, 203, 204, 205, 206, 207, 213):
                content = bytearray(dice.randbytes(length))
                content[:2] = bytes([first, second])[:length]
                broken.append(bytes(content))
        for extension in (0, 1, 0x3FFF, 0x4000, 0xFFFF):
            broken.append(
                (packet(1, 1, b"")[:1].replace(b"\x80", b"\x90") + packet(1, 1, b"")[1:]
                 + struct.pack(">HH", 0xBEDE, extension) + dice.randbytes(length))[:max(12, length)])
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()
    server.pictures(range(5))
    at = 0

    def beside(index: int) -> None:
        nonlocal at
        for content in broken[at:at + 100]:
            # With the source's own SSRC it would be its next packet.
            if len(content) < 12 or content[8:12] != b"\0\0\x12\x34":
                server.send(content)
        at += 100

    server.pictures(range(5, 100), beside=beside)
    server.pictures(range(100, 150))
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.expect(at >= len(broken), f"{at} of {len(broken)} were sent")
    seen = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
    trial.equal(sum(s.condition == "intact" for s in seen), 150, "intact pictures")
    trial.notes.append(f"{len(broken)} broken packets beside 150 pictures")


@case("V20", "65,535 packets wait behind a gap, with stacks of 256 KiB, and then the run is ended")
def filled_buffer(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(
        server.url, *LINES, "--reorder-window", "5000", prefix=SHALLOW)
    server.await_hello()
    server.pictures(range(25))
    numbering = server.numbering

    def fill() -> None:
        numbering.sequence += 1
        for index in range(65_535):
            server.send(packet(numbering.sequence, numbering.timestamp, b"\x61\x11"))
            numbering.sequence += 1
            if index % 64 == 63:
                time.sleep(0.001)  # So that the kernel's buffer does not drop them.

    fill()
    server.pictures(range(25, 75))
    fill()
    trial.equal(receiver.stop(), 0, "status")
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, [*range(25), *range(50, 75)])
    values = trial.statistics(receiver)
    trial.notes.append(
        f"{values['rtp']['received']} came, "
        f"{values['transport']['kernel_dropped']} dropped by the kernel")


@case("V42", "codecs that nobody wants, alone and beside H.264, and packets of unknown types")
def other_codecs(trial: Trial) -> None:
    def medium(number: int, name: str, kind: str = "video", type: int = 100) -> str:
        return (f"m={kind} 0 RTP/AVP {type + number}\r\na=rtpmap:{type + number} {name}/90000\r\n"
                f"a=control:trackID={number}\r\n")

    unwanted = ["AV1", "X-ASF-PF", "VP8", "X-QDM", "H263-1998", "raw"]
    head = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n"
    alone = head + "".join(medium(n, name) for n, name in enumerate(unwanted))
    jpeg = "m=video 0 RTP/AVP 26\r\na=control:trackID=26\r\n"

    def refuses(session: Session) -> None:
        session.sdp = alone + jpeg
        session.attend()

    server = trial.enter(RTSPServer(trial.clip, refuses))
    trial.ends(trial.receive(server.url, *TCP, "-o", "a.h264"), 9, "AV1 is not", within=5)
    trial.expect(not (trial.folder / "a.h264").exists(), "nothing unwanted is written")

    def behave(session: Session) -> None:
        # The first one is set up first, on channels 0 and 1.
        session.sdp = (
            trial.clip.sdp("trackID=50") + alone.partition("t=0 0\r\n")[2] + jpeg)
        session.play()
        session.attend_aside()

        def beside(index: int) -> None:
            for kind in (26, 100, 101, 103):
                session.frame(0, packet(index, 0, bytes(900), payload_type=kind, ssrc=kind))

        session.pictures(range(100), beside=beside)
        session.frame(1, goodbye())
        session.attend()

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    tracks = trial.statistics(receiver)["tracks"]
    trial.equal([t["codec"] for t in tracks if t["chosen"]], ["H264"], "what is decoded")
    trial.equal(
        sum(t["packets"] for t in tracks if not t["chosen"]), 400, "packets of the others, counted")


@case("V43", "each picture has an SEI with an enhancement layer (LCEVC) that would change its size")
def enhancement(trial: Trial) -> None:
    linked = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    library = next(line.split()[-1] for line in linked.splitlines() if "libavcodec.so" in line)
    trial.expect(
        "lcevc" not in subprocess.run(["ldd", library], capture_output=True, text=True).stdout,
        "libavcodec decodes enhancement layers: look whether it applies them")
    dice = random.Random(43)

    def sei(size: int) -> bytes:
        # ITU-T T.35, United Kingdom, V-Nova; 0xFF bytes could not be start codes.
        content = b"\xb4\x00\x50" + bytes(dice.randrange(1, 255) for _ in range(size))
        length = b"\xff" * (len(content) // 255) + bytes([len(content) % 255])
        return b"\x06\x04" + length + content + b"\x80"

    plain = trial.clip
    richer = Clip(
        plain.path,
        tuple((*units[:-1], sei(dice.randrange(5, 3000)), units[-1]) for units in plain.units),
        plain.hashes)
    server = trial.enter(HelloServer(richer))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()
    server.pictures(range(100))
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", richer, range(100))
    trial.equal(trial.statistics(receiver)["pictures"]["sizes"], ["320x180"], "sizes")


@case("V53", "a million frames between PLAY and its answer, with stacks of 256 KiB")
def frames_before_the_answer(trial: Trial) -> None:
    frame = struct.pack(">cBH", b"$", 0, 20) + packet(1, 1, b"\x61" + bytes(7))

    def behave(session: Session) -> None:
        request = session.until("PLAY")
        begin = time.monotonic()
        for _ in range(1000):
            session.send(frame * 1000)
        sent.append(time.monotonic() - begin)
        session.answer_usually(request)
        session.attend_aside()
        session.numbering = Numbering(sequence=7000, timestamp=0, ssrc=0x77)
        session.pictures(range(100))
        session.frame(1, goodbye(0x77))
        session.attend()

    sent: list[float] = []
    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES, prefix=SHALLOW)
    trial.ends(receiver, 0, within=60)
    seen = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
    trial.expect(
        sum(s.condition == "intact" for s in seen[-75:]) == 75, f"the last 75 of {len(seen)} pictures")
    trial.notes.append(f"a million frames in {sent[0]:.1f} s")


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
    trial.memory_limit, trial.line_limit = 700, 100_000
    fleet = trial.receive("fleet", "fleet.yaml", stats=False)
    samples = []
    for count in (6_000, 8_000, wanted):
        until(lambda: server.connections >= count or not fleet.is_running(), f"{count} losses", 500)
        trial.expect(fleet.is_running(), f"it ended: {fleet.text[-500:]}")
        samples.append(usage_of_running(fleet.id))
    trial.notes += [
        f"after {count} losses: {s.resident:.0f} MiB, {s.descriptors} descriptors, {s.threads} threads"
        for count, s in zip((6_000, 8_000, wanted), samples)]
    is_over.set()
    path = trial.folder / "seen.jsonl"
    count = path.read_text().count("\n") if path.exists() else 0
    until(lambda: path.exists() and path.read_text().count("\n") > count + 75, "pictures again", 60)
    begin = time.monotonic()
    trial.equal(fleet.stop(within=60), 0, "status")
    trial.notes.append(f"a thousand cameras end in {time.monotonic() - begin:.1f} s")
    last = trial.pictures(path, trial.clip)[-50:]
    trial.equal({s.condition for s in last}, {"intact"}, "the last pictures")
    trial.expect(samples[2].own - samples[0].own < 16, "memory stays")
    trial.expect(samples[2].threads - samples[0].threads <= 4, "threads stay")
    trial.expect(samples[2].descriptors - samples[0].descriptors < 100, "descriptors stay")


@case("V62", "endless headers of HTTP, and a body that says that it was compressed a thousand times")
def endless_headers(trial: Trial) -> None:
    gone = threading.Event()

    def endless(connection, head: str, number: int) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        try:
            while not gone.is_set():
                connection.sendall(b"X-Filler: " + b"a" * 1000 + b"\r\n")
        finally:
            gone.set()

    def slow(connection, head: str, number: int) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while not gone.is_set():
            connection.sendall(b"X: y\r\n")
            gone.wait(0.5)

    def interim(connection, head: str, number: int) -> None:
        while not gone.is_set():
            connection.sendall(b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 100)

    def compressed(connection, head: str, number: int) -> None:
        connection.sendall(
            b"HTTP/1.1 200 OK\r\n" + b"Content-Encoding: gzip\r\n" * 300 + b"Content-Encoding: "
            + b", ".join([b"gzip"] * 700) + b"\r\n\r\n" + http.body(trial.clip))

    for respond in (endless, slow, interim, compressed):
        gone.clear()
        begin = time.monotonic()
        with HTTPServer(respond) as server:
            receiver = trial.receive(server.url, "-o", f"{respond.__name__}.h264")
            status = receiver.wait(25)
            gone.set()
        trial.equal(status, 2, f"{respond.__name__}: {receiver.text}")
        trial.expect(
            "accept-encoding" not in server.heads[0].lower(), "no compression is asked for")
        trial.notes.append(
            f"{respond.__name__}: status {status} after {time.monotonic() - begin:.1f} s, "
            f"{receiver.peak:.0f} MiB")


@case("V68", "100,000 packets of garbage a second at an SRTP stream, from elsewhere and forged",
      alone=True)
def garbage_flood(trial: Trial) -> None:
    seconds = 60
    film = clip(trial.folder, 20)
    (trial.folder / "key").write_text(
        "AES_CM_128_HMAC_SHA1_80 MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkw\n")
    (trial.folder / "key").chmod(0o600)
    for name, forged, kind in (("elsewhere", False, "random"), ("forged", True, "rtp")):
        length = seconds if forged else seconds // 2
        sender = trial.send(
            film.path, "listen://127.0.0.1:0", "--fps", "25", "--initial-timestamp", "0", "--loop",
            "forever", "--frames", 25 * (length + 10), "--once", "--srtp-key-file", "key", "--stats",
            f"{name}.sent")
        port = sender.port()
        receiver = trial.receive(
            f"udp://127.0.0.1:{port}", "-o", f"{name}.jsonl", "--frame-md5", "--srtp-key-file", "key")
        path = trial.folder / f"{name}.jsonl"
        until(lambda: path.exists() and path.read_text().count("\n") > 25, "pictures")
        local = trial.statistics(receiver)["transport"]["local_address"].rpartition(":")[2]
        before = usage_of_running(receiver.id).processor
        # Forging takes longer, so that two have to do it.
        origin, count = (f"127.0.0.1:{port}", 2) if forged else ("127.0.0.1", 1)
        floods = [
            Flood(("127.0.0.1", int(local)), 100_000 // count, kind=kind, origin=origin)
            for _ in range(count)]
        time.sleep(length)
        sent = sum(flood.stop() for flood in floods)
        used = usage_of_running(receiver.id).processor - before
        time.sleep(1)
        idle = usage_of_running(receiver.id).processor
        time.sleep(2)
        idle = (usage_of_running(receiver.id).processor - idle) / 2
        trial.ends(receiver, 0, within=60)
        values = trial.statistics(receiver)
        transport = values["transport"]
        trial.pictures(path, film)
        trial.expect(
            values["rtp"]["lost"] <= transport["kernel_dropped"],
            f"{name}: {values['rtp']['lost']} lost, {transport['kernel_dropped']} dropped by the kernel")
        last = [s for s in trial.pictures(path, film)][-100:]
        trial.expect(all(s.condition == "intact" for s in last), f"{name}: after it all is intact")
        trial.expect(sent > 30_000 * length, f"{name}: only {sent} were sent")
        trial.expect(idle < 0.2, f"{name}: {100 * idle:.0f} % of a processor afterwards")
        trial.notes.append(
            f"{name}: {sent / length:.0f} a second; {100 * used / length:.0f} % of a processor; "
            f"{values['rtp']['lost']} of {values['rtp']['received']} lost, {transport['kernel_dropped']} "
            "datagrams of both dropped by the kernel")
