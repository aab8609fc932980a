"""Servers that refuse, redirect, ask for passwords, or answer oddly (F-08, F-09, F-29, F-34 to F-36)."""

from __future__ import annotations

import re
import subprocess
import threading
import time

from ...media import goodbye
from ...programs import RTP_SEND
from ...servers import http
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
    trial.ends(receiver, 3, "password|user name|credentials", within=10)
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
    trial.ends(receiver, 3, within=10)
    trial.expect(len(server.requests) <= 6, f"{len(server.requests)} requests")


@case("F-08 http", "an HTTP server refuses every password, and there is none for a proxy")
def refuses_over_http(trial: Trial) -> None:
    def respond(connection, head: str, number: int) -> None:
        connection.sendall(
            b'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm="r", nonce="%d", '
            b'algorithm=SHA-256, qop="auth"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' % number)

    server = trial.enter(HTTPServer(respond))
    receiver = trial.receive(
        server.url.replace("//", "//user@"), "-o", "a.h264",
        environment={"RTP_RECV_PASSWORD": "secret"})
    trial.ends(receiver, 3, within=10)
    trial.expect(len(server.heads) <= 4, f"{len(server.heads)} requests")
    without = trial.receive(server.url, "-o", "a.h264")
    trial.ends(without, 3, within=10)


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
    receiver.line("30 s|again in")
    time.sleep(10)  # No event: nothing may happen.
    attempts = sum("authorization" in request.headers for request in server.requests)
    trial.expect(attempts <= 2, f"{attempts} attempts within ten seconds")
    receiver.stop()


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
    trial.ends(trial.receive(server.url, *TCP, "-o", "a.h264"), 11, "redirect", within=10)
    trial.expect(time.monotonic() - begin < 5, "within five seconds")
    trial.expect(server.connections <= 5, f"{server.connections} connections")


@case("F-09 elsewhere", "redirects to a file, to another protocol, and to the cloud's own service")
def redirects_elsewhere(trial: Trial) -> None:
    targets = [
        "file:///etc/passwd", "gopher://127.0.0.1/", "http://169.254.169.254/latest",
        "rtsp://169.254.169.254/", "rtsp://127.0.0.1:99999/", "rtsp:///"]

    def behave(session: Session) -> None:
        while True:
            request = session.request()
            if request.method == "OPTIONS":
                session.answer_usually(request)
            else:
                session.answer(request, "302 Moved", {"Location": targets[index]})

    server = trial.enter(RTSPServer(trial.clip, behave))
    for index in range(len(targets)):
        receiver = trial.receive(server.url, *TCP, "-o", "a.h264")
        status = receiver.wait(10)
        trial.expect(status in (2, 11), f"{targets[index]}: {status} {receiver.text}")


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
    status = receiver.wait(10)
    trial.expect(status in (3, 11), f"it ended with {status}: {receiver.text}")
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
        trial.ends(receiver, 11, within=10)


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
    receiver = trial.receive(server.url, *TCP, *LINES, "--frames", 275)
    receiver.wait()
    times = [at for at, method in kept if method != "TEARDOWN"]
    trial.equal(len(trial.pictures(trial.folder / "seen.jsonl", trial.clip)), 275, "pictures")
    trial.expect(len(times) >= 4, f"it was kept alive {len(times)} times in 11 s: {kept}")
    trial.expect(all(b - a < 3.9 for a, b in zip(times, times[1:])), "in time")


def _quirks() -> list[str]:
    said = subprocess.run(
        [RTP_SEND, "pattern", "rtsp://127.0.0.1:0/live", "--quirk", "list"],
        capture_output=True, text=True)
    return re.findall(r"^([a-z0-9-]+)  ", said.stdout, re.MULTILINE)


@case("F-34", "the session has another name after each SETUP, and numbers begin anew or are missing")
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
    receiver = trial.receive(server.url, *TCP, *LINES)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))


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
        receiver = trial.receive(
            f"rtsp://127.0.0.1:{port}/live", "-o", f"{name}.jsonl", "--frames", 20, stats=False)
        status = receiver.wait(45)
        if status:
            unlike.append(f"{name}: ended with {status}: {receiver.text[-300:]}")
        server.kill()
    trial.notes.append(f"{len(names)} quirks")
    trial.expect(not unlike, "\n".join(unlike))


@case("F-36", "HTTP answers that are no stream: a page, nothing, errors, too early an end")
def http_answers(trial: Trial) -> None:
    page = b"<html><body>log in</body></html>" * 10
    stream = http.body(trial.clip)
    answers = {
        "a page": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
                   % (len(page), page), (12,)),
        "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", (1, 4)),
        "not found": (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", (12,)),
        "gone": (b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", (2, 12)),
        "forbidden": (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", (2, 3)),
        "busy": (b"HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n", (2,)),
        "no answer": (b"", (1, 2)),
        "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(stream), stream), (0,)),
        "until the end": (b"HTTP/1.0 200 OK\r\n\r\n" + stream, (0,)),
        "trailers": (http.HEAD + http.chunk(stream) + b"0\r\nX-Checksum: 1\r\n\r\n", (0,)),
        "too short": (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                      % (2 * len(stream), stream), (1,)),
        "a bad chunk": (http.HEAD + http.chunk(stream) + b"xyz\r\n", (1,)),
        "another protocol": (b"SSH-2.0-OpenSSH_9.2\r\n", (1, 2)),
        "continued": (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + stream, (0,)),
    }

    def respond(connection, head: str, number: int) -> None:
        connection.sendall(answer)

    server = trial.enter(HTTPServer(respond))
    wrong = []
    for name, (answer, statuses) in answers.items():
        receiver = trial.receive(server.url, "-o", f"{name}.h264", "--timeout", "4")
        status = receiver.wait(20)
        said = receiver.lines[-1][:100] if receiver.lines else "nothing"
        if status not in statuses:
            wrong.append(f"{name}: {status} and not {statuses}: {said}")
        if 0 in statuses:
            trial.equal(
                (trial.folder / f"{name}.h264").stat().st_size > 10_000, True, f"{name}: a file")
    trial.expect(not wrong, "\n".join(wrong))


@case("F-36 busy", "a server is busy twice, and then serves: --reconnect waits for it")
def busy(trial: Trial) -> None:
    def respond(connection, head: str, number: int) -> None:
        if number < 2:
            connection.sendall(
                b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        else:
            connection.sendall(http.HEAD + http.chunk(http.body(trial.clip)))

    server = trial.enter(HTTPServer(respond))
    receiver = trial.receive(server.url, *LINES, "--reconnect", "--frames", 100)
    trial.ends(receiver, 0)
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    again = trial.enter(HTTPServer(
        lambda c, h, n: c.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")))
    never = trial.receive(again.url, "-o", "b.h264", "--reconnect", "--timeout", "8")
    status = never.wait(30)
    trial.expect(status in (2, 4, 12), f"404: {status} {never.text}")
