"""Datagrams that are lost, doubled, reordered, foreign, or too large (F-11 to F-17, F-19 to F-33)."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

from ...media import TICKS, Numbering, goodbye, packet, seen, sender_report
from ...network import Network
from ...programs import free_port, until
from ...servers.udp import HelloServer
from ..trial import Failure, Trial, case, written
from .connections import LINES

FILE = ["--fps", "25", "--initial-timestamp", "0"]


def _lines(trial: Trial) -> int:
    path = trial.folder / "seen.jsonl"
    return path.read_text().count("\n") if path.exists() else 0


@case("F-11", "the port is closed at first (ICMP), and then there is a server")
def refused(trial: Trial) -> None:
    port = free_port()
    receiver = trial.receive(f"udp://127.0.0.1:{port}", *LINES, "--frames", 50)
    until(lambda: trial.statistics(receiver).get("transport", {}).get("refused", 0) > 0, "a refusal")
    server = trial.enter(HelloServer(trial.clip, port=port))
    server.await_hello()
    server.pictures(range(60))
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(50))


@case("F-11 never", "the port stays closed")
def refused_for_ever(trial: Trial) -> None:
    receiver = trial.receive(f"udp://127.0.0.1:{free_port()}", "-o", "a.h264", "--timeout", "4")
    trial.ends(receiver, 4, "refused|unreachable|closed", within=15)


@case("F-12 port", "the server's port changes after two seconds of silence, as behind a NAT that forgot")
def rebinding(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()
    server.pictures(range(25))
    time.sleep(3)  # The silence itself.
    server.move()
    server.pictures(range(25, 75))
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.equal(trial.statistics(receiver)["transport"]["rebindings"], 1, "rebindings")
    trial.all_intact(
        trial.folder / "seen.jsonl", trial.clip, [*range(25), *range(50, 75)])


@case("F-12 host", "the stream comes from another host after a silence: it is not taken")
def other_host(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES, "--timeout", "6")
    server.await_hello()
    server.pictures(range(25))
    time.sleep(3)  # The silence itself.
    server.move(address="127.0.0.7")
    server.pictures(range(25, 75))
    trial.ends(receiver, 5)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(25))
    values = trial.statistics(receiver)
    trial.equal(values["delivery"]["frames"], 25, "frames")
    trial.expect(values["transport"]["foreign_origin"] > 50, "they are counted")


@case("F-12 attacker", "others send with the right SSRC and numbers, from another port and host")
def attackers(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()
    others = []
    for address in ("127.0.0.1", "127.0.0.9"):
        other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        other.bind((address, 0))
        others.append(other)

    def attack(index: int) -> None:
        # What comes next, with another content; and an end of the stream.
        for other in others:
            forged = packet(
                server.numbering.sequence, server.numbering.timestamp, b"\x61" + bytes(50),
                marker=True)
            other.sendto(forged, server.client)
            other.sendto(goodbye(), server.client)

    attack(0)
    server.pictures(range(100), beside=attack)
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    transport = trial.statistics(receiver)["transport"]
    trial.expect(transport["foreign_origin"] >= 200, f"counted: {transport}")
    for other in others:
        other.setblocking(False)
        try:
            trial.expect(not other.recv(100), "nothing is sent to an attacker")
        except BlockingIOError:
            pass


@case("F-12 address", "the receiver's own address changes in mid-stream")
def own_address(trial: Trial) -> None:
    network = trial.enter(Network())
    server = trial.send(
        "pattern", f"listen://{network.SERVER}:5004", "--size", "320x180", "--bitrate", "300k",
        "--gop", "15", prefix=network.at_server)
    server.port()
    receiver = trial.receive(
        f"udp://{network.SERVER}:5004", *LINES, "--reconnect", prefix=network.at_receiver)
    until(lambda: _lines(trial) > 20, "pictures")
    network.on_receiver("ip", "address", "flush", "dev", "cable")
    network.on_receiver("ip", "address", "add", "10.99.0.77/24", "dev", "cable")
    count = _lines(trial)
    until(lambda: _lines(trial) > count + 60, "pictures at the new address", 60)
    trial.equal(receiver.stop(), 0, "status")


@case("F-13", "the sender restarts: another SSRC, other numbers, another time")
def restarts(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES, "--verbose")
    server.await_hello()
    for restart in range(4):
        server.numbering = Numbering(
            sequence=(7919 * restart) & 0xFFFF, timestamp=restart * 90_000 * 4, ssrc=77 + restart)
        server.pictures(range(50))
        time.sleep(1.2)  # As long as a sender needs to begin again.
    server.send(goodbye(80))
    trial.ends(receiver, 0)
    found = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
    trial.equal(sum(s.condition == "intact" for s in found), 200, "intact pictures of all four")
    trial.equal(trial.statistics(receiver)["rtp"]["source_changes"], 3, "source changes")
    trial.equal(receiver.text.count("the source changed its SSRC"), 3, "a line for each")
    trial.expect(all(a.time < b.time for a, b in zip(found, found[1:])), "times go on")


@case("F-14", "two senders on one port: one is received, the other counted")
def two_senders(trial: Trial) -> None:
    port = free_port()
    receiver = trial.receive(f"rtp://127.0.0.1:{port}", *LINES)
    until(lambda: _listens(port), "the port")
    one, other = Numbering(ssrc=1), Numbering(sequence=30_000, timestamp=90_000, ssrc=2)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for index in range(100):
        for numbering in (one, other):
            for datagram in numbering.picture(trial.clip.units[index]):
                sender.sendto(datagram, ("127.0.0.1", port))
        time.sleep(0.04)
    # The other one first: it would go on otherwise.
    for ssrc in (2, 1):
        sender.sendto(goodbye(ssrc), ("127.0.0.1", port))
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    values = trial.statistics(receiver)
    found = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
    trial.equal([s.index for s in found[:100]], list(range(100)), "the first one alone, to its end")
    trial.expect(values["rtp"]["source_changes"] <= 1, "it went over at the end at most")
    trial.expect(
        values["rtp"]["foreign_source"] + values["rtp"]["ignored_payload_type"] > 0
        or values["transport"]["foreign_origin"] > 0, f"the other is counted: {values['rtp']}")


def _listens(port: int) -> bool:
    return f":{port:04X} " in Path("/proc/net/udp").read_text()


def _file(trial: Trial, *options: object, key: bool = False) -> tuple:
    """Receives the clip over UDP from rtp-send with such options; the receiver, and what was sent."""
    secret = []
    if key:
        (trial.folder / "key").write_text(
            "AEAD_AES_128_GCM MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3OA==\n")
        (trial.folder / "key").chmod(0o600)
        secret = ["--srtp-key-file", "key"]
    sender = trial.send(
        trial.clip.path, "listen://127.0.0.1:0", *FILE, "--once", *options, *secret, "--stats",
        "sent.json")
    receiver = trial.receive(f"udp://127.0.0.1:{sender.port()}", *LINES, *secret)
    trial.ends(receiver, 0)
    sender.wait()
    return receiver, json.loads((trial.folder / "sent.json").read_text())


def _proxied(trial: Trial, *options: object) -> tuple:
    """The same by RTSP, with its media over UDP through a proxy that has these options."""
    server = trial.send(trial.clip.path, "rtsp://127.0.0.1:0/clip", "--fps", "25")
    proxy = trial.send(
        "proxy", "rtsp://127.0.0.1:0", f"rtsp://127.0.0.1:{server.port()}", *options, "--stats",
        "sent.json")
    receiver = trial.receive(
        f"rtsp://127.0.0.1:{proxy.port()}/clip", "--rtsp-transport", "udp", *LINES)
    trial.ends(receiver, 0)
    trial.equal(proxy.stop(), 0, "the proxy")
    return receiver, json.loads((trial.folder / "sent.json").read_text())


def _first(trial: Trial) -> int:
    """The RTP timestamp of the clip's first picture, by the hash of any intact one."""
    for line in written(trial.folder / "seen.jsonl"):
        if line["condition"] == "intact" and line["md5"] in trial.clip.hashes:
            index = trial.clip.hashes.index(line["md5"])
            return (line["rtp_timestamp"] - TICKS * index) & 0xFFFF_FFFF
    raise Failure("no picture is intact")


@case("F-15 wrap", "sequence numbers go round, and jump by any number: ten starts and jumps")
def wraps(trial: Trial) -> None:
    for first in (0, 65_500, 65_535):
        _file(trial, "--initial-sequence", first)
        trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    for jump in (1, 2, 100, 3_000, 20_000, 32_767, 32_768, 65_535):
        _file(trial, "--sequence-jump", f"200,{jump}")
        found = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
        intact = {s.index for s in found if s.condition == "intact"}
        # The group of pictures of the jump may suffer, and no other.
        trial.expect(len(intact) >= 75, f"a jump by {jump}: {len(intact)} intact pictures")
        trial.expect(99 in intact, f"a jump by {jump}: it goes on")


@case("F-15 restart", "a sender begins to number anew with the same SSRC")
def numbers_anew(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()
    server.numbering = Numbering(sequence=40_000)
    server.pictures(range(50))
    server.numbering = Numbering(sequence=3, timestamp=server.numbering.timestamp)
    server.pictures(range(50, 100))
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))


@case("F-16", "timestamps go round, jump forward and back, and stand still")
def timestamps(trial: Trial) -> None:
    _file(trial, "--initial-timestamp", 0xFFFF_FFFF - 90_000)
    trial.all_intact(
        trial.folder / "seen.jsonl", trial.clip, range(100), first=0xFFFF_FFFF - 90_000)
    for jump in ("90000", "-90000", "2147483647", "-2147483648", "4000000"):
        (trial.folder / "jump.plan").write_text(f"2 jump timestamp {jump}\n")
        receiver, _ = _file(trial, "--plan", "jump.plan")
        lines = written(trial.folder / "seen.jsonl")
        intact = sum(line["condition"] == "intact" for line in lines)
        trial.expect(intact >= 75, f"a jump by {jump}: {intact} intact pictures")
        times = [line["time_ns"] for line in lines if line["number"]]
        # The lines say what was sent, so that the jump itself may go back.
        back = sum(a > b for a, b in zip(times, times[1:]))
        trial.expect(back <= 1, f"a jump by {jump}: {back} steps back")
        _recorded(trial, jump)
    receiver, _ = _file(trial, "--quirk", "timestamps-stuck")
    trial.expect(len(written(trial.folder / "seen.jsonl")) >= 75, "timestamps that stand still")


def _recorded(trial: Trial, jump: str) -> None:
    """Recordings of the same go on in another file, whose times grow."""
    for old in trial.folder.glob("jump*.mkv"):
        old.unlink()
    sender = trial.send(
        trial.clip.path, "listen://127.0.0.1:0", *FILE, "--once", "--plan", "jump.plan")
    receiver = trial.receive(f"udp://127.0.0.1:{sender.port()}", "-o", "jump-%H%M%S.mkv")
    trial.ends(receiver, 0)
    count = 0
    for path in trial.folder.glob("jump*.mkv"):
        said = subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries", "packet=pts", "-of", "csv=p=0", path],
            capture_output=True, text=True)
        times = [int(word.rstrip(",")) for word in said.stdout.split()]
        trial.equal(times, sorted(set(times)), f"a jump by {jump}: times of {path.name}")
        count += len(times)
    trial.expect(count >= 75, f"a jump by {jump}: {count} pictures recorded")


@case("F-17", "every second packet comes twice, and some a second later again")
def duplicates(trial: Trial) -> None:
    receiver, sent = _file(trial, "--duplicate", 0.5, "--seed", 3)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    rtp = trial.statistics(receiver)["rtp"]
    trial.equal(rtp["duplicate"], sent["duplicated"], "duplicates, counted")

    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, "-o", "again.jsonl", "--frame-md5")
    server.await_hello()
    old: list[bytes] = []

    def again(index: int) -> None:
        old.extend(Numbering(
            server.numbering.sequence, server.numbering.timestamp).picture(trial.clip.units[index]))
        if index % 10 == 9:
            for datagram in old[:200]:
                server.send(datagram)

    server.pictures(range(100), beside=lambda index: again(index) if index % 10 == 9 else None)
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "again.jsonl", trial.clip, range(100))


@case("F-17 replay", "SRTP packets are recorded and sent again at once, later, and much later")
def replay(trial: Trial) -> None:
    key = "AES_CM_128_HMAC_SHA1_80 MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkw"
    (trial.folder / "key").write_text(key + "\n")
    (trial.folder / "key").chmod(0o600)
    sender = trial.send(
        trial.clip.path, "listen://127.0.0.1:0", *FILE, "--once", "--srtp-key-file", "key",
        "--stats", "sent.json")
    target = ("127.0.0.1", sender.port())
    relay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    relay.bind(("127.0.0.1", 0))
    relay.settimeout(15)
    receiver = trial.receive(
        f"udp://127.0.0.1:{relay.getsockname()[1]}", *LINES, "--srtp-key-file", "key")
    client, again, forwarded = ("", 0), 0, 0
    media: list[bytes] = []
    while receiver.is_running():
        try:
            content, origin = relay.recvfrom(65536)
        except TimeoutError:
            break
        if origin != target:
            client = origin
            relay.sendto(content, target)
            continue
        relay.sendto(content, client)
        forwarded += 1
        relay.settimeout(3)
        # SRTCP has an index of its own, and its BYE ends the receiver.
        if 192 <= content[1] <= 223:
            continue
        media.append(content)
        copies = [content]
        if len(media) > 50:
            copies.append(media[-50])
        if len(media) % 25 == 0:
            copies.append(media[0])
        for copy in copies:
            relay.sendto(copy, client)
        again += len(copies)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    found = trial.statistics(receiver)
    trial.expect(again > 100, f"{again} were sent again")
    # The copies of the last packets may come behind the end.
    refused = found["transport"]["srtp"]["replayed"]
    trial.expect(again - 3 <= refused <= again, f"{refused} of {again} copies were refused")
    trial.equal(found["rtp"]["duplicate"], 0, "copies behind the SRTP")
    trial.notes.append(f"{again} copies of {forwarded} packets were sent")


@case("F-19", "losses one by one and in bursts: no picture is called intact that is not, and it balances")
def losses(trial: Trial) -> None:
    profiles: dict[str, list[object]] = {
        "0.1 %": ["--loss", 0.001], "1 %": ["--loss", 0.01], "5 %": ["--loss", 0.05],
        "20 %": ["--loss", 0.2], "50 %": ["--loss", 0.5], "bursts of 3": ["--burst-loss", "0.1,3"],
        "bursts of 30": ["--burst-loss", "0.3,30"],
    }
    for name, options in profiles.items():
        receiver, sent = _file(trial, *options, "--seed", 11, key="bursts" in name)
        found = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
        values = trial.statistics(receiver)
        came = sum(values["transport"][name] for name in (
            "delivered", "kernel_dropped", "kernel_dropped_rtcp"))
        trial.equal(came, sent["datagrams"], f"{name}: datagrams")
        missed = sent["lost"] - (values["rtp"]["lost"] - values["rtp"]["late"])
        trial.expect(0 <= missed <= 40, f"{name}: {sent['lost']} lost, {values['rtp']['lost']} missed")
        trial.notes.append(
            f"{name}: {sent['lost']} packets lost, "
            f"{sum(s.condition == 'intact' for s in found)} of 100 pictures intact")
    receiver, sent = _proxied(trial, "--loss", 0.02, "--seed", 11)
    found = trial.pictures(trial.folder / "seen.jsonl", trial.clip, first=_first(trial))
    trial.expect(len(found) > 90, f"RTSP: {len(found)} pictures")
    lost = trial.statistics(receiver)["rtp"]["lost"]
    trial.expect(0 <= sent["lost"] - lost <= 3, f"RTSP: {sent['lost']} lost, {lost} missed")


@case("F-20", "half of the packets are overtaken, by up to 512 others, within the reorder window")
def reordering(trial: Trial) -> None:
    for depth in (1, 8, 64, 512):
        (trial.folder / "reorder.plan").write_text(f"0 reorder 50% {depth} within 120ms\n")
        receiver, sent = _file(trial, "--plan", "reorder.plan", "--seed", 5)
        values = trial.statistics(receiver)
        trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
        trial.equal(values["rtp"]["lost"], 0, f"depth {depth}: lost")
        trial.expect(values["rtp"]["reordered"] > 20, f"depth {depth}: {values['rtp']['reordered']}")
    receiver, _ = _file(trial, "--plan", "reorder.plan", "--seed", 5, key=True)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    receiver, _ = _proxied(trial, "--plan", "reorder.plan", "--seed", 5)
    trial.all_intact(
        trial.folder / "seen.jsonl", trial.clip, range(100), first=_first(trial))


@case("F-21", "goodbyes: malformed, of others, too early by a packet, and right")
def goodbyes(trial: Trial) -> None:
    wrong = [
        struct.pack(">BBH", 0x80, 203, 0),
        struct.pack(">BBHI", 0x9F, 203, 1, 0x1234),
        struct.pack(">BBHI", 0x81, 203, 9, 0x1234),
        struct.pack(">BBHIB", 0x81, 203, 2, 0x1234, 255) + b"abc",
        goodbye(0x9999), goodbye(0), sender_report(Numbering()) + b"\x81\xcb",
    ]
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()
    server.pictures(
        range(100), beside=lambda index: server.send(wrong[index % len(wrong)]) if index > 5 else None)
    # Media that comes behind a goodbye belongs to it.
    last = server.numbering.picture(trial.clip.units[0])
    server.send(goodbye())
    for datagram in last:
        server.send(datagram)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    trial.equal(trial.statistics(receiver)["end"], "goodbye", "why it ended")


@case("F-22", "bits are wrong inside of packets: it goes on")
def wrong_bits(trial: Trial) -> None:
    (trial.folder / "corrupt.plan").write_text("0-3 corrupt 20%\n")
    receiver, _ = _file(trial, "--plan", "corrupt.plan", "--seed", 6)
    lines = written(trial.folder / "seen.jsonl")
    trial.expect(len(lines) > 50, f"{len(lines)} pictures")
    after = [
        s for s in seen(trial.folder / "seen.jsonl") if 75 <= s.index < 100 and s.condition == "intact"]
    trial.equal(
        [s.hash for s in after], [trial.clip.hashes[s.index] for s in after], "the last second is exact")
    trial.expect(len(after) >= 20, f"{len(after)} of the last 25 pictures are intact")


@case("F-31", "the kernel drops what a stopped receiver does not read: no loss of the network")
def kernel_drops(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES, "--receive-buffer", 20_000)
    server.await_hello()
    server.pictures(range(25))
    until(lambda: _lines(trial) >= 20, "pictures")
    receiver.send(signal.SIGSTOP)
    server.pictures(range(25, 75))
    receiver.send(signal.SIGCONT)
    server.pictures(range(75, 200))
    server.send(goodbye())
    trial.ends(receiver, 0, "machine|receive buffer|kernel")
    values = trial.statistics(receiver)
    dropped = values["transport"]["kernel_dropped"]
    trial.expect(dropped > 20, f"{dropped} dropped by the kernel")
    trial.expect(
        abs(values["rtp"]["lost"] - dropped) <= 2, f"{values['rtp']['lost']} lost, {dropped} dropped")
    trial.all_intact(
        trial.folder / "seen.jsonl", trial.clip, [*range(20), *range(100, 200)])
    trial.notes.append(f"{dropped} datagrams dropped by the kernel, {values['rtp']['lost']} lost in all")


@case("F-32", "datagrams of no bytes, of 64 KiB, and in fragments of IP")
def sizes(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()

    def beside(index: int) -> None:
        server.send(b"")
        server.send(packet(index, 0, bytes(65_495), payload_type=50, ssrc=5))

    server.pictures(range(100), beside=beside)
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    trial.equal(trial.statistics(receiver)["transport"]["empty"], 100, "empty ones are counted")

    network = trial.enter(Network())
    sender = trial.send(
        trial.clip.path, f"listen://{network.SERVER}:5004", *FILE, "--once", "--packet-size", 20_000,
        prefix=network.at_server)
    sender.port()
    receiver = trial.receive(
        f"udp://{network.SERVER}:5004", "-o", "fragments.jsonl", "--frame-md5",
        prefix=network.at_receiver)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "fragments.jsonl", trial.clip, range(100))


@case("F-33", "packets of an unknown payload type, with numbers and SSRC of their own or the media's")
def unknown_type(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES)
    server.await_hello()

    def beside(index: int) -> None:
        server.send(packet(index, 0, b"metadata", payload_type=107, ssrc=0x4321))
        server.send(packet(
            server.numbering.sequence - 1, server.numbering.timestamp, b"vendor", payload_type=50))

    server.pictures(range(100), beside=lambda index: beside(index) if index > 2 else None)
    server.send(goodbye())
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    rtp = trial.statistics(receiver)["rtp"]
    trial.equal(rtp["lost"], 0, "lost")
    trial.expect(rtp["ignored_payload_type"] >= 150, f"counted: {rtp['ignored_payload_type']}")
