"""A reader of a ring of frames."""

from __future__ import annotations

import array
import enum
import errno
import os
import select
import socket
import stat
import struct
import time
from types import TracebackType
from typing import Iterator, List, Optional, Type, Union

from ._frame import Frame
from ._memory import InvalidRing, Memory, State

_DATAGRAM = struct.Struct("<IIQQQ")
_MEMORY = 1

# Tries to connect again after these seconds, then after as many as the last.
_RETRIES = (0.05, 0.1, 0.2, 0.5, 1.0)

# A newest frame that is not in its slot for so many seconds is none.
_LONGEST_WRITE = 1.0

# poll(2) takes milliseconds in 32 bits; a longer wait is several.
_LONGEST_POLL = 3600.0

# Rings of earlier formats whose frames ordered reading has not reached yet.
_MOST_MEMORIES = 4


class Reason(enum.Enum):
    """Why a wait ended; true if there is a frame."""

    FRAME = "frame"
    TIMEOUT = "timeout"
    """No frame came in time."""
    LOST = "lost"
    """The connection to the camera or to the writer is lost."""
    ENDED = "ended"
    """The stream has ended."""

    def __bool__(self) -> bool:
        return self is Reason.FRAME


class RingTimeout(TimeoutError):
    """No frame came in time."""


class RingLost(ConnectionError):
    """The writer of the ring is gone, or its connection to the camera is."""


class Ring:
    """A reader of the frames that ``rtp-recv SOURCE -o shm:PATH`` serves.

    It shares the memory with the writer and all other readers, and none of them waits for it. Use it
    from one thread at a time, and in a ``with`` statement, or close it. A writer takes 64 readers; one
    more is ``LOST``, and tries again every second if it reconnects.

    :param path: the PATH above.
    :param reconnect: connect again, for ever, when the writer ends or is gone.
    :param timeout: how many seconds a wait lasts that names no time itself.
    :raises OSError: if nobody serves frames at ``path``, unless ``reconnect`` is set.
    """

    def __init__(
        self, path: Union[str, "os.PathLike[str]"], *, reconnect: bool = False,
        timeout: float = 10.0,
    ) -> None:
        self.path = os.fspath(path)
        self.reconnect = reconnect
        self.timeout = timeout
        self.reason = Reason.TIMEOUT
        """Why the last wait ended."""
        self.reconnections = 0
        """How often another writer was connected to."""
        self._socket: Optional[socket.socket] = None
        self._poll = select.poll()
        self._memories: List[Memory] = []
        self._seen = 0
        self._has_ended = False
        self._was_connected = False
        self._had_memory = False
        self._is_first_memory = True
        self._is_closed = False
        self._failures = 0
        self._retry_at = 0.0
        try:
            self._connect()
        except OSError:
            if not reconnect:
                raise

    def close(self) -> None:
        """Gives the memory back; frames that are copies stay."""
        self._is_closed = True
        self._disconnect()
        self._memories = []

    def __enter__(self) -> "Ring":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    @property
    def state(self) -> State:
        """The state of the stream, by what the writer has said last."""
        if self._memories:
            self._drain()
        if self._has_ended:
            return State.ENDED
        if self._socket is None or not self._memories:
            return State.LOST if self._was_connected and self._socket is None else State.STARTING
        return self._memories[-1].state

    # The newest frame

    def wait(self, timeout: Optional[float] = None) -> Reason:
        """Waits for a frame that is newer than the last one read.

        :param timeout: how many seconds at most; by default, those of the ring.
        :returns: why it ended, which is true if there is a frame.
        """
        self.reason = self._wait(self.timeout if timeout is None else timeout)
        return self.reason

    def latest(self, *, copy: bool = True) -> Optional[Frame]:
        """The newest frame, at once; ``None`` if there is none.

        The same frame comes again until there is another; ``wait`` waits for that.

        :param copy: whether the frame gets samples of its own, or shows those in the ring; see
            ``Frame.valid``.
        """
        tried, end = 0, 0.0
        while True:
            self._drain()
            # The last memory may wait for its first frame yet.
            number, memory = next(
                ((i, m) for i, m in reversed(list(enumerate(self._memories))) if m.latest),
                (0, None))
            if memory is None:
                return None
            newest = memory.latest
            if newest != tried:
                tried, end = newest, time.monotonic() + _LONGEST_WRITE
            frame = self._read(memory, newest, copy)
            if frame is not None:
                self._seen = newest
                del self._memories[:number]
                return frame
            # The writer was faster, so there is a newer one, or will be.
            if memory.latest == newest and time.monotonic() > end:
                raise InvalidRing("the newest frame is not in its slot")

    def view(self) -> Optional[Frame]:
        """The newest frame without a copy; see ``Frame.valid``."""
        return self.latest(copy=False)

    # All frames in order

    def next(self, timeout: Optional[float] = None, *, copy: bool = True) -> Optional[Frame]:
        """The frame after the last one read, which it waits for.

        A reader that is too slow misses frames: ``Frame.missed`` says how many.

        :param timeout: how many seconds at most; by default, those of the ring.
        :returns: ``None`` if none came; ``reason`` says why.
        """
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            frame = self._following(copy)
            if frame is not None:
                self.reason = Reason.FRAME
                return frame
            self.reason = self._wait(max(0.0, end - time.monotonic()))
            if not self.reason:
                return None

    def __iter__(self) -> Iterator[Frame]:
        """All frames in order, to the end of the stream; for ever if the ring reconnects.

        :raises RingTimeout: if none comes within the ring's ``timeout``; a ring that reconnects goes
            on waiting.
        :raises RingLost: if the writer is gone, or has lost the camera for that long.
        """
        while not self._is_closed:
            frame = self.next()
            if frame is not None:
                yield frame
            elif self._goes_on():
                continue
            elif self.reason is Reason.ENDED:
                return
            elif self.reason is Reason.LOST:
                raise RingLost(f"{self.path}: the connection is lost")
            else:
                raise RingTimeout(f"{self.path}: no frame within {self.timeout} s")

    def _goes_on(self) -> bool:
        """Whether a loop over the frames waits for as long as none comes."""
        return self.reconnect

    def _following(self, copy: bool) -> Optional[Frame]:
        """The oldest frame after the last one read that is still there."""
        self._drain()
        while self._memories:
            memory = self._memories[0]
            newest = memory.latest
            oldest = max(memory.first, newest - memory.slot_count + 1, self._seen + 1)
            for number in range(oldest, newest + 1):
                frame = self._read(memory, number, copy)
                if frame is not None:
                    frame.missed = number - self._seen - 1 if self._seen else 0
                    self._seen = number
                    return frame
            if memory.latest != newest:
                # The writer was faster.
                continue
            if len(self._memories) == 1:
                return None
            # Nothing more comes into a memory after which there is another.
            del self._memories[0]
        return None

    def _read(self, memory: Memory, number: int, copy: bool) -> Optional[Frame]:
        slot = memory.slot(number)
        if slot is None:
            return None
        frame = Frame(memory, slot, copied=copy)
        return frame if memory.holds(slot) else None

    # The socket

    def _wait(self, timeout: float) -> Reason:
        """Waits for a frame after the last one read."""
        end = time.monotonic() + timeout
        while True:
            if self._memories and self._memories[-1].latest > self._seen:
                return Reason.FRAME
            if self._socket is None and not self._try_to_connect():
                now = time.monotonic()
                if not self.reconnect or self._is_closed or now >= end:
                    return Reason.ENDED if self._has_ended else Reason.LOST
                time.sleep(max(0.0, min(self._retry_at, end) - now))
                continue
            if self._has_ended and not self.reconnect:
                return Reason.ENDED
            left = end - time.monotonic()
            if self._poll.poll(min(max(0.0, left), _LONGEST_POLL) * 1000):
                self._take()
            elif left <= 0:
                return Reason.LOST if self.state is State.LOST else Reason.TIMEOUT

    def _try_to_connect(self) -> bool:
        """Connects if it is time to; returns whether there is a connection."""
        if not self.reconnect or self._is_closed or time.monotonic() < self._retry_at:
            return False
        try:
            self._connect()
        except OSError:
            self._note_failure()
            return False
        return True

    def _note_failure(self) -> None:
        self._retry_at = time.monotonic() + _RETRIES[min(self._failures, len(_RETRIES) - 1)]
        self._failures += 1

    def _connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        try:
            connection.connect(self.path)
        except OSError as error:
            connection.close()
            raise OSError(error.errno, self._words(error), self.path) from None
        connection.setblocking(False)
        # Another writer counts from 1.
        self._memories = []
        self._seen = 0
        self._is_first_memory = True
        self._socket = connection
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._was_connected = True
        self._has_ended = False

    def _words(self, error: OSError) -> str:
        """Why ``error`` keeps it from the ring."""
        if error.errno == errno.ENOENT:
            return "there is no ring of frames"
        if error.errno == errno.ECONNREFUSED:
            # Linux says the same of a file that is no socket.
            is_socket = stat.S_ISSOCK(os.stat(self.path).st_mode)
            return "nobody serves the ring" if is_socket else "this is no ring of frames"
        return str(error.strerror)

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _drain(self) -> None:
        """Takes all that the writer has sent."""
        while self._take():
            pass

    def _take(self) -> bool:
        """Takes a datagram: a memory, or that there is something new in it; false without one."""
        if self._socket is None:
            return False
        try:
            data, descriptors = self._receive()
        except BlockingIOError:
            return False
        except ConnectionError:
            data, descriptors = b"", []
        try:
            if not data:
                self._note_end()
                self._disconnect()
                if self._memories:
                    self._retry_at = 0.0
                else:
                    # The writer has as many readers as it takes.
                    self._note_failure()
                return False
            if len(data) != _DATAGRAM.size:
                raise InvalidRing(f"a datagram of {len(data)} bytes")
            if _DATAGRAM.unpack(data)[0] == _MEMORY and not self._add_memory(descriptors):
                # The writer sends a memory once to each connection.
                self._disconnect()
                self._retry_at = time.monotonic() + _RETRIES[-1]
                return False
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        self._note_end()
        return True

    def _note_end(self) -> None:
        if self._memories and self._memories[-1].has_ended:
            self._has_ended = True

    def _add_memory(self, descriptors: "list[int]") -> bool:
        """Maps the memory that has come; false where this process has no descriptor left for it."""
        if not descriptors:
            return False
        try:
            self._memories.append(Memory(descriptors[0]))
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            return False
        del self._memories[:-_MOST_MEMORIES]
        self._failures = 0
        if self._is_first_memory:
            self.reconnections += self._had_memory
            self._is_first_memory = False
            self._had_memory = True
        return True

    def _receive(self) -> "tuple[bytes, list[int]]":
        assert self._socket is not None
        descriptors = array.array("i")
        data, parts, _, _ = self._socket.recvmsg(
            _DATAGRAM.size + 1, socket.CMSG_SPACE(descriptors.itemsize), socket.MSG_CMSG_CLOEXEC)
        for level, kind, part in parts:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(part[:len(part) - len(part) % descriptors.itemsize])
        return data, list(descriptors)
