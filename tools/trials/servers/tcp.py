"""A server of connections, each served by a function on a thread of its own."""

from __future__ import annotations

import socket
import ssl
import threading
from typing import Callable, Optional, Self


class TCPServer:
    """Accepts connections until it is closed; what serving them raises is kept."""

    def __init__(
        self, serve: Callable[[socket.socket, int], None], *, address: str = "127.0.0.1",
        port: int = 0, tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        """:param serve: gets each connection, and how many came before it."""
        self.connections = 0
        self.faults: list[str] = []
        self._serve, self._tls = serve, tls
        self._open: set[socket.socket] = set()
        self._is_closed = False
        self._socket = socket.create_server((address, port), backlog=512)
        self.address, self.port = self._socket.getsockname()[:2]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._is_closed = True
        # Only a shutdown wakes the thread that accepts.
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            number, self.connections = self.connections, self.connections + 1
            threading.Thread(target=self._run, args=[connection, number], daemon=True).start()

    def _run(self, connection: socket.socket, number: int) -> None:
        self._open.add(connection)
        connection.settimeout(120)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._serve(connection, number)
        except (OSError, ConnectionError, ValueError) as error:
            self.faults.append(f"{type(error).__name__}: {error}")
        finally:
            self._open.discard(connection)
            try:
                connection.close()
            except OSError:
                pass


def reset(connection: socket.socket) -> None:
    """Closes a connection by RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def drip(connection: socket.socket, data: bytes, pause: float, stop: threading.Event) -> None:
    """Sends a byte at a time; ends with the data, with the peer, or when told to."""
    for byte in data:
        connection.sendall(bytes([byte]))
        if stop.wait(pause):
            return
