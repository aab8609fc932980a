"""The memory of a ring, as rtp_recv_ring.h describes it."""

from __future__ import annotations

import enum
import fcntl
import mmap
import os
import struct
import sys
import time
from typing import NamedTuple, Optional, Tuple

MAGIC = 0x46505452
VERSION = 1
HEADER_SIZE = 4096
SLOT_HEADER_SIZE = 256
MOST_PLANES = 4

# magic, version, header and slot header size, slots, writer, slot stride, size, first frame
_HEADER = struct.Struct("<IHHIIIIQQQ")
# In units of 8 bytes: these change while readers look.
_LATEST, _EPOCH, _HEARTBEAT, _STATE = 8, 9, 10, 11
_SLOT = struct.Struct("<QQQqqqqqqIIIIII16s16sIIIIBBB5x16I")

# Not in every version of Python.
_F_GET_SEALS = 1034
_F_SEAL_SHRINK = 2

# Without a sign of life for so long, the writer counts as stopped.
_LONGEST_SILENCE_NS = 3_000_000_000


class InvalidRing(ValueError):
    """What the other end of the socket sent is no ring of this version."""


class NamedNumber(enum.IntEnum):
    """A number that is shown by its name, in every version of Python."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class State(NamedNumber):
    """The state of the stream."""

    STARTING = 0
    """No frame has come yet."""
    LIVE = 1
    STALLED = 2
    """No frame has come for two seconds, but the connection to the camera stands."""
    LOST = 3
    """The connection to the camera or to the writer is lost."""
    ENDED = 4
    """No more frames will come."""


class Plane(NamedTuple):
    offset: int
    stride: int
    row_bytes: int
    rows: int


class Slot(NamedTuple):
    """The header of a slot."""

    start: int
    sequence: int
    epoch: int
    pts_ns: int
    capture_ns: int
    first_arrival_ns: int
    last_arrival_ns: int
    published_ns: int
    rtp_ticks: int
    rtp_rate: int
    flags: int
    width: int
    height: int
    condition: int
    pixel_format: str
    damage: str
    sample_aspect: Tuple[int, int]
    frame_rate: Tuple[int, int]
    colour: Tuple[int, int, int]
    planes: Tuple[Plane, ...]


class Memory:
    """A mapped ring; every number of its headers is checked against its size before it is used."""

    def __init__(self, descriptor: int) -> None:
        if sys.byteorder != "little":
            raise InvalidRing("a ring is little-endian, and this machine is not")
        size = os.fstat(descriptor).st_size
        # Otherwise the other side could cut it off under a reader, which would be a SIGBUS.
        if not fcntl.fcntl(descriptor, _F_GET_SEALS) & _F_SEAL_SHRINK:
            raise InvalidRing("the memory may shrink")
        if size < HEADER_SIZE:
            raise InvalidRing(f"the memory has only {size} bytes")
        self.map = mmap.mmap(descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ)
        (magic, version, _, header_size, slot_header_size, self.slot_count, self.writer_pid,
         self.slot_stride, own_size, self.first) = _HEADER.unpack_from(self.map)
        if magic != MAGIC or version != VERSION:
            raise InvalidRing(f"version {version} of a ring is not known")
        if header_size != HEADER_SIZE or slot_header_size != SLOT_HEADER_SIZE or own_size != size:
            raise InvalidRing("the header has wrong sizes")
        if self.slot_count and (
            self.slot_stride < SLOT_HEADER_SIZE
            or self.slot_stride % 64
            or self.slot_count * self.slot_stride > size - HEADER_SIZE
        ):
            raise InvalidRing("the slots are larger than the memory")
        # One load of 8 bytes for each access, so that no number is torn.
        self._numbers = memoryview(self.map).cast("Q")

    @property
    def latest(self) -> int:
        """The number of the newest frame; 0 if there is none."""
        latest = self._numbers[_LATEST]
        return latest if self.slot_count and latest >= self.first else 0

    @property
    def epoch(self) -> int:
        return self._numbers[_EPOCH]

    @property
    def state(self) -> State:
        number = self._numbers[_STATE] & 0xFFFFFFFF
        state = State(number) if number <= State.ENDED else State.LOST
        silence = time.monotonic_ns() - self._numbers[_HEARTBEAT]
        if state is State.LIVE and silence > _LONGEST_SILENCE_NS:
            return State.STALLED
        return state

    @property
    def has_ended(self) -> bool:
        return self._numbers[_STATE] & 0xFFFFFFFF == State.ENDED

    def holds(self, slot: Slot) -> bool:
        """Whether the frame is still there, whole."""
        return self._numbers[slot.start // 8] == 2 * slot.sequence

    def slot(self, sequence: int) -> Optional[Slot]:
        """The header of frame ``sequence``; ``None`` if it is no longer, or not yet, there."""
        if not self.slot_count or sequence < max(self.first, 1):
            return None
        start = HEADER_SIZE + sequence % self.slot_count * self.slot_stride
        # Python has no fences. The loads stay in this order on x86; elsewhere, the system calls and
        # the locks between them keep it.
        if self._numbers[start // 8] != 2 * sequence:
            return None
        (_, number, epoch, pts, capture, first_arrival, last_arrival, published, ticks, rate, flags,
         width, height, plane_count, condition, pixel_format, damage, *rest
         ) = _SLOT.unpack_from(self.map, start)
        if self._numbers[start // 8] != 2 * sequence:
            return None
        if number != sequence:
            raise InvalidRing(f"the slot of frame {sequence} names frame {number}")
        if not 0 < plane_count <= MOST_PLANES:
            raise InvalidRing(f"a frame of {plane_count} planes")
        (aspect_width, aspect_height, frames, seconds, primaries, transfer, matrix), numbers = (
            rest[:7], rest[7:])
        planes = tuple(Plane(*numbers[4 * i:4 * i + 4]) for i in range(plane_count))
        for plane in planes:
            if (
                plane.row_bytes > plane.stride
                or plane.offset < SLOT_HEADER_SIZE
                or plane.offset + plane.stride * plane.rows > self.slot_stride
            ):
                raise InvalidRing("a plane lies outside its slot")
        return Slot(
            start, sequence, epoch, pts, capture, first_arrival, last_arrival, published, ticks, rate,
            flags, width, height, condition, _text(pixel_format), _text(damage),
            (aspect_width, aspect_height), (frames, seconds), (primaries, transfer, matrix), planes)


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("ascii", "replace")
