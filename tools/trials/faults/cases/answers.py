"""HTTP servers whose answers are no stream, or not yet (F-36)."""

from __future__ import annotations

import re
import time

from ...servers import http
from ...servers.http import HTTPServer
from ..trial import Trial, case
from .connections import LINES


@case("F-36", "HTTP answers that are no stream: a page, nothing, errors, too early an end")
def http_answers(trial: Trial) -> None:
    page = b"<html><body>log in</body></html>" * 10
    stream = http.body(trial.clip)
    answers: dict[str, tuple[bytes, int, str]] = {
        "a page": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
                   % (len(page), page), 12, "answered with a web page"),
        "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", 4, "204: it has nothing to send now"),
        "not found": (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 12, "404 .not found.; check the path"),
        "gone": (b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", 12, "410 .gone."),
        "forbidden": (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", 3, "403 .forbidden."),
        "busy": (b"HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n", 2,
                 "503 .unavailable., and asks to wait 3 s"),
        "no answer": (b"", 2, "closed the connection without an answer"),
        "a length": (
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(stream), stream), 0, "100 frames"),
        "until the end": (b"HTTP/1.0 200 OK\r\n\r\n" + stream, 0, "100 frames"),
        "trailers": (
            http.HEAD + http.chunk(stream) + b"0\r\nX-Checksum: 1\r\n\r\n", 0, "100 frames"),
        "too short": (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                      % (2 * len(stream), stream), 1, "the connection broke"),
        "a bad chunk": (
            http.HEAD + http.chunk(stream) + b"xyz\r\n", 1, "the connection broke"),
        "another protocol": (b"SSH-2.0-OpenSSH_9.2\r\n", 2, "does not speak HTTP"),
        "continued": (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + stream, 0, "100 frames"),
    }

    def respond(connection, head: str, number: int) -> None:
        connection.sendall(answer)

    server = trial.enter(HTTPServer(respond))
    wrong = []
    for name, (answer, status, says) in answers.items():
        receiver = trial.receive(server.url, "-o", f"{name}.jsonl", "--frame-md5", "--timeout", "4")
        found = receiver.wait(20)
        if found != status or not re.search(says, receiver.text):
            wrong.append(f"{name}: {found} and not {status}, or not /{says}/: {receiver.text[-300:]}")
        elif status == 0:
            trial.all_intact(trial.folder / f"{name}.jsonl", trial.clip, range(100))
    trial.expect(not wrong, "\n".join(wrong))


@case("F-36 busy", "a server is busy twice, and then serves: --reconnect waits for it")
def busy(trial: Trial) -> None:
    asked: list[float] = []

    def respond(connection, head: str, number: int) -> None:
        asked.append(time.monotonic())
        if number < 2:
            connection.sendall(
                b"HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        else:
            connection.sendall(http.HEAD + http.chunk(http.body(trial.clip)))

    server = trial.enter(HTTPServer(respond))
    receiver = trial.receive(server.url, *LINES, "--reconnect", "--frames", 100)
    trial.ends(receiver, 0, "503 .unavailable., and asks to wait 3 s.*; connecting again")
    trial.all_intact(trial.folder / "seen.jsonl", trial.clip, range(100))
    waits = [b - a for a, b in zip(asked, asked[1:])]
    trial.expect(
        len(waits) == 2 and all(2.9 < wait < 6 for wait in waits), f"seconds between requests: {waits}")
    again = trial.enter(HTTPServer(
        lambda c, h, n: c.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")))
    never = trial.receive(again.url, "-o", "b.h264", "--reconnect", "--timeout", "8")
    begin = time.monotonic()
    trial.ends(never, 12, "404 .not found.; check the path")
    trial.expect(time.monotonic() - begin < 5, "404 is not tried again")
