"""Cameras whose rtp-recv is a script."""

import os
import tempfile
import time
import unittest

import rtp_recv
from rtp_recv import CameraError, Reason, RingLost, RingTimeout, State


class CameraTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = os.path.join(folder.name, "program")
        self.log = os.path.join(folder.name, "log")

    def open(self, script, **options):
        """A camera; each start of its program is a line in the log."""
        with open(self.program, "w") as file:
            file.write(f"#!/bin/sh\nlog='{self.log}'; echo >> \"$log\"\n{script}\n")
        os.chmod(self.program, 0o755)
        return rtp_recv.open("source", program=self.program, **options)

    def starts(self):
        with open(self.log) as file:
            return len(file.readlines())

    # Only what has run for a second is started again.

    def test_what_has_ended_in_order_is_not_started_again(self):
        with self.open("sleep 1.2") as camera:
            self.assertIs(camera.wait(10), Reason.ENDED)
            self.assertIs(camera.wait(0.1), Reason.ENDED)
            self.assertIs(camera.state, State.ENDED)
            self.assertIsNone(camera.next(0.1))
        self.assertEqual(self.starts(), 1)

    def test_what_was_killed_is_started_again_and_the_message_is_that_of_the_last(self):
        script = """
            if [ "$(wc -l < "$log")" = 1 ]; then
                echo 'the first one says much' >&2; sleep 1.2; kill -9 $$
            fi
            echo second >&2; exit 3"""
        with self.open(script) as camera:
            with self.assertRaises(CameraError) as raised:
                camera.wait(10)
        self.assertEqual((raised.exception.status, str(raised.exception)), (3, "second"))
        self.assertEqual(self.starts(), 2)

    def test_what_ends_with_a_message_is_not_started_again(self):
        with self.open("echo refused >&2; sleep 1.2; exit 3") as camera:
            with self.assertRaises(CameraError) as raised:
                camera.wait(10)
        self.assertEqual((raised.exception.status, str(raised.exception)), (3, "refused"))
        self.assertEqual(self.starts(), 1)

    def test_what_was_said_last_is_there_while_there_are_no_frames(self):
        with self.open("echo first >&2; echo 'no such stream' >&2; exec sleep 30") as camera:
            end = time.monotonic() + 20
            while camera.message != "no such stream" and time.monotonic() < end:
                self.assertIs(camera.wait(0.1), Reason.LOST)
            self.assertEqual(camera.message, "no such stream")
        self.assertEqual(camera.message, "")

    def test_a_loop_over_a_camera_that_is_not_started_again_ends_when_no_frame_comes(self):
        with self.open("exec sleep 30", reconnect=False, timeout=0.3) as camera:
            with self.assertRaises((RingLost, RingTimeout)):
                next(iter(camera))

    def test_a_program_that_is_missing_is_named_with_what_names_it(self):
        with self.assertRaisesRegex(FileNotFoundError, "program=.*no-program"):
            rtp_recv.open("source", program="no-program")

    def test_what_is_said_again_and_again_does_not_fill_the_disk(self):
        script = """
            head -c 3000000 /dev/zero | tr '\\0' '\\n' >&2
            echo last >&2; exec sleep 30"""
        with self.open(script) as camera:
            end = time.monotonic() + 20
            size = 1 << 30
            while (camera.message != "last" or size > 1 << 20) and time.monotonic() < end:
                camera.wait(0.1)
                size = os.fstat(camera._messages.fileno()).st_size
            self.assertEqual(camera.message, "last")
            self.assertLessEqual(size, 1 << 20)


if __name__ == "__main__":
    unittest.main()
