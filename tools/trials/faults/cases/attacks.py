"""Known vulnerabilities of others in full numbers: packets and pictures (V10, V13, V20, V42, V43, V53)."""

from __future__ import annotations

import random
import struct
import subprocess
import time

from ...media import TICKS, Clip, Numbering, goodbye, packet
from ...programs import until
from ...servers.rtsp import RTSPServer, Session
from ...servers.udp import HelloServer
from ..trial import Trial, Turns, case, written
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

            session.pictures(range(50))
            attacked = range(50, 50 + 25 * seconds)
            if with_reports:
                with turns.attacking():
                    session.pictures(attacked, beside=beside)
            else:
                session.pictures(attacked)
            session.pictures(range(attacked.stop, attacked.stop + 100))
            session.frame(1, goodbye())
            session.attend()

        return behave

    turns = Turns()
    receivers = []
    for name, with_reports in (("quiet", False), ("loud", True)):
        server = trial.enter(RTSPServer(trial.clip, plays(with_reports)))
        receivers.append(trial.receive(server.url, *TCP, "-o", f"{name}.jsonl", "--frame-md5"))
    trial.attacked(receivers[1], turns, within=seconds + 30)
    for receiver in receivers:
        trial.ends(receiver, 0)
    quiet, loud = (receiver.processor for receiver in receivers)
    trial.notes.append(
        f"{100 * quiet / seconds:.1f} % of a processor without them, {100 * loud / seconds:.1f} % with")
    seen = trial.pictures(trial.folder / "loud.jsonl", trial.clip)
    trial.equal(sum(s.condition == "intact" for s in seen), 25 * seconds + 150, "intact pictures")
    trial.expect(loud - quiet < 0.05 * seconds, f"{loud - quiet:.1f} s more processor time")
    trial.expect(len(receivers[1].lines) <= 12, f"{len(receivers[1].lines)} lines")
    # One more is the goodbye.
    trial.equal(trial.statistics(receivers[1])["rtp"]["control"], 30 * seconds + 1, "reports, counted")


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
            # With the source's own SSRC it would be its next packet.
            header = packet(1, 1, b"", ssrc=0x4321)
            broken.append(
                (b"\x90" + header[1:] + struct.pack(">HH", 0xBEDE, extension)
                 + dice.randbytes(length))[:max(12, length)])
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()
    server.pictures(range(25))
    at = 0

    def beside(index: int) -> None:
        nonlocal at
        for content in broken[at:at + 100]:
            server.send(content)
        at += 100

    with trial.attack(receiver):
        server.pictures(range(25, 100), beside=beside)
    server.pictures(range(100, 150))
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.expect(at >= len(broken), f"{at} of {len(broken)} were sent")
    seen = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
    trial.equal(sum(s.condition == "intact" for s in seen), 150, "intact pictures")
    values = trial.statistics(receiver)
    rtp, transport = values["rtp"], values["transport"]
    trial.equal(transport["kernel_dropped"], 0, "datagrams dropped by the kernel")
    trial.equal(transport["empty"], sum(not content for content in broken), "empty, counted")
    # Where RTCP shares the port, its types tell it apart (RFC 5761 §4); one more is the goodbye.
    control = [c for c in broken if len(c) > 1 and c[0] >> 6 == 2 and 192 <= c[1] <= 223]
    trial.equal(
        rtp["control"] + rtp["malformed_control"], len(control) + 1, "RTCP, good or not, counted")
    short = sum(0 < len(c) < 12 for c in broken) - sum(len(c) < 12 for c in control)
    trial.expect(rtp["malformed"] >= short, f"{rtp['malformed']} malformed, and not {short} or more")
    outcomes = (
        "delivered", "correction", "retransmission", "held", "duplicate", "overtaken", "late",
        "foreign_source", "ignored_payload_type", "unconfirmed", "malformed", "control",
        "malformed_control")
    trial.equal(
        sum(rtp[name] for name in outcomes), rtp["received"] + rtp["recovered"], "each has an outcome")
    trial.notes.append(f"{len(broken)} broken packets beside 75 pictures")


@case("V20", "65,535 packets come behind a gap, then so many that the most that may wait do (2,048), and the "
      "run is ended: with stacks of 256 KiB")
def filled_buffer(trial: Trial) -> None:
    most = 2048
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(
        server.url, *LINES, "--reorder-window", "5000", prefix=SHALLOW)
    server.await_hello()
    server.pictures(range(25))
    numbering = server.numbering

    def fill(count: int) -> None:
        numbering.sequence += 1
        for index in range(count):
            # Between two pictures, of which it is no part.
            server.send(packet(
                numbering.sequence, numbering.timestamp - TICKS // 2, b"\x61\x11"))
            numbering.sequence += 1
            if index % 64 == 63:
                time.sleep(0.001)  # So that the kernel's buffer does not drop them.

    with trial.attack(receiver):
        fill(65_535)
    server.pictures(range(25, 75))
    fill(most)
    until(
        lambda: trial.statistics(receiver)["rtp"]["held"] == most, f"{most} packets that wait", 4.5)
    trial.equal(receiver.stop(), 0, "status")
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(75))
    held = [line["rtp"]["held"] for line in written(receiver.stats) if "rtp" in line]
    trial.expect(max(held) <= most, f"{max(held)} packets waited at once")
    values = trial.statistics(receiver)
    dropped = values["transport"]["kernel_dropped"]
    trial.equal(values["rtp"]["lost"], 2 + dropped, "lost: both gaps, and what the kernel dropped")
    trial.notes.append(f"{values['rtp']['received']} came, {dropped} dropped by the kernel")


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

        session.pictures(range(50))
        with turns.attacking():
            session.pictures(range(50, 150), beside=beside)
        session.pictures(range(150, 250))
        session.frame(1, goodbye())
        session.attend()

    turns = Turns()
    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES)
    trial.attacked(receiver, turns)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(250))
    tracks = trial.statistics(receiver)["tracks"]
    trial.equal([t["codec"] for t in tracks if t["chosen"]], ["H264"], "what is decoded")
    trial.equal(
        sum(t["packets"] for t in tracks if not t["chosen"]), 400, "packets of the others, counted")


@case("V43", "a hundred pictures have an SEI with an enhancement layer (LCEVC) that would change their size")
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
    server = trial.enter(HelloServer(plain))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()
    server.pictures(range(50))
    server.clip = richer
    with trial.attack(receiver):
        server.pictures(range(50, 150))
    server.clip = plain
    server.pictures(range(150, 200))
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", plain, range(200))
    trial.equal(trial.statistics(receiver)["pictures"]["sizes"], ["320x180"], "sizes")


@case("V53", "a million frames between PLAY and its answer, with stacks of 256 KiB")
def frames_before_the_answer(trial: Trial) -> None:
    frame = struct.pack(">cBH", b"$", 0, 20) + packet(1, 1, b"\x61" + bytes(7))

    def behave(session: Session) -> None:
        request = session.until("PLAY")
        with turns.attacking():
            for _ in range(1000):
                session.send(frame * 1000)
        session.answer_usually(request)
        session.attend_aside()
        session.numbering = Numbering(sequence=7000, timestamp=0, ssrc=0x77)
        session.pictures(range(100))
        session.frame(1, goodbye(0x77))
        session.attend()

    turns = Turns()
    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES, prefix=SHALLOW)
    trial.attacked(receiver, turns, within=60)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    rtp = trial.statistics(receiver)["rtp"]
    # One number again and again proves no source (RFC 3550 A.1).
    trial.equal(
        (rtp["duplicate"], rtp["foreign_source"]), (999_999, 1), "duplicates, and the one of no source")
