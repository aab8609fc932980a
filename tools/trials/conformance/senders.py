"""The programs that send a bitstream, and those between them and the receiver."""

import os
import re
import select
import shutil
import socket
import subprocess
import time

# Debian has some servers where only root looks for programs.
SERVERS = os.environ.get("PATH", "") + ":/usr/sbin"


class Failed(Exception):
    """A run that could not be made; the text says why."""


class Program:
    """A program whose lines on standard error and output are looked for words."""

    def __init__(self, command, source=subprocess.DEVNULL):
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def wait_for(self, pattern, seconds=20):
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.said)):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failed(f"{self.command[0]} does not say {pattern!r}")
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                raise Failed(f"{self.command[0]}: {self.said.decode(errors='replace')[-300:]}")
            self.said += part
        return found.group(1).decode()

    def finish(self, seconds):
        try:
            rest, _ = self.process.communicate(timeout=seconds)
            self.said += rest
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.command[0]} does not end") from None


def rtp_send(run, destination, *options):
    return [
        f"{run.programs}/rtp-send", run.source, destination, "--fps", "30", *options]


def ffmpeg(run, destination, *options):
    kind = "hevc" if run.stream.codec == "h265" else "h264"
    return [
        "ffmpeg", "-nostdin", "-v", "error", "-re", "-r", "100", "-f", kind, "-i", run.source,
        "-c", "copy", "-copyinkf", "-f", "rtp", *options, destination]


def gstreamer(run, sink):
    codec = run.stream.codec
    words = (
        f"filesrc location={run.source} ! {codec}parse ! rtp{codec}pay pt=96 mtu=1400 "
        f"config-interval=-1 ! {sink}")
    return ["gst-launch-1.0", "-q", *words.split()]


GSTREAMER_SERVER = """
import sys, gi
gi.require_version("Gst", "1.0"); gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer
Gst.init(None)
factory = GstRtspServer.RTSPMediaFactory()
path, codec = sys.argv[1:]
factory.set_launch(f"( filesrc location={path} ! {codec}parse ! rtp{codec}pay name=pay0 pt=96 config-interval=-1 )")
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1"); server.set_service("0")
server.get_mount_points().add_factory("/stream", factory)
server.attach(None)
print("ready", server.get_bound_port(), flush=True)
GLib.MainLoop().run()
"""

# What encrypts; it passes on what rtp-send serves by HTTP.
NGINX = """
daemon off;
master_process off;
pid {folder}/pid;
error_log stderr notice;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/client_body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/certificate;
    ssl_certificate_key {folder}/certificate.key;
    location / {{
      proxy_pass http://{address};
      proxy_http_version 1.1;
      proxy_buffering off;
    }}
  }}
}}
"""


def server_program(name):
    program = shutil.which(name, path=SERVERS)
    if program is None:
        raise Failed(f"there is no {name}; tools/setup test installs it")
    return program


def free_port():
    """Who else takes it meanwhile costs an attempt."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def wait_for_listener(port, seconds=20):
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise Failed(f"nobody listens on port {port}") from None
            time.sleep(0.02)
