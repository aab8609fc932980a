"""RTP packets of a clip, made here, and the frames that they must become."""

from __future__ import annotations

import json
import struct
import subprocess
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Iterable, Iterator, Optional

FRAMES_PER_SECOND = 25
TICKS = 90_000 // FRAMES_PER_SECOND
PAYLOAD_TYPE = 96
MOST_PAYLOAD = 1200


def at_pace(indices: Iterable[int], pace: float = 1 / FRAMES_PER_SECOND) -> Iterator[int]:
    """Hands out each of `indices` at its time; `pace` is in seconds."""
    due = time.monotonic()
    for index in indices:
        yield index
        due += pace
        time.sleep(max(0.0, due - time.monotonic()))


@dataclass(frozen=True)
class Clip:
    """A clip of H.264, its access units, and the MD5 of each frame as FFmpeg decodes it."""

    path: Path
    units: tuple[tuple[bytes, ...], ...]
    """The NAL units of each picture."""
    hashes: tuple[str, ...]

    def sdp(self, control: str = "trackID=0", extra: str = "") -> str:
        return (
            "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=clip\r\nt=0 0\r\n"
            f"m=video 0 RTP/AVP {PAYLOAD_TYPE}\r\nc=IN IP4 127.0.0.1\r\n"
            f"a=rtpmap:{PAYLOAD_TYPE} H264/90000\r\n"
            f"a=fmtp:{PAYLOAD_TYPE} packetization-mode=1\r\na=control:{control}\r\n{extra}")


@lru_cache(maxsize=None)
def clip(folder: Path, seconds: int = 4, size: str = "320x180") -> Clip:
    """A clip with a key picture every second, made by FFmpeg."""
    path = folder / f"clip-{seconds}-{size}.h264"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
         f"testsrc2=size={size}:rate={FRAMES_PER_SECOND}", "-t", str(seconds), "-c:v", "libx264",
         "-preset", "veryfast", "-bf", "0", "-g", str(FRAMES_PER_SECOND), "-pix_fmt", "yuv420p",
         "-x264-params", "slices=1:repeat-headers=1:scenecut=0", "-f", "h264", path], check=True)
    return Clip(path, _pictures(path.read_bytes()), hashes(path))


def hashes(path: Path) -> tuple[str, ...]:
    """The MD5 of each frame, as FFmpeg decodes it."""
    said = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-f", "framemd5", "-"], check=True,
        capture_output=True, text=True).stdout
    return tuple(
        line.rpartition(",")[2].strip() for line in said.splitlines() if line and line[0] != "#")


def _pictures(stream: bytes) -> tuple[tuple[bytes, ...], ...]:
    units = [unit for unit in stream.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1") if unit]
    pictures: list[tuple[bytes, ...]] = []
    current: list[bytes] = []
    for unit in units:
        current.append(unit)
        if unit[0] & 31 in (1, 5):
            pictures.append(tuple(current))
            current = []
    return tuple(pictures)


def packet(
    sequence: int, timestamp: int, payload: bytes, *, marker: bool = False, ssrc: int = 0x1234,
    payload_type: int = PAYLOAD_TYPE,
) -> bytes:
    """One RTP packet."""
    return struct.pack(
        ">BBHII", 0x80, (0x80 if marker else 0) | payload_type, sequence & 0xFFFF,
        timestamp & 0xFFFFFFFF, ssrc) + payload


def payloads(unit: bytes) -> Iterator[bytes]:
    """A NAL unit as payloads: by itself, or in fragments (FU-A, RFC 6184 §5.8)."""
    if len(unit) <= MOST_PAYLOAD:
        yield unit
        return
    pieces = [unit[at:at + MOST_PAYLOAD] for at in range(1, len(unit), MOST_PAYLOAD)]
    for index, piece in enumerate(pieces):
        ends = (0x80 if index == 0 else 0) | (0x40 if index == len(pieces) - 1 else 0)
        yield bytes([unit[0] & 0xE0 | 28, ends | unit[0] & 31]) + piece


@dataclass
class Numbering:
    """The running numbers of one sender."""

    sequence: int = 100
    timestamp: int = 0
    ssrc: int = 0x1234

    def picture(self, units: tuple[bytes, ...]) -> list[bytes]:
        """The packets of the next picture."""
        bodies = [body for unit in units for body in payloads(unit)]
        found = []
        for index, body in enumerate(bodies):
            found.append(packet(
                self.sequence, self.timestamp, body, marker=index == len(bodies) - 1,
                ssrc=self.ssrc))
            self.sequence += 1
        self.timestamp += TICKS
        return found


def sender_report(numbering: Numbering, count: int = 0) -> bytes:
    """A sender report with an SDES (RFC 3550 §6.4.1)."""
    return struct.pack(
        ">BBHIIIIII", 0x80, 200, 6, numbering.ssrc, 3_900_000_000, 0, numbering.timestamp, count,
        1000 * count)


def goodbye(ssrc: int = 0x1234) -> bytes:
    """A compound packet that ends with BYE (RFC 3550 §6.6)."""
    return struct.pack(">BBHI", 0x80, 201, 1, ssrc) + struct.pack(">BBHI", 0x81, 203, 1, ssrc)


@dataclass(frozen=True)
class Seen:
    """A picture in a file of --frame-md5."""

    index: int
    """Its place in the clip, by its RTP timestamp."""
    condition: str
    hash: Optional[str]
    time: int


def seen(path: Path, first: int = 0, ticks: int = TICKS) -> list[Seen]:
    """The pictures of a .jsonl file, where the clip begins with the RTP timestamp `first`."""
    found = []
    for line in path.read_text().splitlines():
        values = json.loads(line)
        offset = (values["rtp_timestamp"] - first) & 0xFFFFFFFF
        found.append(Seen(
            round(offset / ticks), values["condition"], values["md5"], values["time_ns"] or 0))
    return found
