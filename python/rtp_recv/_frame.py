"""One frame of a ring."""

from __future__ import annotations

import datetime
import time
from fractions import Fraction
from typing import NamedTuple, Optional, Tuple

import numpy as np

from ._memory import InvalidRing, Memory, NamedNumber, Plane, Slot

_KEY, _FULL_RANGE, _RANGE_KNOWN, _INTERLACED, _TOP_FIRST, _DISCONTINUITY = 1, 2, 4, 8, 16, 32

# Samples in a pixel of the first plane, bytes of a sample, and whether chroma has half the rows.
_FORMATS = {
    "bgr24": (3, 1, False),
    "rgb24": (3, 1, False),
    "gray": (1, 1, False),
    "gray10le": (1, 2, False),
    "nv12": (1, 1, True),
    "p010le": (1, 2, True),
    "yuv420p": (1, 1, True),
    "yuv420p10le": (1, 2, True),
}

# An arrival that is older than this was on the clock of a recording.
_LONGEST_DELAY_NS = 60_000_000_000


class Condition(NamedNumber):
    """How faithful a frame is to what was sent."""

    INTACT = 0
    CONCEALED = 1
    """Packets are missing, and a prediction replaces what they held; or bits are known to be wrong."""
    DAMAGED = 2
    """It refers to pictures that are not intact, or packets are missing without a replacement."""
    REPEATED = 3
    """An earlier picture again."""


class Colour(NamedTuple):
    """The code points of H.273; 2 means unspecified."""

    primaries: int
    transfer: int
    matrix: int
    full_range: bool
    is_range_known: bool
    """Whether the stream says the range; otherwise ``full_range`` is a guess."""


class Frame:
    """A picture, and what is known of it.

    Its samples are a copy, or a view of the ring's memory, which the writer will use again:
    ``valid`` says whether it has.
    """

    sequence: int
    """1 and up, without gaps, for each frame that was written."""
    epoch: int
    """Grows when the camera was connected to again, and when size or format change."""
    missed: int
    """How many frames before it this reader did not get; 0 except in ordered reading."""

    def __init__(self, memory: Memory, slot: Slot, copied: bool) -> None:
        self._memory = memory
        self._slot = slot
        self.is_view = not copied
        self.sequence = slot.sequence
        self.epoch = slot.epoch
        self.missed = 0
        if slot.pixel_format not in _FORMATS:
            raise InvalidRing(f"the pixel format {slot.pixel_format!r} is not known")
        self._samples, sample_bytes, _ = _FORMATS[slot.pixel_format]
        self._dtype = np.dtype("<u2" if sample_bytes == 2 else "u1")
        for plane in slot.planes:
            if plane.row_bytes % (sample_bytes * self._samples) or plane.stride % sample_bytes:
                raise InvalidRing("a row ends inside a pixel")
        first = slot.planes[0]
        if (first.rows, first.row_bytes) != (
            slot.height,
            slot.width * self._samples * sample_bytes,
        ):
            raise InvalidRing("the planes do not have the size of the picture")
        self._copy = self._copied() if copied else None

    # Samples

    @property
    def array(self) -> np.ndarray:
        """The samples, as OpenCV takes them.

        (height, width, 3) for bgr24 and rgb24, (height, width) for gray, and (height * 3 / 2, width)
        for nv12, p010 and yuv420p. Samples of 10 bits are ``uint16``.

        :raises ValueError: where the planes make no such array: with an odd width, and in views of
            yuv420p. ``planes`` has them one by one.
        """
        slot = self._slot
        if self._samples == 3:
            return self.planes[0]
        if len(slot.planes) == 1:
            return self.planes[0]
        if slot.width % 2:
            raise ValueError(f"the width {slot.width} is odd: use planes")
        if self._copy is not None:
            return self._copy.reshape(-1, slot.width)
        luma, chroma = slot.planes[:2]
        if (
            len(slot.planes) != 2
            or luma.stride != chroma.stride
            or luma.row_bytes != chroma.row_bytes
            or luma.offset + luma.stride * luma.rows != chroma.offset
        ):
            raise ValueError("the planes are not beside each other in the ring: use planes")
        return self._view(luma._replace(rows=luma.rows + chroma.rows))

    @property
    def planes(self) -> Tuple[np.ndarray, ...]:
        """The planes one by one: (rows, columns), or (rows, columns, 3) for bgr24 and rgb24."""
        if self._copy is None:
            return tuple(self._shaped(self._view(plane)) for plane in self._slot.planes)
        arrays, start = [], 0
        for plane in self._slot.planes:
            columns = plane.row_bytes // self._dtype.itemsize
            end = start + plane.rows * columns
            arrays.append(self._shaped(self._copy[start:end].reshape(plane.rows, columns)))
            start = end
        return tuple(arrays)

    @property
    def valid(self) -> bool:
        """Whether the samples are those of this frame; a copy's always are.

        What was computed from a view counts only if this holds afterwards.
        """
        return self._copy is not None or self._memory.holds(self._slot)

    def copy(self) -> Optional["Frame"]:
        """A frame with samples of its own; ``None`` if the writer has used the memory again."""
        frame = Frame(self._memory, self._slot, copied=True)
        frame.missed = self.missed
        return frame if self._memory.holds(self._slot) else None

    # What is known of it

    @property
    def width(self) -> int:
        return self._slot.width

    @property
    def height(self) -> int:
        return self._slot.height

    @property
    def pixel_format(self) -> str:
        """libav's name, such as ``bgr24`` or ``nv12``."""
        return self._slot.pixel_format

    @property
    def age(self) -> float:
        """Seconds since its last packet arrived; of a recording, since it came into the ring."""
        slot = self._slot
        delay = slot.published_ns - slot.last_arrival_ns
        start = slot.last_arrival_ns if 0 <= delay < _LONGEST_DELAY_NS else slot.published_ns
        return (time.monotonic_ns() - start) / 1e9

    @property
    def pts(self) -> float:
        """The media time in seconds."""
        return self._slot.pts_ns / 1e9

    @property
    def pts_ns(self) -> int:
        """The media time in nanoseconds."""
        return self._slot.pts_ns

    @property
    def rtp_time(self) -> Fraction:
        """The RTP timestamp, unwrapped, in seconds, exactly."""
        return Fraction(self._slot.rtp_ticks, max(self._slot.rtp_rate, 1))

    @property
    def capture_time(self) -> Optional[datetime.datetime]:
        """When the picture was taken, by the sender's clock; ``None`` before the sender says it."""
        nanoseconds = self._slot.capture_ns
        if not nanoseconds:
            return None
        start = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return start + datetime.timedelta(microseconds=nanoseconds // 1000)

    @property
    def capture_time_ns(self) -> Optional[int]:
        """The same in nanoseconds since 1970."""
        return self._slot.capture_ns or None

    @property
    def first_arrival_ns(self) -> int:
        """When its first packet arrived, on the clock of ``time.monotonic_ns``; of a recording, UTC in
        nanoseconds since 1970."""
        return self._slot.first_arrival_ns

    @property
    def last_arrival_ns(self) -> int:
        """When its last packet arrived, on the same clock."""
        return self._slot.last_arrival_ns

    @property
    def published_ns(self) -> int:
        """When it came into the ring, on the clock of ``time.monotonic_ns``."""
        return self._slot.published_ns

    @property
    def condition(self) -> Condition:
        """How faithful it is to what was sent."""
        number = self._slot.condition
        return Condition(number) if number <= Condition.REPEATED else Condition.DAMAGED

    @property
    def is_intact(self) -> bool:
        """Whether it and everything it refers to arrived."""
        return self.condition is Condition.INTACT

    @property
    def damage(self) -> Optional[str]:
        """Why it is not intact, such as ``lost_packets``; ``None`` if it is."""
        return self._slot.damage or None

    @property
    def is_key(self) -> bool:
        """Whether decoding can begin at it."""
        return bool(self._slot.flags & _KEY)

    @property
    def is_interlaced(self) -> bool:
        """Whether its rows are two fields."""
        return bool(self._slot.flags & _INTERLACED)

    @property
    def is_top_field_first(self) -> bool:
        return bool(self._slot.flags & _TOP_FIRST)

    @property
    def is_discontinuity(self) -> bool:
        """Whether it is the first one after a lost connection."""
        return bool(self._slot.flags & _DISCONTINUITY)

    @property
    def colour(self) -> Colour:
        """How its samples mean colours."""
        flags = self._slot.flags
        return Colour(*self._slot.colour, bool(flags & _FULL_RANGE), bool(flags & _RANGE_KNOWN))

    @property
    def sample_aspect(self) -> Optional[Fraction]:
        """The shape of a sample, width to height; ``None`` if it is unknown."""
        width, height = self._slot.sample_aspect
        return Fraction(width, height) if width and height else None

    @property
    def frame_rate(self) -> Optional[Fraction]:
        """Frames a second, if the stream says it."""
        numerator, denominator = self._slot.frame_rate
        return Fraction(numerator, denominator) if numerator and denominator else None

    def __repr__(self) -> str:
        return (
            f"<Frame {self.sequence}: {self.width}x{self.height} {self.pixel_format}, "
            f"{self.condition.name.lower()}, {self.pts:.3f} s>"
        )

    def _shaped(self, plane: np.ndarray) -> np.ndarray:
        if self._samples == 1:
            return plane
        pixels: np.ndarray = plane.reshape((plane.shape[0], plane.shape[1] // 3, 3))
        return pixels

    def _view(self, plane: Plane) -> np.ndarray:
        samples: np.ndarray = np.ndarray(
            (plane.rows, plane.row_bytes // self._dtype.itemsize),
            self._dtype,
            self._memory.map,
            self._slot.start + plane.offset,
            (plane.stride, self._dtype.itemsize),
        )
        return samples

    def _copied(self) -> np.ndarray:
        """The planes one after the other, without padding."""
        sizes = [plane.rows * (plane.row_bytes // self._dtype.itemsize) for plane in self._slot.planes]
        samples = np.empty(sum(sizes), self._dtype)
        start = 0
        for plane, size in zip(self._slot.planes, sizes):
            view = self._view(plane)
            samples[start:start + size].reshape(view.shape)[...] = view
            start += size
        return samples
