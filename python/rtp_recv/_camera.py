"""A camera with an rtp-recv of its own."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from typing import IO, List, Optional, Sequence, Tuple

from ._ring import Ring

# How long rtp-recv may take to end.
_ENDING_TIME = 4.0
# How long to wait before one that was killed is started again.
_RESTART_PAUSE = 1.0

# Bytes of what rtp-recv says that are of interest, and after which the rest is forgotten.
_LONGEST_MESSAGE = 4096
_MOST_MESSAGES = 1 << 20

# Ends rtp-recv, and removes the folder once it has ended, within five seconds.
_WATCH = """
read -r _; kill "$0"
for _ in $(seq 50); do kill -0 "$0" 2>/dev/null || break; sleep 0.1; done
rm -f "$1/frames"; rmdir "$1"
"""


class CameraError(RuntimeError):
    """rtp-recv has ended, and what it said about it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message or f"rtp-recv ended with status {status}")
        self.status = status


class Camera(Ring):
    """The frames of a source, by an rtp-recv that runs as long as this object is open."""

    def __init__(
        self, source: str, *, pixel_format: str = "bgr24",
        size: Optional[Tuple[int, int]] = None, reconnect: bool = True, timeout: float = 10.0,
        program: str = "rtp-recv", options: Sequence[str] = (),
    ) -> None:
        self._folder = tempfile.mkdtemp(prefix="rtp-recv-")
        path = os.path.join(self._folder, "frames")
        self._command: List[str] = [program, source, "-o", f"shm:{path}"]
        self._command += ["--pixel-format", pixel_format]
        if size is not None:
            self._command += ["--size", f"{size[0]}x{size[1]}"]
        # What connects again says why it has to; what does not ends with the reason.
        self._command += ["--reconnect"] if reconnect else ["--quiet"]
        self._command += options
        self._restarts = reconnect
        self._started_at = 0.0
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._watch: Optional["subprocess.Popen[bytes]"] = None
        self._messages: IO[bytes] = tempfile.TemporaryFile()
        # rtp-recv writes at its end, wherever that is.
        fcntl.fcntl(self._messages, fcntl.F_SETFL, os.O_APPEND)
        try:
            self._start()
            # The writer needs a moment to make its socket.
            super().__init__(path, reconnect=True, timeout=timeout)
        except BaseException:
            self._stop()
            raise

    def close(self) -> None:
        """Ends rtp-recv and gives the memory back; frames that are copies stay."""
        super().close()
        self._stop()

    def _goes_on(self) -> bool:
        return self._restarts

    def __enter__(self) -> "Camera":
        return self

    @property
    def message(self) -> str:
        """The last line that rtp-recv has said: while the camera is lost, why; empty if none."""
        return self._said().rpartition("\n")[2]

    def _said(self) -> str:
        """The end of what rtp-recv has said since it was started."""
        if self._messages.closed:
            return ""
        file = self._messages.fileno()
        start = max(0, os.fstat(file).st_size - _LONGEST_MESSAGE)
        return os.pread(file, _LONGEST_MESSAGE, start).decode(errors="replace").strip()

    def _forget(self) -> None:
        """Keeps what rtp-recv says from filling the disk, if the camera is lost again and again."""
        file = self._messages.fileno()
        if os.fstat(file).st_size > _MOST_MESSAGES:
            said = self._said()
            os.ftruncate(file, 0)
            os.write(file, f"{said}\n".encode())

    def _take(self) -> bool:
        if not super()._take():
            return False
        self._forget()
        return True

    def _try_to_connect(self) -> bool:
        if super()._try_to_connect():
            return True
        status = self._process.poll() if self._process is not None else None
        if status is None or self._is_closed:
            if not self._is_closed:
                self._forget()
            return False
        if status == 0:
            # The stream has ended in order; so has the ring.
            self.reconnect = False
            self._has_ended = True
            return False
        # A signal says nothing about the source.
        if not self._restarts or status > 0:
            raise CameraError(status, self._said())
        if time.monotonic() - self._started_at > _RESTART_PAUSE:
            self._start()
        return False

    def _start(self) -> None:
        self._started_at = time.monotonic()
        self._end_watch()
        os.ftruncate(self._messages.fileno(), 0)
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=self._messages)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                error.errno, "there is no such program; program= is the path of rtp-recv",
                self._command[0]) from None
        # If this program is killed or forgets to close, the pipe breaks.
        self._watch = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH, str(self._process.pid), self._folder],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _end_watch(self) -> None:
        if self._watch is None:
            return
        self._watch.kill()
        self._watch.wait()
        assert self._watch.stdin is not None
        self._watch.stdin.close()
        self._watch = None

    def _stop(self) -> None:
        self._end_watch()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_ENDING_TIME)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._messages.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def open(
    source: str, *, pixel_format: str = "bgr24", size: Optional[Tuple[int, int]] = None,
    reconnect: bool = True, timeout: float = 10.0, program: str = "rtp-recv",
    options: Sequence[str] = (),
) -> Camera:
    """Starts rtp-recv on ``source``, and reads its frames.

    The password of a camera comes from ``--password-file`` among the options, or from the
    environment (``RTP_RECV_PASSWORD``). While there are no frames, ``Camera.message`` says why.

    :param source: what rtp-recv takes, such as ``rtsp://user@camera/stream``.
    :param pixel_format: bgr24, rgb24, gray8, nv12, yuv420p, p010le, gray10le or yuv420p10le.
    :param size: (width, height) to scale to; by default, what comes.
    :param reconnect: connect to the camera again, for ever, and start rtp-recv again if it is killed.
    :param timeout: how many seconds a wait lasts that names no time itself.
    :param program: the path of rtp-recv.
    :param options: more options of it.
    :raises OSError: if the program cannot be started.
    :raises CameraError: while waiting, if rtp-recv ends with an error that trying again does not
        mend, such as a wrong option or a missing password; without ``reconnect``, with any error.
    """
    return Camera(
        source, pixel_format=pixel_format, size=size, reconnect=reconnect, timeout=timeout,
        program=program, options=options)
