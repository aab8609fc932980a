"""The readers of rings, against a writer in Python that may send anything."""

import array
import contextlib
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

import rtp_recv
from rtp_recv import Condition, InvalidRing, Reason, Ring, RingLost, RingTimeout, State

SEALS = 1 | 2 | 4 | 0x10
SLOTS = 4
WIDTH, HEIGHT = 6, 4
STRIDE = 64
SLOT_STRIDE = 4096


def now():
    return time.monotonic_ns()


class Writer:
    """A writer of gray frames whose samples are all their number."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(4)
        self.readers = []
        self.epoch = 1
        self.sequence = 0
        self.make()

    def make(self, seals=SEALS, **changes):
        """Makes the next memory, with changed numbers in its header."""
        header = dict(
            magic=0x46505452, version=1, header_size=4096, slot_header_size=256, slots=SLOTS,
            slot_stride=SLOT_STRIDE, size=4096 + SLOTS * SLOT_STRIDE)
        length = changes.pop("length", header["size"])
        header.update(changes)
        self.first = self.sequence + 1
        self.descriptor = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, length)
        self.map = mmap.mmap(self.descriptor, length)
        if seals:
            fcntl.fcntl(self.descriptor, 1033, seals)
        if length < 96:
            return
        struct.pack_into(
            "<IHHIIIIQQQ", self.map, 0, header["magic"], header["version"], 0,
            header["header_size"], header["slot_header_size"], header["slots"], os.getpid(),
            header["slot_stride"], header["size"], self.first)
        self.set_state(State.STARTING)

    def set_state(self, state):
        struct.pack_into("<QQQI", self.map, 64, 0, self.epoch, now(), state)
        if self.sequence >= self.first:
            struct.pack_into("<Q", self.map, 64, self.sequence)

    def accept(self):
        reader, _ = self.listener.accept()
        self.readers.append(reader)
        self.send_memory()

    def send_memory(self):
        for reader in self.readers:
            reader.sendmsg(
                [struct.pack("<IIQQQ", 1, 0, self.epoch, self.first, now())],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [self.descriptor]))])

    def write(self, pixel_format=b"gray", width=WIDTH, planes=None, plane_count=None, flags=0,
              condition=0, damage=b"", sequence=None, row_bytes=None):
        self.sequence += 1
        number = self.sequence
        start = 4096 + number % SLOTS * SLOT_STRIDE
        planes = planes or [(256, STRIDE, row_bytes or width, HEIGHT)]
        numbers = [value for plane in planes for value in plane]
        numbers += [0] * (16 - len(numbers))
        struct.pack_into(
            "<QQQqqqqqqIIIIII16s16sIIIIBBB5x16I", self.map, start, 2 * number,
            sequence or number, self.epoch, 40_000_000 * number, 1_700_000_000_000_000_000,
            now() - 3_000_000, now() - 2_000_000, now(), 3600 * number, 90000, flags, width,
            HEIGHT, plane_count or len(planes), condition, pixel_format, damage, 4, 3, 30000, 1001,
            1, 1, 6, *numbers)
        for row in range(HEIGHT * 2):
            at = start + 256 + row * STRIDE
            self.map[at:at + STRIDE] = bytes([number % 256]) * STRIDE
        self.set_state(State.LIVE)
        for reader in self.readers:
            reader.send(struct.pack("<IIQQQ", 2, number % SLOTS, self.epoch, number, now()))

    def end(self):
        self.set_state(State.ENDED)
        self.leave()

    def drop(self):
        for reader in self.readers:
            reader.close()
        self.readers.clear()

    def leave(self):
        self.drop()
        self.listener.close()


class RingTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "ring")
        self.writer = Writer(self.path)
        self.addCleanup(lambda: self.writer.leave())

    def begin_again(self):
        self.writer.leave()
        os.unlink(self.path)
        self.writer = Writer(self.path)

    @contextlib.contextmanager
    def ring(self, **options):
        with Ring(self.path, timeout=5, **options) as ring:
            self.writer.accept()
            yield ring


class ReadingTests(RingTestCase):
    def test_the_latest_frame_and_what_is_known_of_it(self):
        with self.ring() as ring:
            self.assertIsNone(ring.latest())
            self.writer.write()
            self.writer.write(flags=1 | 2 | 4 | 32, condition=1, damage=b"lost_packets")
            self.assertIs(ring.wait(), Reason.FRAME)
            frame = ring.latest()
            self.assertEqual(frame.sequence, 2)
            self.assertEqual(frame.array.shape, (HEIGHT, WIDTH))
            self.assertTrue((frame.array == 2).all())
            self.assertEqual(frame.pts, 0.08)
            self.assertEqual(frame.rtp_time * 90000, 7200)
            self.assertEqual(frame.capture_time.year, 2023)
            self.assertTrue(0.002 <= frame.age < 5)
            self.assertIs(frame.condition, Condition.CONCEALED)
            self.assertEqual(frame.damage, "lost_packets")
            self.assertFalse(frame.is_intact)
            self.assertTrue(frame.is_key and frame.is_discontinuity)
            self.assertEqual(frame.colour, (1, 1, 6, True, True))
            self.assertEqual(frame.sample_aspect, rtp_recv._frame.Fraction(4, 3))
            self.assertEqual(float(frame.frame_rate), 30000 / 1001)
            self.assertIs(ring.state, State.LIVE)
            self.assertEqual(f"{ring.state} {frame.condition!s}", "State.LIVE Condition.CONCEALED")
            self.assertIs(ring.wait(0), Reason.TIMEOUT)

    def test_a_copy_stays_and_a_view_shows_that_it_does_not(self):
        with self.ring() as ring:
            self.writer.write()
            copy, view = ring.latest(), ring.view()
            self.assertTrue(copy.array.flags.owndata or copy.array.base is not None)
            self.assertFalse(view.array.flags.writeable)
            self.assertTrue(view.valid)
            self.assertTrue((view.array == 1).all())
            self.assertTrue((view.copy().array == 1).all())
            for _ in range(SLOTS):
                self.writer.write()
            self.assertFalse(view.valid)
            self.assertIsNone(view.copy())
            self.assertTrue(copy.valid)
            self.assertTrue((copy.array == 1).all())
        # The memory stays as long as something shows it.
        self.assertEqual(view.array.shape, (HEIGHT, WIDTH))

    def test_in_order_with_what_was_missed(self):
        with self.ring() as ring:
            self.writer.write()
            self.writer.write()
            self.assertEqual([ring.next(0).sequence, ring.next(0).sequence], [1, 2])
            self.assertIsNone(ring.next(0))
            for _ in range(10):
                self.writer.write()
            self.writer.end()
            frames = [(frame.sequence, frame.missed) for frame in ring]
            self.assertEqual(frames, [(9, 6), (10, 0), (11, 0), (12, 0)])
            self.assertIs(ring.reason, Reason.ENDED)

    def test_another_memory_follows_the_rest_of_the_first(self):
        with self.ring() as ring:
            self.writer.write()
            self.writer.write()
            self.writer.epoch = 2
            self.writer.make()
            self.writer.send_memory()
            self.writer.write(width=4)
            found = [ring.next(0) for _ in range(3)]
            self.assertEqual([(f.sequence, f.epoch, f.width) for f in found],
                             [(1, 1, 6), (2, 1, 6), (3, 2, 4)])
            self.assertEqual(ring.latest().sequence, 3)

    def test_a_frame_that_was_waited_for_is_there_although_another_memory_has_come(self):
        with self.ring() as ring:
            self.writer.write()
            self.assertIs(ring.wait(), Reason.FRAME)
            self.writer.make()
            self.writer.send_memory()
            self.assertEqual((ring.latest().sequence, ring.latest().sequence), (1, 1))
            self.assertIs(ring.wait(0), Reason.TIMEOUT)
            self.writer.write(width=4)
            self.assertIs(ring.wait(), Reason.FRAME)
            self.assertEqual(ring.latest().sequence, 2)
            self.assertEqual(len(ring._memories), 1)

    def test_layouts(self):
        y = (256, STRIDE, 6, 4)
        with self.ring() as ring:
            self.writer.write(b"bgr24", row_bytes=18)
            self.assertEqual(ring.latest().array.shape, (4, 6, 3))
            self.assertEqual(ring.view().array.shape, (4, 6, 3))
            self.writer.write(b"nv12", planes=[y, (256 + 4 * STRIDE, STRIDE, 6, 2)])
            self.assertEqual(ring.latest().array.shape, (6, 6))
            self.assertEqual(ring.view().array.shape, (6, 6))
            chroma = [(256 + 4 * STRIDE, STRIDE, 3, 2), (256 + 6 * STRIDE, STRIDE, 3, 2)]
            self.writer.write(b"yuv420p", planes=[y] + chroma)
            self.assertEqual(ring.latest().array.shape, (6, 6))
            self.assertEqual([p.shape for p in ring.latest().planes], [(4, 6), (2, 3), (2, 3)])
            with self.assertRaises(ValueError):
                ring.view().array
            self.writer.write(b"gray10le", row_bytes=12)
            self.assertEqual(ring.latest().array.dtype, np.uint16)
            self.assertEqual(ring.latest().array[0, 0], 4 * 257)


class EndingTests(RingTestCase):
    def test_every_wait_says_why_it_ended(self):
        with self.ring() as ring:
            self.assertIs(ring.wait(0.05), Reason.TIMEOUT)
            self.writer.write()
            self.assertIs(ring.wait(0.05), Reason.FRAME)
            ring.latest()
            self.writer.set_state(State.LOST)
            self.assertIs(ring.wait(0.05), Reason.LOST)
            self.writer.end()
            self.assertIs(ring.wait(5), Reason.ENDED)
            self.assertIs(ring.state, State.ENDED)

    def test_a_writer_that_is_gone_is_lost_at_once(self):
        with self.ring() as ring:
            self.writer.write()
            self.writer.leave()
            # What it has written is still there.
            self.assertIs(ring.wait(5), Reason.FRAME)
            self.assertEqual(ring.latest().sequence, 1)
            self.assertIs(ring.wait(5), Reason.LOST)
            with self.assertRaises(RingLost):
                next(iter(ring))

    def test_a_loop_does_not_end_in_silence(self):
        with Ring(self.path, timeout=0.05) as ring:
            self.writer.accept()
            with self.assertRaises(RingTimeout):
                next(iter(ring))

    def test_nobody_serves(self):
        with self.assertRaisesRegex(FileNotFoundError, "there is no ring of frames"):
            Ring(self.path + "x")
        self.writer.leave()
        with self.assertRaisesRegex(ConnectionRefusedError, "nobody serves the ring"):
            Ring(self.path)
        with self.assertRaisesRegex(OSError, "this is no ring of frames.*test_ring"):
            Ring(__file__)

    def test_connecting_again_to_another_writer(self):
        with self.ring(reconnect=True) as ring:
            self.writer.write()
            self.assertEqual(ring.next().sequence, 1)
            for _ in range(2):
                self.writer.end()
                self.assertIs(ring.wait(0.1), Reason.ENDED)
                self.assertIs(ring.state, State.ENDED)
                os.unlink(self.path)
                self.writer = Writer(self.path)
                thread = threading.Thread(target=lambda: (self.writer.accept(), self.writer.write()))
                thread.start()
                frame = ring.next(5)
                thread.join()
                self.assertEqual((frame.sequence, frame.missed), (1, 0))
            self.assertEqual(ring.reconnections, 2)

    def test_a_writer_that_takes_no_more_readers_is_no_other_writer(self):
        def refuse_then_serve():
            self.writer.listener.accept()[0].close()
            self.writer.accept()
            self.writer.write()

        with Ring(self.path, reconnect=True) as ring:
            thread = threading.Thread(target=refuse_then_serve)
            thread.start()
            self.assertEqual(ring.next(5).sequence, 1)
            thread.join()
            self.assertEqual(ring.reconnections, 0)

    def test_a_wait_may_be_as_long_as_anybody_likes(self):
        for timeout in (30 * 86400, float("inf")):
            with self.subTest(timeout), self.ring() as ring:
                poll = ring._poll.poll

                def write_and_poll(milliseconds):
                    self.writer.write()
                    return poll(milliseconds)

                ring._poll = mock.Mock(poll=write_and_poll)
                self.assertIs(ring.wait(timeout), Reason.FRAME)
            self.begin_again()

    def test_a_reader_too_many_pauses_between_its_attempts(self):
        turned_away = []

        def turn_away():
            with contextlib.suppress(OSError):
                while True:
                    reader, _ = self.writer.listener.accept()
                    reader.close()
                    turned_away.append(reader)

        thread = threading.Thread(target=turn_away)
        thread.start()
        begin = time.monotonic()
        with Ring(self.path, reconnect=True) as ring:
            self.assertIsNot(ring.wait(0.4), Reason.FRAME)
        self.writer.listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        end = time.monotonic()
        # At once, then after 0.05, 0.1, 0.2, 0.5 s, and then each second.
        attempts = [0, 0.05, 0.15, 0.35] + [0.85 + second for second in range(100)]
        self.assertLessEqual(len(turned_away), sum(begin + after <= end for after in attempts))


class HostileTests(RingTestCase):
    """Numbers that lie; the reader in C gets the same."""

    headers = [
        dict(length=8), dict(magic=1), dict(version=2), dict(header_size=64),
        dict(slot_header_size=0), dict(size=1 << 40), dict(slots=SLOTS + 1),
        dict(slots=0xFFFFFFFF, slot_stride=1 << 62), dict(slot_stride=1 << 63),
        dict(slot_stride=128), dict(slot_stride=4097), dict(seals=0), dict(seals=4),
    ]

    slots = [
        dict(planes=[(0, STRIDE, 6, 4)]), dict(planes=[(4096, STRIDE, 6, 4)]),
        dict(planes=[(256, STRIDE, 65, 4)]), dict(planes=[(0xFFFFFFFF, 0xFFFFFFFF, 6, 4)]),
        dict(planes=[(256, 0xFFFFFFFF, 6, 0xFFFFFFFF)]), dict(plane_count=5),
        dict(plane_count=0xFFFFFFFF),
    ]

    # What only the module looks at.
    own_slots = [
        dict(pixel_format=b"\xff" * 16), dict(width=7, row_bytes=6),
        dict(pixel_format=b"bgr24", row_bytes=17), dict(sequence=77),
        dict(planes=[(256, STRIDE, 6, 3)]),
    ]

    def test_headers(self):
        for changes in self.headers:
            self.begin_again()
            with self.subTest(**changes), self.ring() as ring:
                ring._drain()
                self.writer.make(**changes)
                self.writer.send_memory()
                with self.assertRaises(InvalidRing):
                    ring.wait(1)
                self.writer.drop()
                self.check_program("outcome -3")

    def test_slots(self):
        for changes in self.slots + self.own_slots:
            self.begin_again()
            with self.subTest(**changes), self.ring() as ring:
                self.writer.make()
                self.writer.send_memory()
                self.writer.write(**changes)
                with self.assertRaises(InvalidRing):
                    ring.latest()
                with self.assertRaises(InvalidRing):
                    ring.next(1)
                self.writer.drop()
                if changes in self.slots:
                    self.check_program("outcome -3")

    def test_datagrams(self):
        for data in [b"x", b"x" * 31, b"x" * 33, b"x" * 1000]:
            self.begin_again()
            with self.subTest(size=len(data)), self.ring() as ring:
                self.writer.readers[-1].send(data)
                with self.assertRaises(InvalidRing):
                    ring.wait(1)
                self.writer.drop()

    def test_a_newest_frame_that_is_not_there(self):
        for number in [1, 5, 2**63 + 1]:
            self.begin_again()
            with self.subTest(number=number), self.ring() as ring:
                self.writer.write()
                ring._drain()
                struct.pack_into("<Q", self.writer.map, 64, number + 1)
                with self.assertRaises(InvalidRing):
                    ring.latest()

    def test_a_writer_that_is_faster_for_long(self):
        with mock.patch("rtp_recv._ring._LONGEST_WRITE", 0.0), self.ring() as ring:
            self.writer.write()
            read, missed = ring._read, []

            def late(memory, number, copy):
                if len(missed) == 5:
                    return read(memory, number, copy)
                missed.append(number)
                return self.writer.write()

            with mock.patch.object(ring, "_read", late):
                self.assertEqual(ring.latest().sequence, 6)

    def test_more_descriptors_than_one(self):
        program = os.environ.get("RING_CHECK")
        if not program:
            return
        process = subprocess.Popen([program, self.path], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.writer.accept()
        descriptors = array.array("i", [self.writer.descriptor, self.writer.descriptor])
        for _ in range(100):
            self.writer.readers[-1].send(struct.pack("<IIQQQ", 3, 0, 1, 1, now()))
            self.writer.readers[-1].sendmsg(
                [struct.pack("<IIQQQ", 1, 0, 1, 1, now())],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        self.writer.write()
        # The reader has taken all that was sent once its queue is empty.
        end = time.monotonic() + 20
        while fcntl.ioctl(self.writer.readers[-1], 0x5411, b"\0" * 4) != b"\0" * 4:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        self.assertLess(len(os.listdir(f"/proc/{process.pid}/fd")), 12)
        process.kill()
        process.wait()

    def check_program(self, expected):
        """Lets the reader in C read what the writer has."""
        program = os.environ.get("RING_CHECK")
        if not program:
            return
        process = subprocess.Popen([program, self.path], stdout=subprocess.PIPE, text=True)
        self.writer.accept()
        # It may have left by what it got first.
        with contextlib.suppress(BrokenPipeError):
            number = self.writer.sequence
            self.writer.readers[-1].send(struct.pack("<IIQQQ", 2, 0, 1, number, now()))
        output, _ = process.communicate(timeout=20)
        self.assertIn(expected, output)
        self.writer.drop()

    def test_a_reader_cannot_change_the_memory(self):
        with self.ring() as ring:
            ring._drain()
            with self.assertRaises(OSError):
                os.ftruncate(self.writer.descriptor, 0)
            with self.assertRaises((OSError, ValueError)):
                mmap.mmap(self.writer.descriptor, 4096)
            self.assertTrue(memoryview(ring._memories[0].map).readonly)


if __name__ == "__main__":
    unittest.main()
