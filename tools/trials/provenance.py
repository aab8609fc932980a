"""Where a report comes from: when it was made, of which commit, of which versions, where and how."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from .programs import REPOSITORY


def head(began: float, rtp_recv: str, rtp_send: str) -> list[str]:
    """The first lines of a report of what began then, in Unix time, with these two programs."""
    questions = (
        ("rtp-recv", [rtp_recv, "--version"], r"(\S+)"),
        ("rtp-send", [rtp_send, "--version"], r"(\S+)"),
        ("Swift", ["swift", "--version"], r"Swift version (\S+)"),
        ("FFmpeg", ["ffmpeg", "-version"], r"ffmpeg version n?([0-9.]+)"),
        ("GStreamer", ["gst-launch-1.0", "--version"], r"version (\S+)"))
    versions = [(name, _asked(command, pattern)) for name, command, pattern in questions]
    commit = _asked(["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty"], r"(\S+)")
    return [
        "date      " + time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(began)),
        f"commit    {commit or 'unknown'}",
        "versions  " + ", ".join(f"{name} {version}" for name, version in versions if version),
        f"machine   {os.cpu_count()} processors ({_model()}), Linux {platform.release()}",
        "command   " + shlex.join([f"tools/{Path(sys.argv[0]).name}", *sys.argv[1:]])]


def _asked(command: list[str], pattern: str) -> str:
    """What a program says that fits a pattern; empty if it is not there, or says something else."""
    try:
        said = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, errors="replace", timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(pattern, said)
    return found[1] if found else ""


def _model() -> str:
    with open("/proc/cpuinfo") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else "unknown processor"
