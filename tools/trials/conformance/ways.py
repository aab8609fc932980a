"""The ways of a bitstream: from each packetizer by each transport."""

import json
import os
import re
import socket
import struct
import subprocess

from .senders import (
    GSTREAMER_SERVER, NGINX, Failed, Program, ffmpeg, free_port, gstreamer, rtp_send,
    server_program, wait_for_listener)

# Seconds. A run is given up after the first; the second ends one whose sender says no goodbye.
LONGEST_RUN, SILENCE = 120, 6
# Packets a second, for senders over UDP that could be faster than the receiver.
RATE = 4000
KEY = "AES_CM_128_HMAC_SHA1_80 " + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNk"
# No router forwards what is sent to it.
GROUP = "239.255.42.30"


class Run:
    """One stream from one packetizer by one transport, in a folder of its own."""

    def __init__(self, stream, programs, folder):
        self.stream, self.programs, self.folder = stream, programs, folder
        self.fault = None
        # The name tells rtp-send what the file is.
        self.source = f"{folder}/stream.{stream.codec}"
        os.symlink(os.path.abspath(stream.path), self.source)
        self.key = f"{folder}/key"
        with open(os.open(self.key, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(KEY + "\n")

    def certify(self):
        """Makes a certificate of this machine, which is its own authority."""
        path = f"{self.folder}/certificate"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{path}.key",
             "-out", path, "-days", "2", "-subj", "/CN=conformance", "-addext",
             "subjectAltName=IP:127.0.0.1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return path

    def receiver(self, source, *options, is_live=True, pipe=subprocess.DEVNULL):
        pictures, statistics = f"{self.folder}/pictures.jsonl", f"{self.folder}/statistics.jsonl"
        for path in (pictures, statistics):
            if os.path.exists(path):
                os.remove(path)
        return Program([
            f"{self.programs}/rtp-recv", source, "-o", pictures, "--frame-md5", "--stats", statistics,
            *(["--timeout", str(SILENCE)] if is_live else []), *options], pipe)

    def end(self, receiver):
        receiver.finish(LONGEST_RUN)
        words = receiver.said.decode(errors="replace").strip().splitlines()
        if receiver.process.returncode == 4:
            raise Failed(words[-1] if words else "no media")
        # A silence ends a run whose sender says no goodbye.
        if receiver.process.returncode != 0:
            self.fault = f"status {receiver.process.returncode}: {words[0] if words else ''}"

    def from_server(self, command, pattern, source, *options):
        with Program(command) as server:
            address = server.wait_for(pattern)
            with self.receiver(source.format(address), *options) as receiver:
                self.end(receiver)

    def to_listener(self, command, *options, address="127.0.0.1"):
        """A sender that is told the port, and ends by itself."""
        with self.receiver(f"rtp://{address}:0", *options) as receiver:
            port = receiver.wait_for(rf"listening on {re.escape(address)}:(\d+)".encode())
            with Program(command(port)) as sender:
                self.end(receiver)
                if sender.process.poll() not in (0, None):
                    raise Failed(f"{sender.command[0]} failed")

    def to_client(self, packets):
        """A server of TCP that sends these bytes to whoever connects."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(20)
            with self.receiver(f"tcp://127.0.0.1:{server.getsockname()[1]}") as receiver:
                client, _ = server.accept()
                with client:
                    client.settimeout(LONGEST_RUN)
                    # The receiver may have ended, which is no reason to die.
                    client.sendall(packets, socket.MSG_NOSIGNAL)
                self.end(receiver)

    def record(self):
        """What rtp-send serves by HTTP, in a file: each packet after its length in four bytes."""
        path = f"{self.folder}/recorded.rtp4"
        with Program(rtp_send(self, "http://127.0.0.1:0", "--fast")) as server:
            url = f"http://{server.wait_for(SERVED)}/stream"
            subprocess.run(["curl", "-sS", "-o", path, url], check=True, timeout=LONGEST_RUN)
        return path

    def pictures(self):
        try:
            with open(f"{self.folder}/pictures.jsonl", encoding="utf-8") as file:
                return [md5 for line in file if (md5 := json.loads(line)["md5"])]
        except FileNotFoundError:
            return []

    def statistics(self):
        try:
            with open(f"{self.folder}/statistics.jsonl", encoding="utf-8") as file:
                return json.loads(file.read().splitlines()[-1])
        except (FileNotFoundError, IndexError):
            return {}


LISTENING = rb"listening on (127\.0\.0\.1:\d+)"
SERVED = rb"listening on (?:rtsp|http)?:?/*(127\.0\.0\.1:\d+)"


def by_hello(run, *options):
    run.from_server(
        rtp_send(run, "listen://127.0.0.1:0", "--once", "--rate", str(RATE), *options), LISTENING,
        "udp://{}")


def by_rtsp(kind, *options):
    def way(run):
        run.from_server(
            rtp_send(run, "rtsp://127.0.0.1:0/stream", "--speed", "4", *options), SERVED,
            "rtsp://{}/stream", "--rtsp-transport", kind)
    return way


def by_rtsps(kind, *options):
    def way(run):
        certificate = run.certify()
        run.from_server(
            rtp_send(run, "rtsps://127.0.0.1:0/stream", "--speed", "4", "--certificate", certificate,
                     "--key", f"{certificate}.key", *options),
            LISTENING, "rtsps://{}/stream", "--rtsp-transport", kind, "--tls-ca", certificate)
    return way


def by_rtsps_with_srtp(run):
    by_rtsps("udp", "--srtp-key-file", run.key)(run)


def by_gstreamer_rtsp(kind):
    def way(run):
        run.from_server(
            ["/usr/bin/python3", "-c", GSTREAMER_SERVER, run.source, run.stream.codec],
            rb"ready (\d+)", "rtsp://127.0.0.1:{}/stream", "--rtsp-transport", kind)
    return way


def by_srtp(run):
    run.from_server(
        rtp_send(run, "listen://127.0.0.1:0", "--once", "--rate", str(RATE), "--srtp-key-file", run.key),
        LISTENING, "udp://{}", "--srtp-key-file", run.key)


def ffmpeg_by_srtp(run):
    suite, key = KEY.split()
    run.to_listener(
        lambda port: ffmpeg(run, f"srtp://127.0.0.1:{port}?pkt_size=1400", "-srtp_out_suite", suite,
                            "-srtp_out_params", key),
        "--srtp-key-file", run.key)


def gstreamer_by_srtp(run):
    raw = "303132333435363738396162636465663031323334353637383961626364"
    run.to_listener(
        lambda port: gstreamer(
            run, f"srtpenc key={raw} rtp-cipher=aes-128-icm rtp-auth=hmac-sha1-80 "
            f"! udpsink host=127.0.0.1 port={port}"),
        "--srtp-key-file", run.key)


def captured(way):
    """What came by `way`, captured and played again."""
    def again(run):
        way(run, "--capture", f"{run.folder}/capture.pcapng")
        with run.receiver(f"{run.folder}/capture.pcapng", is_live=False) as receiver:
            run.end(receiver)
    return again


def by_http(run):
    run.from_server(
        rtp_send(run, "http://127.0.0.1:0", "--fast"), SERVED, "http://{}/stream")


def by_https(run):
    port = free_port()
    certificate = run.certify()
    with Program(rtp_send(run, "http://127.0.0.1:0", "--fast")) as server:
        with open(f"{run.folder}/nginx", "w", encoding="utf-8") as file:
            file.write(NGINX.format(
                folder=run.folder, port=port, address=server.wait_for(SERVED)))
        with Program([server_program("nginx"), "-p", run.folder, "-c", file.name, "-e", "stderr"]):
            wait_for_listener(port)
            with run.receiver(
                    f"https://127.0.0.1:{port}/stream", "--tls-ca", certificate) as receiver:
                run.end(receiver)


def by_stdin(run):
    with Program(rtp_send(run, "http://127.0.0.1:0", "--fast")) as server:
        url = f"http://{server.wait_for(SERVED)}/stream"
        with Program(["curl", "-sN", url]) as client:
            with run.receiver("-", is_live=False, pipe=client.process.stdout) as receiver:
                run.end(receiver)


def by_tcp(run):
    """As RFC 4571 frames packets: each after its length in two bytes."""
    with open(run.record(), "rb") as file:
        packets = bytearray()
        while length := file.read(4):
            packet = file.read(int.from_bytes(length, "big"))
            packets += struct.pack(">H", len(packet)) + packet
    run.to_client(packets)


def gstreamer_by_tcp(run):
    path = f"{run.folder}/packets"
    with Program(gstreamer(run, f"rtpstreampay ! filesink location={path}")) as sender:
        sender.finish(LONGEST_RUN)
        if sender.process.returncode:
            raise Failed(f"GStreamer: {sender.said.decode(errors='replace')[-300:]}")
    with open(path, "rb") as file:
        run.to_client(file.read())


def by_nats(run):
    """Published, and received as what was kept of it: the server may take its time."""
    recording = run.record()
    port = free_port()
    camera = f"nats://127.0.0.1:{port}/stream"
    with Program([
            server_program("nats-server"), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd",
            f"{run.folder}/nats"]) as server:
        server.wait_for(rb"Server is (ready)")
        for source, *options in ([recording, "-o", camera], [f"{camera}?since=10m"]):
            with run.receiver(source, *options, is_live=False) as receiver:
                run.end(receiver)


def ffmpeg_by_multicast(run):
    run.to_listener(
        lambda port: ffmpeg(run, f"rtp://{GROUP}:{port}?pkt_size=1400&localaddr=127.0.0.1"),
        "--interface", "lo", address=GROUP)


def gstreamer_by_multicast(run):
    run.to_listener(
        lambda port: gstreamer(run, f"udpsink host={GROUP} port={port} multicast-iface=lo"),
        "--interface", "lo", address=GROUP)


def ffmpeg_by_udp(run, *options):
    run.to_listener(lambda port: ffmpeg(run, f"rtp://127.0.0.1:{port}?pkt_size=1400"), *options)


def gstreamer_by_udp(run, *options):
    run.to_listener(
        lambda port: gstreamer(run, f"udpsink host=127.0.0.1 port={port}"), *options)


def rtp_send_by_udp(run, *options):
    run.to_listener(
        lambda port: rtp_send(run, f"udp://127.0.0.1:{port}", "--rate", str(RATE)), *options)


WAYS = [
    ("rtp-send", "udp-hello", by_hello, None),
    ("rtp-send", "udp", rtp_send_by_udp, None),
    ("rtp-send", "rtsp-tcp", by_rtsp("tcp"), None),
    ("rtp-send", "rtsp-udp", by_rtsp("udp"), None),
    ("rtp-send", "rtsp-http", by_rtsp("http"), None),
    ("rtp-send", "rtsps", by_rtsps("tcp"), None),
    ("rtp-send", "rtsps-srtp", by_rtsps_with_srtp, None),
    ("rtp-send", "http", by_http, None),
    ("rtp-send", "https", by_https, None),
    ("rtp-send", "stdin", by_stdin, None),
    ("rtp-send", "tcp", by_tcp, None),
    ("rtp-send", "nats", by_nats, None),
    ("rtp-send", "srtp", by_srtp, None),
    ("rtp-send", "capture", captured(rtp_send_by_udp), None),
    ("rtp-send single", "rtsp-tcp", by_rtsp("tcp", "--packetization", "single", "--packet-size", "65000"),
     "h264"),
    ("rtp-send interleaved", "rtsp-tcp", by_rtsp("tcp", "--packetization", "interleaved"), None),
    ("rtp-send mtap16", "rtsp-tcp", by_rtsp("tcp", "--packetization", "mtap16"), "h264"),
    ("rtp-send mtap24", "rtsp-tcp", by_rtsp("tcp", "--packetization", "mtap24"), "h264"),
    ("rtp-send paci", "rtsp-tcp", by_rtsp("tcp", "--packetization", "paci"), "h265"),
    ("ffmpeg", "udp", ffmpeg_by_udp, None),
    ("ffmpeg", "multicast", ffmpeg_by_multicast, None),
    ("ffmpeg", "srtp", ffmpeg_by_srtp, None),
    ("ffmpeg", "capture", captured(ffmpeg_by_udp), None),
    ("gstreamer", "udp", gstreamer_by_udp, None),
    ("gstreamer", "multicast", gstreamer_by_multicast, None),
    ("gstreamer", "tcp", gstreamer_by_tcp, None),
    ("gstreamer", "rtsp-tcp", by_gstreamer_rtsp("tcp"), None),
    ("gstreamer", "rtsp-udp", by_gstreamer_rtsp("udp"), None),
    ("gstreamer", "srtp", gstreamer_by_srtp, None),
    ("gstreamer", "capture", captured(gstreamer_by_udp), None),
]
