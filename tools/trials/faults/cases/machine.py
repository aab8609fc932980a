"""Names, certificates, disks, pipes, signals, clocks and firewalls (F-07 to F-37)."""

from __future__ import annotations

import shutil
import signal
import socket
import threading
import time

from ...certificates import make
from ...clock import SteppingClock
from ...media import Numbering, clip, goodbye
from ...network import Network
from ...programs import free_port, until
from ...servers.names import NoNames
from ...servers.rtsp import RTSPServer, Session
from ...servers.tcp import TCPServer
from ...servers.udp import HelloServer
from ..trial import Trial, case
from .connections import LINES, TCP

SMALL = ["--size", "320x180", "--bitrate", "300k", "--gop", "15"]


def _plays(session: Session) -> None:
    session.play()
    session.attend_aside()
    session.pictures(range(100))
    session.connection.close()


# Names

def _with_names(trial: Trial, hosts: str, resolver: str) -> list[str]:
    """What starts a command that sees these files instead of /etc/hosts and /etc/resolv.conf."""
    (trial.folder / "hosts").write_text(hosts)
    (trial.folder / "resolv.conf").write_text(resolver)
    mounts = " && ".join(
        f"mount --bind {trial.folder / name} /etc/{name}" for name in ("hosts", "resolv.conf"))
    return ["unshare", "--mount", "sh", "-c", mounts + ' && exec "$@"', "sh"]


@case("F-07 unknown", "nobody knows the name of the server, and the name server is silent")
def unknown_name(trial: Trial) -> None:
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.54", 53))
    nobody = _with_names(trial, "127.0.0.1 localhost\n", "nameserver 127.0.0.54\n")
    for scheme in ("rtsp", "udp", "http"):
        receiver = trial.receive(
            f"{scheme}://camera.invalid:5004/x".removesuffix("/x" if scheme == "udp" else "~"),
            "-o", "a.h264", prefix=nobody)
        trial.ends(receiver, 2, "camera.invalid", within=15)


@case("F-07 none", "the name server says that there is no such name")
def no_such_name(trial: Trial) -> None:
    server = trial.enter(NoNames("127.0.0.55"))
    nobody = _with_names(trial, "127.0.0.1 localhost\n", "nameserver 127.0.0.55\n")
    for url in (
        "rtsp://camera.invalid:5004/x", "udp://camera.invalid:5004", "http://camera.invalid:5004/x",
    ):
        asked, begin = server.questions, time.monotonic()
        receiver = trial.receive(url, "-o", "a.h264", prefix=nobody)
        trial.ends(receiver, 2, "cannot find the address of 'camera.invalid'", within=15)
        trial.expect(time.monotonic() - begin < 5, f"{url}: an answer is not waited for")
        trial.expect(server.questions > asked, f"{url}: the name server was asked")


@case("F-07 families", "a name has three addresses, of which the last one answers")
def addresses(trial: Trial) -> None:
    server = trial.enter(RTSPServer(trial.clip, _plays))
    names = _with_names(
        trial, "::1 camera\n127.0.0.3 camera\n127.0.0.1 camera\n", "nameserver 127.0.0.1\n")
    receiver = trial.receive(
        f"rtsp://camera:{server.port}/clip", *TCP, *LINES, "--frames", 50, prefix=names)
    trial.ends(receiver, 0)


@case("F-07 changes", "the name stands for another address after the server has gone")
def name_changes(trial: Trial) -> None:
    def once(session: Session) -> None:
        session.play()
        session.pictures(range(25))
        (trial.folder / "hosts").write_text("127.0.0.2 camera\n")
        first.close()

    first = trial.enter(RTSPServer(trial.clip, once))
    trial.enter(RTSPServer(trial.clip, _plays, address="127.0.0.2", port=first.port))
    names = _with_names(trial, "127.0.0.1 camera\n", "nameserver 127.0.0.1\n")
    receiver = trial.receive(
        f"rtsp://camera:{first.port}/clip", *TCP, *LINES, "--reconnect", "--frames", 75, prefix=names)
    trial.ends(receiver, 0, within=45)


# TLS

@case("F-10", "certificates: expired, of another host, self-signed, of an unknown authority")
def certificates(trial: Trial) -> None:
    authority = make(trial.folder, "authority", host="")
    ca = ["--tls-ca", authority.certificate]
    expired = make(trial.folder, "expired", authority=authority, days=-1)
    elsewhere = make(trial.folder, "elsewhere", authority=authority, host="DNS:camera.example")
    alone = make(trial.folder, "alone")
    good = make(trial.folder, "good", authority=authority)
    for certificate, options, status, says in (
        (expired, ca, 10, "expired"),
        (elsewhere, ca, 10, "name|host|127.0.0.1"),
        (alone, [], 10, "self-signed|self signed"),
        (good, [], 10, "authority|issuer|verif"),
        (good, ca, 0, ""),
        (alone, ["--tls-pin", alone.pin()], 0, ""),
        (good, ["--tls-pin", alone.pin()], 10, "pin"),
        (expired, ["--tls-insecure"], 0, ""),
    ):
        with RTSPServer(trial.clip, _plays, tls=certificate.context()) as server:
            receiver = trial.receive(
                server.url, *TCP, "-o", "a.jsonl", *options, "--frames", 10)
            trial.ends(receiver, status, says, within=15)


@case("F-10 plain", "plain text on the port of TLS, and a handshake that stalls")
def no_handshake(trial: Trial) -> None:
    def stalls(connection, number: int) -> None:
        connection.recv(10_000)
        time.sleep(30)

    def answers_in_clear(connection, number: int) -> None:
        connection.recv(10_000)
        connection.sendall(b"RTSP/1.0 400 Bad Request\r\n\r\n")

    for serve, statuses in ((stalls, (10,)), (answers_in_clear, (10,))):
        with TCPServer(serve) as server:
            begin = time.monotonic()
            receiver = trial.receive(
                f"rtsps://127.0.0.1:{server.port}/x", *TCP, "-o", "a.h264")
            status = receiver.wait(30)
            trial.expect(status in statuses, f"{serve.__name__}: {status} {receiver.text}")
            trial.expect(time.monotonic() - begin < 20, f"{serve.__name__}: there is a deadline")


# Outputs

@case("F-24", "the disk is full: whole frames in that file, status 6, and the other output goes on")
def disk_full(trial: Trial) -> None:
    disk = trial.folder / "disk"
    disk.mkdir()
    full = ["unshare", "--mount", "sh", "-c",
            f"mount -t tmpfs -o size=2m none {disk} && \"$@\"; s=$?; cp {disk}/* {trial.folder}; exit $s",
            "sh"]
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(
        server.url, "-o", disk / "full.y4m", "-o", disk / "full.mp4", *LINES, prefix=full)
    server.await_hello()
    server.pictures(range(100))
    server.send(goodbye())
    trial.ends(receiver, 6, "full|space")
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    rest = (trial.folder / "full.y4m").read_bytes().partition(b"\n")[2]
    trial.equal(len(rest) % (6 + 320 * 180 * 3 // 2), 0, "bytes behind the last whole frame")
    trial.expect(len(rest) > 1_000_000, "the disk was used")


@case("F-24 limits", "a file may not grow (RLIMIT_FSIZE), a device is full, a folder goes away")
def limits(trial: Trial) -> None:
    (trial.folder / "gone").mkdir()
    for name, path, prefix in (
        ("a limit", "limited.y4m", ["prlimit", "--fsize=1000000"]),
        ("a device", "/dev/full", []),
        ("a folder", "gone/a-%H%M%S.mp4", []),
    ):
        with HelloServer(trial.clip) as server:
            options = ["--segment", "1s"] if name == "a folder" else ["--format", "y4m"]
            # The statistics of the limited one are short enough.
            receiver = trial.receive(server.url, "-o", path, *options, prefix=prefix)
            server.await_hello()
            server.pictures(range(40))
            if name == "a folder":
                shutil.rmtree(trial.folder / "gone")
            server.pictures(range(40, 100))
            server.send(goodbye())
            status = receiver.wait()
            trial.expect(status == 6, f"{name}: it ended with {status}: {receiver.text}")
    rest = (trial.folder / "limited.y4m").read_bytes().partition(b"\n")[2]
    trial.equal(len(rest) % (6 + 320 * 180 * 3 // 2), 0, "bytes behind the last whole frame")


@case("F-25", "the reader of a pipe goes away; beside it a file goes on")
def reader_goes(trial: Trial) -> None:
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, "-o", "-", output="pipe")
    server.await_hello()
    pump = threading.Thread(target=lambda: server.pictures(range(100)), daemon=True)
    pump.start()
    receiver.output.read(200_000)
    receiver.output.close()
    trial.ends(receiver, 7, "reader", within=20)
    pump.join()
    second = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(second.url, "-o", "-", *LINES, output="pipe")
    second.await_hello()
    pump = threading.Thread(target=lambda: second.pictures(range(100)), daemon=True)
    pump.start()
    receiver.output.read(200_000)
    receiver.output.close()
    pump.join()
    second.send(goodbye())
    trial.ends(receiver, 7, "reader")
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))


@case("F-26", "the reader of a pipe sleeps for six seconds: whole frames are dropped, and no packet")
def slow_reader(trial: Trial) -> None:
    server = trial.enter(HelloServer(clip(trial.folder, 12)))
    receiver = trial.receive(
        server.url, "-o", "-", "--format", "yuv", "--pixel-format", "bgr24", "--size", "640x360", *LINES,
        "--heartbeat-interval", "1", output="pipe")
    server.await_hello()
    pump = threading.Thread(target=lambda: server.pictures(range(300)), daemon=True)
    pump.start()
    frame = 640 * 360 * 3
    receiver.output.read(frame)
    time.sleep(6)  # The reader is slow on purpose.

    def end() -> None:
        pump.join()
        server.send(goodbye())

    threading.Thread(target=end, daemon=True).start()
    got = frame
    while piece := receiver.output.read1(1 << 20):
        got += len(piece)
    trial.memory_limit = 150  # 32 MiB of frames wait for the reader.
    trial.ends(receiver, 0, r"standard output is too slow: \d+ frames? dropped")
    trial.equal(got % frame, 0, "bytes behind the last whole frame")
    trial.all_intact(trial.folder / "seen.jsonl", server.clip, range(300))
    values = trial.statistics(receiver)
    trial.equal(values["rtp"]["lost"], 0, "lost")
    output = next(o for o in values["outputs"] if o["name"] == "-")
    trial.expect(output["dropped"] > 0, f"frames were dropped: {output}")
    beats = [at for at, content in server.came[1:]]
    trial.expect(
        all(b - a < 3 for a, b in zip(beats, beats[1:])) and len(beats) > 8, "heartbeats go on")


# Signals and clocks

@case("F-27", "SIGTERM and SIGINT: the server is told, files are whole, status 0 within three seconds")
def signals(trial: Trial) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        server = trial.enter(RTSPServer(trial.clip, _plays))
        path = trial.folder / "a.y4m"
        path.unlink(missing_ok=True)
        receiver = trial.receive(server.url, *TCP, "-o", "a.y4m")
        until(lambda: path.exists() and path.stat().st_size > 500_000, "frames")
        begin = time.monotonic()
        trial.equal(receiver.stop(number), 0, "status")
        trial.expect(time.monotonic() - begin < 3, "within three seconds")
        trial.expect(
            any(request.method == "TEARDOWN" for request in server.requests), "TEARDOWN is sent")
        rest = path.read_bytes().partition(b"\n")[2]
        trial.equal(len(rest) % (6 + 320 * 180 * 3 // 2), 0, "bytes behind the last whole frame")
    # Two signals, and a pipe that takes nothing: what waits is lost, and it says so.
    server = trial.enter(RTSPServer(trial.clip, _plays))
    receiver = trial.receive(server.url, *TCP, "-o", "-", output="pipe")
    until(lambda: any(r.method == "PLAY" for r in server.requests), "PLAY")
    receiver.output.read(100_000)
    time.sleep(1)  # So that the pipe is full.
    receiver.send(signal.SIGINT)
    time.sleep(1)  # Sooner it would be the same one, sent to the process and to its group.
    receiver.send(signal.SIGINT)
    trial.ends(receiver, 14, "second signal", within=2)


@case("F-28", "the machine's clock is set forward and back by an hour, every second for a minute")
def clock_steps(trial: Trial) -> None:
    clock = SteppingClock(trial.folder)
    server = trial.enter(HelloServer(trial.clip))
    receiver = trial.receive(server.url, *LINES, environment=clock.environment)
    server.await_hello()
    server.pictures(
        range(60 * 25),
        beside=lambda i: clock.shift(3600 * (1, -1)[i // 25 % 2]) if i % 25 == 0 and i else None)
    server.send(goodbye())
    trial.ends(receiver, 0)
    found = trial.pictures(trial.folder / "seen.jsonl", trial.clip)
    trial.equal([s.index for s in found], list(range(1500)), "pictures")
    trial.equal({s.condition for s in found}, {"intact"}, "conditions")
    trial.equal([s.time for s in found], [s.index * 40_000_000 for s in found], "times")


@case("F-30", "a firewall drops UDP: RTSP goes over to the connection by itself")
def firewall(trial: Trial) -> None:
    network = trial.enter(Network())
    network.on_receiver("iptables", "-A", "INPUT", "-p", "udp", "-j", "DROP")
    server = trial.send(
        "pattern", f"rtsp://{network.SERVER}:8554/live", *SMALL, prefix=network.at_server)
    server.port()
    begin = time.monotonic()
    receiver = trial.receive(
        f"rtsp://{network.SERVER}:8554/live", "-o", "seen.jsonl", "--frames", 60, "--verbose",
        prefix=network.at_receiver)
    trial.ends(
        receiver, 0, r"nothing came over UDP \(a firewall may block it\); the stream comes over TCP",
        within=30)
    trial.equal(trial.statistics(receiver)["transport"]["delivery"], "tcp", "how it came")
    trial.notes.append(f"60 pictures {time.monotonic() - begin:.1f} s after the start")


@case("F-30 remembered", "nothing comes over UDP, and the next connection does not try it again")
def remembered(trial: Trial) -> None:
    port = free_port()
    silent = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for place, taken in enumerate(silent):
        taken.bind(("127.0.0.1", port + place))

    def behave(session: Session) -> None:
        setup = session.until("SETUP")
        offered = setup.headers["transport"]
        if "client_port" in offered:
            session.answer(setup, headers={
                "Transport": f"{offered};server_port={port}-{port + 1}", "Session": session.session})
            session.play()
            session.attend()
            return
        session.answer_usually(setup)
        session.numbering = Numbering(
            sequence=1000 * session.number, timestamp=360_000 * session.number,
            ssrc=0x1234 + session.number)
        session.play()
        session.pictures(range(50))
        session.close()

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *LINES, "--reconnect", "--frames", 75, "--verbose")
    trial.ends(receiver, 0, "nothing came over UDP")
    offers = [r.headers["transport"] for r in server.requests if r.method == "SETUP"]
    trial.equal(["client_port" in offer for offer in offers], [True, False, False], "tried over UDP")
    for taken in silent:
        taken.close()


@case("F-37", "the receiver is stopped for a minute, as by a machine that sleeps: RTSP over TCP and UDP")
def sleeps(trial: Trial) -> None:
    server = trial.send("pattern", "rtsp://127.0.0.1:0/live", *SMALL)
    url = f"rtsp://127.0.0.1:{server.port()}/live"
    receivers = [
        trial.receive(url, "--rtsp-transport", way, "-o", f"{way}.jsonl", "--reconnect")
        for way in ("tcp", "udp")]

    def count(way: str) -> int:
        path = trial.folder / f"{way}.jsonl"
        return path.read_text().count("\n") if path.exists() else 0

    for way in ("tcp", "udp"):
        until(lambda: count(way) > 30, f"pictures over {way}")
    for receiver in receivers:
        receiver.send(signal.SIGSTOP)
    time.sleep(60)  # The sleep itself.
    before = {way: count(way) for way in ("tcp", "udp")}
    begin = time.monotonic()
    for receiver in receivers:
        receiver.send(signal.SIGCONT)
    for way in ("tcp", "udp"):
        until(lambda: count(way) > before[way], f"pictures over {way} again", 45)
    trial.notes.append(f"{time.monotonic() - begin:.1f} s until there are pictures over both")
    time.sleep(2)  # What waited in the kernel has come by then.
    before = {way: count(way) for way in ("tcp", "udp")}
    for way in ("tcp", "udp"):
        until(lambda: count(way) > before[way] + 60, f"pictures over {way} go on", 45)
    for receiver in receivers:
        trial.equal(receiver.stop(), 0, "status")
