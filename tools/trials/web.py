"""A viewer of the page that --serve shows: its WebSocket, and what Prometheus asks for."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import threading
import time
import urllib.request


class Viewer:
    """A page that is open: watches cameras, and counts what comes."""

    def __init__(self, port: int, cameras: list[str]) -> None:
        self.pictures = 0
        self.bytes = 0
        self.longest_pause = 0.0
        self.connections = 0
        self.fault = ""
        self._port, self._cameras = port, cameras
        self._stopped = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped = True
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._watch()
            except (OSError, ConnectionError, struct.error) as error:
                self.fault = str(error)
            if not self._stopped:
                time.sleep(1)

    def _watch(self) -> None:
        with socket.create_connection(("127.0.0.1", self._port), 10) as connection:
            key = base64.b64encode(os.urandom(16)).decode()
            connection.sendall(
                f"GET /live HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
                .encode())
            stream = connection.makefile("rb")
            status = stream.readline()
            if b" 101 " not in status:
                raise ConnectionError(f"no WebSocket: {status!r}")
            while stream.readline().strip():
                pass
            self.connections += 1
            for camera in self._cameras:
                self._say(connection, 1, f"watch {camera}".encode())
            last = time.monotonic()
            connection.settimeout(5)
            while not self._stopped:
                head = stream.read(2)
                if len(head) < 2:
                    raise ConnectionError("the page's server closed the connection")
                length = head[1] & 127
                if length == 126:
                    length, = struct.unpack(">H", stream.read(2))
                elif length == 127:
                    length, = struct.unpack(">Q", stream.read(8))
                content = stream.read(length)
                kind = head[0] & 15
                if kind == 9:
                    self._say(connection, 10, content)
                elif kind == 8:
                    raise ConnectionError(f"closed: {content!r}")
                self.bytes += length
                if kind == 2 and content[:1] == b"\x01":
                    self.pictures += 1
                    now = time.monotonic()
                    self.longest_pause = max(self.longest_pause, now - last)
                    last = now

    @staticmethod
    def _say(connection: socket.socket, kind: int, content: bytes) -> None:
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(content))
        connection.sendall(bytes([0x80 | kind, 0x80 | len(content)]) + mask + masked)


def metrics(port: int) -> dict[str, float]:
    """The figures of /metrics, each under its name with labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    found = {}
    for line in lines:
        if line and line[0] != "#":
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


def last_object(path) -> dict:
    """The last whole line of a file of JSON lines; empty if there is none."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - (1 << 17)))
            lines = file.read().split(b"\n")
    except OSError:
        return {}
    for line in reversed(lines[:-1]):
        try:
            return json.loads(line)
        except ValueError:
            continue
    return {}
