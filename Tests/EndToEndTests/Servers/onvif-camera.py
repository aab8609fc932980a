#!/usr/bin/env python3
"""The services of an ONVIF camera whose stream is served elsewhere, with the quirks of real ones.

Prints `ready PORT` once it answers. Without a network interface it listens, but cannot be found.
"""

import argparse
import base64
import datetime
import gzip
import hashlib
import http.server
import re
import secrets
import socket
import socketserver
import ssl
import threading
import time
from xml.sax.saxutils import escape, unescape

MEDIA = "http://www.onvif.org/ver10/media/wsdl"
MEDIA2 = "http://www.onvif.org/ver20/media/wsdl"
REALM = "camera"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stream", help="the address that GetStreamUri gives")
    parser.add_argument("--address", default="127.0.0.1", help="of the services")
    parser.add_argument("--login", choices=["none", "token", "digest"], default="none")
    parser.add_argument("--user", default="viewer")
    parser.add_argument("--password", default="")
    parser.add_argument("--ahead", type=int, default=0, help="seconds that its clock is ahead")
    parser.add_argument("--media2", action="store_true", help="has Media 2, with H.265")
    parser.add_argument("--compressed", action="store_true", help="compresses unasked, in chunks")
    parser.add_argument("--certificate", help="the services are in HTTPS, with this PEM file")
    parser.add_argument("--key", help="of the certificate")
    parser.add_argument("--discoverable", action="store_true", help="answers WS-Discovery")
    parser.add_argument(
        "--hostile",
        choices=["bomb", "endless", "redirects", "storm"],
        help="entities, an answer without end, redirects without end, a storm of answers",
    )
    return parser.parse_args()


def envelope(body, header=""):
    # Prefixes as gSOAP has them, a byte order mark, and white space, as templates have it.
    return (
        '\ufeff<?xml version="1.0" encoding="UTF-8"?>\n<SOAP-ENV:Envelope'
        ' xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope"'
        ' xmlns:tt="http://www.onvif.org/ver10/schema" xmlns:trt="%s" xmlns:tr2="%s"'
        ' xmlns:tds="http://www.onvif.org/ver10/device/wsdl"'
        ' xmlns:wsa="http://schemas.xmlsoap.org/ws/2004/08/addressing"'
        ' xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery">\n'
        "<SOAP-ENV:Header>%s</SOAP-ENV:Header>\n<SOAP-ENV:Body>\n%s\n</SOAP-ENV:Body>\n"
        "</SOAP-ENV:Envelope>\n" % (MEDIA, MEDIA2, header, body)
    )


def fault(code, reason):
    return envelope(
        "<SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Sender</SOAP-ENV:Value>"
        "<SOAP-ENV:Subcode><SOAP-ENV:Value>ter:%s</SOAP-ENV:Value></SOAP-ENV:Subcode>"
        '</SOAP-ENV:Code><SOAP-ENV:Reason><SOAP-ENV:Text xml:lang="en">%s</SOAP-ENV:Text>'
        "</SOAP-ENV:Reason></SOAP-ENV:Fault>" % (code, reason)
    )


def content(text, tag):
    found = re.search(r"<(?:\w+:)?%s\b[^>]*>([^<]*)<" % tag, text)
    return unescape(found.group(1)) if found else ""


class Camera:
    def __init__(self, options):
        self.options = options
        self.used = set()

    def now(self):
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(
            seconds=self.options.ahead
        )

    def has_token(self, body):
        """Whether there is a fresh token with the right digest (UsernameToken Profile 1.0)."""
        nonce, created = content(body, "Nonce"), content(body, "Created")
        if content(body, "Username") != self.options.user or not nonce or nonce in self.used:
            return False
        self.used.add(nonce)
        age = self.now() - datetime.datetime.strptime(created + "+0000", "%Y-%m-%dT%H:%M:%SZ%z")
        if abs(age.total_seconds()) > 5:
            return False
        digest = hashlib.sha1(
            base64.b64decode(nonce) + created.encode() + self.options.password.encode()
        ).digest()
        return base64.b64encode(digest).decode() == content(body, "Password")

    def has_digest(self, header, method, nonces):
        """Whether there is a right digest of RFC 7616 with one of the nonces."""
        parts = dict(re.findall(r'(\w+)="?([^",]+)"?', header))
        if parts.get("nonce") not in nonces or parts.get("username") != self.options.user:
            return False

        def md5(*words):
            return hashlib.md5(":".join(words).encode()).hexdigest()

        first = md5(self.options.user, REALM, self.options.password)
        wanted = md5(
            first, parts["nonce"], parts["nc"], parts["cnonce"], "auth", md5(method, parts["uri"])
        )
        return wanted == parts.get("response")

    def answer(self, body, port):
        """The answer to a request without a login, as (status, text)."""
        options = self.options
        # Not the address by which it is reached, as behind a translation.
        base = "http://192.0.2.77:%d" % port
        name = re.search(r"<(?:\w+:)?Body>\s*<(?:\w+:)?(\w+)", body).group(1)
        if name == "GetSystemDateAndTime":
            now = self.now()
            text = (
                "<tt:UTCDateTime><tt:Time><tt:Hour>%d</tt:Hour><tt:Minute>%d</tt:Minute>"
                "<tt:Second>%d</tt:Second></tt:Time><tt:Date><tt:Year>%d</tt:Year>"
                "<tt:Month>%d</tt:Month><tt:Day>%d</tt:Day></tt:Date></tt:UTCDateTime>"
                % (now.hour, now.minute, now.second, now.year, now.month, now.day)
            )
            text = "<tds:SystemDateAndTime>%s</tds:SystemDateAndTime>" % text
        elif name == "GetServices":
            if not options.media2:
                return 500, fault("ActionNotSupported", "no such action")
            text = "".join(
                "<tds:Service><tds:Namespace>%s</tds:Namespace><tds:XAddr>%s%s</tds:XAddr>"
                "</tds:Service>" % (namespace, base, path)
                for namespace, path in [(MEDIA, "/onvif/media"), (MEDIA2, "/onvif/media2")]
            )
        elif name == "GetCapabilities":
            text = (
                "<tds:Capabilities><tt:Media><tt:XAddr>%s/onvif/media</tt:XAddr></tt:Media>"
                "</tds:Capabilities>" % base
            )
        elif name == "GetProfiles":
            text = self.profiles()
        elif name == "GetStreamUri":
            uri = escape(options.stream)
            if content(body, "ProfileToken") not in ("main", "sub"):
                return 500, fault("NoProfile", "no such profile")
            text = (
                "<tr2:Uri>%s</tr2:Uri>" % uri
                if options.media2
                else "<trt:MediaUri><tt:Uri>\n%s\n</tt:Uri></trt:MediaUri>" % uri
            )
        elif name == "GetSnapshotUri":
            text = "<trt:MediaUri><tt:Uri>%s/shot.jpg</tt:Uri></trt:MediaUri>" % base
        else:
            return 500, fault("ActionNotSupported", "no such action")
        return 200, envelope("<trt:%sResponse>%s</trt:%sResponse>" % (name, text, name))

    def profiles(self):
        encoder = (
            "<tt:Encoding>%s</tt:Encoding><tt:Resolution><tt:Width>%d</tt:Width>"
            "<tt:Height>%d</tt:Height></tt:Resolution><tt:RateControl><tt:FrameRateLimit>25"
            "</tt:FrameRateLimit><tt:BitrateLimit>4096</tt:BitrateLimit></tt:RateControl>"
        )
        profiles = [("jpeg", "JPEG", 640, 360), ("main", "H264", 1920, 1080)]
        if self.options.media2:
            profiles[1] = ("main", "H265", 3840, 2160)
            return "".join(
                '<tr2:Profiles token="%s"><tr2:Name>%s stream</tr2:Name><tr2:Configurations>'
                "<tr2:VideoEncoder>%s</tr2:VideoEncoder></tr2:Configurations></tr2:Profiles>"
                % (token, token, encoder % tuple(figures))
                for token, *figures in profiles
            )
        return "".join(
            '<trt:Profiles token="%s" fixed="true"><tt:Name>%s stream</tt:Name>'
            "<tt:VideoEncoderConfiguration>%s</tt:VideoEncoderConfiguration></trt:Profiles>"
            % (token, token, encoder % tuple(figures))
            for token, *figures in profiles
        )


class Services(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    camera = None
    nonces = set()

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        options = self.camera.options
        port = self.server.server_address[1]
        if options.hostile in ("bomb", "endless", "redirects"):
            return self.harm(options.hostile, port)
        is_free = "GetSystemDateAndTime" in body
        if options.login == "digest" and not is_free:
            header = self.headers.get("Authorization", "")
            if not self.camera.has_digest(header, "POST", self.nonces):
                nonce = secrets.token_hex(8)
                self.nonces.add(nonce)
                challenge = 'Digest realm="%s", nonce="%s", qop="auth"' % (REALM, nonce)
                return self.send(401, "<!DOCTYPE html><html>no</html>", challenge)
        if options.login == "token" and not is_free and not self.camera.has_token(body):
            return self.send(400, fault("NotAuthorized", "Sender not authorized"))
        self.send(*self.camera.answer(body, port))

    def send(self, status, text, challenge=None):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/soap+xml; charset=utf-8")
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        if self.camera.options.compressed:
            data = gzip.compress(data)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Transfer-Encoding", "chunked")
            half = len(data) // 2
            parts = [data[:half], data[half:], b""]
            data = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        else:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def harm(self, how, port):
        if how == "bomb":
            levels = ['<!ENTITY e0 "laugh">'] + [
                '<!ENTITY e%d "%s">' % (level, ("&e%d;" % (level - 1)) * 10) for level in range(1, 10)
            ]
            return self.send(200, "<!DOCTYPE l [%s]><l>&e9;</l>" % "".join(levels))
        if how == "redirects":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:%d/%s" % (port, secrets.token_hex(4)))
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(200)
        self.send_header("Content-Type", "application/soap+xml")
        self.send_header("Content-Length", str(1 << 40))
        self.end_headers()
        block = b"<a>" + b" " * 65536
        try:
            while True:
                self.wfile.write(block)
        except OSError:
            self.close_connection = True


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def answer_probes(address, port, storm):
    """Answers WS-Discovery on the interface with this address."""
    group = socket.inet_aton("239.255.255.250")
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("239.255.255.250", 3702))
    listener.setsockopt(
        socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + socket.inet_aton(address)
    )

    def match(identity, related):
        scopes = " ".join(
            "onvif://www.onvif.org/" + scope
            for scope in ["type/video_encoder", "name/Front%20door", "hardware/M-1", "location/hall"]
        )
        return envelope(
            "<d:ProbeMatches><d:ProbeMatch><wsa:EndpointReference><wsa:Address>%s</wsa:Address>"
            "</wsa:EndpointReference><d:Types>dn:NetworkVideoTransmitter</d:Types>"
            "<d:Scopes>%s</d:Scopes><d:XAddrs>http://169.254.7.7/onvif/device_service "
            "http://%s:%d/onvif/device_service</d:XAddrs></d:ProbeMatch></d:ProbeMatches>"
            % (identity, scopes, address, port),
            "<wsa:RelatesTo>%s</wsa:RelatesTo>" % related,
        ).encode()

    def serve():
        identity = "urn:uuid:00000000-0000-4000-8000-%012x" % port
        while True:
            data, sender = listener.recvfrom(65536)
            related = content(data.decode(errors="replace"), "MessageID")
            if "NetworkVideoTransmitter" not in data.decode(errors="replace"):
                continue
            if storm:
                for number in range(5000):
                    listener.sendto(match("urn:uuid:%d" % number, related), sender)
                listener.sendto(secrets.token_bytes(60000), sender)
            listener.sendto(match(identity, related), sender)

    threading.Thread(target=serve, daemon=True).start()


def main():
    options = arguments()
    Services.camera = Camera(options)
    server = Server((options.address, 0), Services)
    port = server.server_address[1]
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate, options.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    if options.discoverable:
        answer_probes(options.address, port, options.hostile == "storm")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready %d" % port, flush=True)
    while True:
        time.sleep(3600)


main()
