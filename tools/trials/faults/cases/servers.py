"""Servers that refuse, redirect, ask for passwords, or answer oddly (F-08, F-09, F-29, F-34, F-35)."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from typing import Callable

from ...certificates import make
from ...media import goodbye
from ...network import Network
from ...programs import RTP_SEND
from ...servers.http import HTTPServer
from ...servers.rtsp import RTSPServer, Session
from ..trial import Trial, case
from .connections import LINES, TCP


@case("F-08 rtsp", "a server refuses every password, each time with a new nonce")
def refuses_passwords(trial: Trial) -> None:
    def behave(session: Session) -> None:
        while True:
            request = session.request()
            session.answer(request, "401 Unauthorized", {
                "WWW-Authenticate": f'Digest realm="r", nonce="{time.monotonic_ns()}"'})

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(
        server.url.replace("//", "//user@"), *TCP, "-o", "a.h264",
        environment={"RTP_RECV_PASSWORD": "canary-of-a-secret"})
    trial.ends(receiver, 3, "refuses the user name or the password for 'r'", within=10)
    attempts = sum("authorization" in request.headers for request in server.requests)
    trial.expect(1 <= attempts <= 2, f"{attempts} attempts with the password")
    trial.expect("canary" not in receiver.text, "the password is not said")


@case("F-08 stale", "every nonce is stale")
def stale(trial: Trial) -> None:
    def behave(session: Session) -> None:
        while True:
            session.answer(session.request(), "401 Unauthorized", {
                "WWW-Authenticate":
                    f'Digest realm="r", nonce="{time.monotonic_ns()}", stale=true'})

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(
        server.url.replace("//", "//user@"), *TCP, "-o", "a.h264",
        environment={"RTP_RECV_PASSWORD": "secret"})
    trial.ends(receiver, 3, "refuses the user name or the password for 'r'", within=10)
    trial.expect(len(server.requests) <= 6, f"{len(server.requests)} requests")


@case("F-08 http", "an HTTP server refuses every password, and wants one where there is none")
def refuses_over_http(trial: Trial) -> None:
    def respond(connection, head: str, number: int) -> None:
        connection.sendall(
            b'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm="r", nonce="%d", '
            b'algorithm=SHA-256, qop="auth"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' % number)

    server = trial.enter(HTTPServer(respond))
    receiver = trial.receive(
        server.url.replace("//", "//user@"), "-o", "a.h264",
        environment={"RTP_RECV_PASSWORD": "secret"})
    trial.ends(receiver, 3, "refuses the user name or the password; check both", within=10)
    trial.expect(len(server.heads) <= 4, f"{len(server.heads)} requests")
    without = trial.receive(server.url, "-o", "a.h264")
    trial.ends(
        without, 3, "wants a user name and a password; give the user name with --user", within=10)


@case("F-08 proxy", "407, from a proxy that wants a password or another one, and from an RTSP server")
def refuses_as_a_proxy(trial: Trial) -> None:
    def respond(connection, head: str, number: int) -> None:
        connection.sendall(
            b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="r"\r\n'
            b"Content-Length: 0\r\nConnection: close\r\n\r\n")

    def behave(session: Session) -> None:
        while True:
            session.answer(session.request(), "407 Proxy Authentication Required", {
                "Proxy-Authenticate": 'Basic realm="r"'})

    for login in ("", "user:canary-of-a-secret@"):
        with HTTPServer(respond) as proxy:
            receiver = trial.receive(
                "http://camera.example/live", "-o", "a.h264", "--http-proxy",
                f"http://{login}127.0.0.1:{proxy.port}")
            trial.ends(
                receiver, 3, "answered with 407: the proxy wants a password; give it in --http-proxy",
                within=10)
        trial.expect(1 <= len(proxy.heads) <= 2, f"{len(proxy.heads)} requests")
        trial.expect("canary" not in receiver.text, "the password is not said")
    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, "-o", "a.h264")
    trial.ends(
        receiver, 3, "answered DESCRIBE with 407 Proxy Authentication Required; this user, or this "
        "network, is not allowed in", within=10)
    trial.expect(len(server.requests) <= 3, f"{len(server.requests)} requests")


@case("F-08 patience", "with --reconnect, refused passwords are not tried again for half a minute")
def no_storm(trial: Trial) -> None:
    def behave(session: Session) -> None:
        while True:
            session.answer(session.request(), "401 Unauthorized", {
                "WWW-Authenticate": 'Digest realm="r", nonce="1"'})

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(
        server.url.replace("//", "//user@"), *TCP, "-o", "a.h264", "--reconnect",
        environment={"RTP_RECV_PASSWORD": "secret"})
    receiver.line("refuses the user name or the password for 'r'.*; connecting again in (29|30) s")
    time.sleep(10)  # No event: nothing may happen.
    attempts = sum("authorization" in request.headers for request in server.requests)
    trial.expect(attempts <= 2, f"{attempts} attempts within ten seconds")
    # Nothing ever came, so that it has not done what was asked.
    trial.equal(receiver.stop(), 3, "status")


@case("F-09 itself", "a server redirects to itself, for ever")
def redirects_to_itself(trial: Trial) -> None:
    def behave(session: Session) -> None:
        while True:
            request = session.request()
            if request.method == "OPTIONS":
                session.answer_usually(request)
            else:
                session.answer(request, "302 Moved", {"Location": server.url})

    server = trial.enter(RTSPServer(trial.clip, behave))
    begin = time.monotonic()
    trial.ends(
        trial.receive(server.url, *TCP, "-o", "a.h264"), 11,
        "redirects in a circle, or more than 3 times", within=10)
    trial.expect(time.monotonic() - begin < 5, "within five seconds")
    trial.expect(server.connections <= 5, f"{server.connections} connections")


@case("F-09 circle", "two servers redirect to each other; and one in TLS to one without")
def redirects_in_a_circle(trial: Trial) -> None:
    def to(target: Callable[[], str]) -> Callable[[Session], None]:
        def behave(session: Session) -> None:
            while True:
                session.answer(session.request(), "302 Moved", {"Location": target()})

        return behave

    one = trial.enter(RTSPServer(trial.clip, to(lambda: other.url)))
    other = trial.enter(RTSPServer(trial.clip, to(lambda: one.url)))
    trial.ends(
        trial.receive(one.url, *TCP, "-o", "a.h264"), 11,
        "redirects in a circle, or more than 3 times", within=10)
    trial.equal((one.connections, other.connections), (1, 1), "connections")
    before = one.connections
    secure = trial.enter(RTSPServer(
        trial.clip, to(lambda: one.url), tls=make(trial.folder, "secure").context()))
    trial.ends(
        trial.receive(secure.url, *TCP, "-o", "a.h264", "--tls-insecure"), 11,
        f"redirects to '{one.url}', which is not followed", within=10)
    trial.equal(one.connections, before, "connections without TLS")


@case("F-09 elsewhere", "a distant server redirects to a file, another protocol, the cloud's own service, "
      "and the receiver's own machine")
def redirects_elsewhere(trial: Trial) -> None:
    targets = [
        "file:///etc/passwd", "gopher://10.99.0.3/", "http://169.254.169.254/latest",
        "rtsp://169.254.169.254/", "rtsp://127.0.0.1/", "rtsp://[::1]/", "rtsp://localhost/",
        "rtsp://10.99.0.3:99999/", "rtsp:///"]

    def behave(session: Session) -> None:
        while True:
            request = session.request()
            if request.method == "OPTIONS":
                session.answer_usually(request)
            else:
                session.answer(request, "302 Moved", {"Location": targets[index]})

    # On one machine a redirect from the one to itself leads nowhere new.
    network = trial.enter(Network())
    clip = trial.clip
    server = trial.enter(network.opened_at_server(
        lambda: RTSPServer(clip, behave, address=network.SERVER)))
    for index in range(len(targets)):
        receiver = trial.receive(server.url, *TCP, "-o", "a.h264", prefix=network.at_receiver)
        trial.ends(receiver, 11, "which is not followed from here", within=10)


@case("F-09 secret", "a redirect to another host, which wants a password: it does not get this one")
def redirect_with_secret(trial: Trial) -> None:
    def asks(session: Session) -> None:
        while True:
            session.answer(session.request(), "401 Unauthorized", {
                "WWW-Authenticate": 'Basic realm="r"'})

    def behave(session: Session) -> None:
        while True:
            request = session.request()
            session.answer(request, "302 Moved", {"Location": other.url})

    other = trial.enter(RTSPServer(trial.clip, asks, address="127.0.0.2"))
    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(
        server.url.replace("//", "//user@"), *TCP, "-o", "a.h264",
        environment={"RTP_RECV_PASSWORD": "secret"})
    trial.ends(
        receiver, 3, r"redirects to \S*127\.0\.0\.2\S*, which wants a password; a password goes only to the "
        "address it was given for", within=10)
    trial.expect(
        not any("authorization" in request.headers for request in other.requests),
        "no login for another host")


@case("F-09 http", "HTTP redirects: in a circle, to a file, to RTSP, to gopher")
def http_redirects(trial: Trial) -> None:
    def respond(connection, head: str, number: int) -> None:
        connection.sendall(
            f"HTTP/1.1 302 Found\r\nLocation: {target()}\r\nContent-Length: 0\r\n"
            "Connection: close\r\n\r\n".encode())

    server = trial.enter(HTTPServer(respond))
    for location in (server.url, "file:///etc/passwd", "rtsp://127.0.0.1/x", "gopher://127.0.0.1/"):
        def target(location=location) -> str:
            return location

        receiver = trial.receive(server.url, "-o", "a.h264")
        trial.ends(
            receiver, 11, "redirects in a circle, or more than 3 times" if location == server.url
            else f"redirects to '{location}', which is not followed", within=10)


@case("F-29 kept", "a session of four seconds is kept alive, and refusals of that are no end")
def keep_alive(trial: Trial) -> None:
    def behave(session: Session) -> None:
        session.session = "abc;timeout=4"
        session.play()

        def attend() -> None:
            try:
                while True:
                    request = session.request()
                    kept.append((time.monotonic(), request.method))
                    session.answer(request, ("200 OK", "454 Session Not Found", "500 Bad")[len(kept) % 3])
            except OSError:
                pass

        threading.Thread(target=attend, daemon=True).start()
        session.pictures(range(300))
        session.connection.close()

    kept: list[tuple[float, str]] = []
    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES, "--frames", 275, "--verbose")
    trial.ends(
        receiver, 0, "GET_PARAMETER was refused as a keep-alive", "OPTIONS was refused as a keep-alive")
    times = [at for at, method in kept if method != "TEARDOWN"]
    trial.equal(len(trial.pictures(trial.folder / "seen.jsonl", trial.clip)), 275, "pictures")
    trial.expect(len(times) >= 4, f"it was kept alive {len(times)} times in 11 s: {kept}")
    trial.expect(all(b - a < 3.9 for a, b in zip(times, times[1:])), "in time")


def _quirks() -> list[str]:
    said = subprocess.run(
        [RTP_SEND, "pattern", "rtsp://127.0.0.1:0/live", "--quirk", "list"],
        capture_output=True, text=True)
    return re.findall(r"^([a-z0-9-]+)  ", said.stdout, re.MULTILINE)


@case("F-34", "the session has another name with each answer, and numbers begin anew")
def sessions(trial: Trial) -> None:
    def behave(session: Session) -> None:
        while True:
            request = session.request()
            session.session = f"session-{len(session.requests)}"
            if len(session.requests) % 2:
                request.headers["cseq"] = "1"
            session.answer_usually(request)
            if request.method == "PLAY":
                break
        session.attend_aside()
        session.pictures(range(100))
        session.frame(1, goodbye())
        session.attend()

    server = trial.enter(RTSPServer(trial.clip, behave))
    receiver = trial.receive(server.url, *TCP, *LINES, "--verbose")
    trial.ends(
        receiver, 0, "the session's identifier changed", "a response had no CSeq, or a wrong one")
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))


# What is said of quirks that are noticed; most are taken without a word.
QUIRKS_SAID = {
    "options-501": "OPTIONS was refused with 501",
    "options-404": "OPTIONS was refused with 404",
    "no-cseq": "a response had no CSeq, or a wrong one",
    "transport-other-channels": r"the server uses channel \d+ instead of \d+",
    "stray-frames": r"data came on channel \d+, which is unknown",
}
# Those that show only where the media come in the connection.
QUIRKS_IN_TCP = {
    "transport-one-channel", "transport-says-udp", "transport-other-channels", "stray-frames",
    "old-session-packets",
}


@case("F-35", "all that cameras and servers do to descriptions, answers and packets (rtp-send --quirk)")
def quirks(trial: Trial) -> None:
    names = _quirks()
    trial.expect(len(names) > 20, f"quirks: {names}")
    trial.memory_limit = 120
    unlike: list[str] = []
    for name in names:
        server = trial.send(
            "pattern", "rtsp://127.0.0.1:0/live", "--size", "320x180", "--bitrate", "300k",
            "--gop", "10", "--quirk", name)
        try:
            port = server.port()
        except Exception:
            unlike.append(f"{name}: {server.text[-200:]}")
            continue
        way = TCP if name in QUIRKS_IN_TCP else []
        receiver = trial.receive(
            f"rtsp://127.0.0.1:{port}/live", *way, "-o", f"{name}.jsonl", "--frames", 20, "--verbose",
            stats=False)
        status = receiver.wait(45)
        if status or not re.search(QUIRKS_SAID.get(name, ""), receiver.text):
            unlike.append(f"{name}: ended with {status}: {receiver.text[-300:]}")
        server.kill()
    trial.notes.append(f"{len(names)} quirks")
    trial.expect(set(names) > QUIRKS_IN_TCP | set(QUIRKS_SAID), f"quirks: {names}")
    trial.expect(not unlike, "\n".join(unlike))
