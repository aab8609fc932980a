"""Attacks the live page at a port of this machine; prints a line for each attack, `ok` or not."""
import base64
import os
import resource
import socket
import struct
import sys
import time

PORT = int(sys.argv[1])
HOST = f"127.0.0.1:{PORT}"
PATIENCE = 30


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=PATIENCE)


def everything(connection):
    """What comes until the far end closes the connection."""
    data = b""
    try:
        while piece := connection.recv(1 << 16):
            data += piece
    except (ConnectionResetError, BrokenPipeError):
        pass
    return data


def ask(request):
    with connect() as connection:
        try:
            connection.sendall(request)
        except (ConnectionResetError, BrokenPipeError):
            pass
        return everything(connection)


def get(path="/", host=HOST, method="GET", *others):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *others, "", ""]
    return ask("\r\n".join(lines).encode())


def status(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else None


def tell(name, is_right, detail=""):
    print("ok" if is_right else "wrong", name, detail, flush=True)


def open_socket(*others, path="/live"):
    """A WebSocket, or the answer that there is none."""
    connection = connect()
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [f"GET {path} HTTP/1.1", f"Host: {HOST}", "Upgrade: websocket", "Connection: Upgrade",
             "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", *others, "", ""]
    connection.sendall("\r\n".join(lines).encode())
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(1)
        if not piece:
            break
        head += piece
    return connection, status(head)


def frame(opcode, payload, fin=True, masked=True, length=None, reserved=0):
    length = len(payload) if length is None else length
    head = bytes([(0x80 if fin else 0) | reserved << 4 | opcode])
    mask_bit = 0x80 if masked else 0
    if length < 126:
        head += bytes([mask_bit | length])
    elif length < 1 << 16:
        head += bytes([mask_bit | 126]) + struct.pack("!H", length)
    else:
        head += bytes([mask_bit | 127]) + struct.pack("!Q", length)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[i & 3] for i, byte in enumerate(payload))


def is_closed_by(data):
    """Whether the server closes a WebSocket on which `data` is sent."""
    connection, code = open_socket()
    with connection:
        if code != 101:
            return False
        try:
            connection.sendall(data)
            everything(connection)
            return True
        except (ConnectionResetError, BrokenPipeError):
            return True
        except TimeoutError:
            return False


# The page itself.
page = get()
tell("the page", status(page) == 200 and b"default-src 'none'" in page and b"nosniff" in page)

# Names, sites and methods.
tell("another host", status(get(host="evil.example")) == 421)
tell("no host", status(ask(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")) in (400, 421))
tell("another site", status(get("/", HOST, "GET", "Origin: http://evil.example")) == 403)
for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"):
    tell(method, status(get("/", HOST, method)) in (400, 405))
_, code = open_socket("Origin: http://evil.example")
tell("a WebSocket of another site", code == 403, code)
_, code = open_socket(path="/")
tell("a WebSocket elsewhere", code != 101, code)

# Paths.
for path in ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/%00", "/cameras/../x",
             "/cameras/%2e%2e/snapshot.jpg", "/cameras/nobody/snapshot.jpg",
             "/cameras/" + "a" * 4000 + "/snapshot.jpg", "/.git/config", "/page.css/"):
    answer = get(path)
    tell(f"path {path[:40]}", status(answer) in (400, 404) and b"root:" not in answer)
tell("a number that is none", status(get("/cameras/camera/snapshot.jpg?max-age=x")) == 400)

# Requests that are none.
tell("garbage", status(ask(os.urandom(4096) + b"\r\n\r\n")) in (None, 400))
tell("a head without an end", status(ask(b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * (1 << 20))) in
     (None, 400, 431))
tell("a large body", len(ask(
    f"GET / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 10000000\r\n\r\n".encode()
    + b"a" * 10_000_000)) < 1 << 20)
many = f"GET /page.css HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
tell("a thousand requests at once", ask(many * 1000 + many.replace(
    b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")).count(b"HTTP/1.1 ") <= 1001)

# Frames.
tell("a frame without a mask", is_closed_by(frame(1, b"mute", masked=False)))
tell("a reserved bit", is_closed_by(frame(1, b"mute", reserved=4)))
tell("a frame that is too long", is_closed_by(frame(1, b"", length=1 << 40)))
tell("words that are too long", is_closed_by(frame(1, b"watch " + b"a" * 900)))
tell("bytes instead of words", is_closed_by(frame(2, b"watch camera")))
tell("a frame in pieces", is_closed_by(frame(1, b"wat", fin=False) + frame(0, b"ch camera")))
tell("an opcode that is none", is_closed_by(frame(11, b"")))
tell("a ping that is too long", is_closed_by(frame(9, b"a" * 126)))
tell("no command", is_closed_by(frame(1, b"DROP TABLE cameras")))
tell("bytes that are no text", is_closed_by(frame(1, b"\xff\xfe\x00watch camera")))
tell("what is no frame", is_closed_by(b"GET / HTTP/1.1\r\n\r\n" * 100))

# One that reads nothing, and asks again and again.
slow, code = open_socket()
for _ in range(2000):
    slow.sendall(frame(1, b"watch camera"))
tell("one that does not read", code == 101)

# A thousand sockets that say nothing.
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
crowd = []
for number in range(1000):
    try:
        crowd.append(connect())
    except OSError:
        break
tell("a thousand sockets", len(crowd) == 1000, len(crowd))
tell("the page beside them", status(get()) == 200)
for connection in crowd:
    connection.close()
deadline = time.monotonic() + PATIENCE
while True:
    try:
        if status(get()) == 200:
            break
    except OSError:
        pass
    if time.monotonic() > deadline:
        break
    time.sleep(0.05)
tell("the page afterwards", time.monotonic() < deadline)
slow.close()
