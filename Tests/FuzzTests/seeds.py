#!/usr/bin/env python3
"""Writes the seeds of tools/fuzz into Corpus: what has broken other receivers, a file for each.

Their names begin with the known fault, as SECURITY advisories and changelogs tell it. Vectors of
other receivers and recorded sessions come from ../shared, where that is there. Finds of the fuzzer
are in the same folders, under names of their own, and stay.
"""

import base64
import gzip
import json
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "Corpus")
SHARED = os.path.join(HERE, "..", "..", "..", "shared")
VECTORS = os.path.join(HERE, "..", "DefragmentTests", "Vectors")


def seed(target, name, data):
    folder = os.path.join(CORPUS, target)
    os.makedirs(folder, exist_ok=True)
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    with open(os.path.join(folder, name), "wb") as file:
        file.write(bytes(data))


def piece(data):
    """As Choices.piece reads it."""
    if len(data) < 255:
        return bytes([len(data)]) + data
    return b"\xff" + struct.pack(">H", len(data)) + data


def rtp(payload=b"", number=1, time=0, ssrc=7, type=96, marker=0, first=0x80, more=b""):
    head = struct.pack(">BBHII", first, type | marker << 7, number, time, ssrc)
    return head + more + payload


def rtcp(type, body, count=0, words=None, first=0x80):
    words = len(body) // 4 if words is None else words
    return struct.pack(">BBH", first | count, type, words) + body


WHOLE = b"\x00"  # reads(): no cuts
BYTEWISE = b"\x01\x01"  # reads(): of one byte each


# --- RTP and RTCP -----------------------------------------------------------------------------

def packets():
    for length in range(12):
        for name, byte in (("zeros", 0), ("ones", 255), ("version", 0x80)):
            seed("rtp-packet", f"short-{length}-{name}", bytes([byte]) * length)
    for sources in (1, 15):
        for length in (12, 16, 71, 72, 80):
            seed("rtp-packet", f"sources-{sources}-in-{length}",
                 (bytes([0x80 | sources]) + bytes(200))[:length])
    for words in (0, 1, 0x3FFF, 0x4000, 0xFFFF):
        for length in (12, 13, 15, 16, 20, 100):
            data = rtp(first=0x90, more=struct.pack(">HH", 0xBEDE, words)) + bytes(100)
            seed("rtp-packet", f"extension-of-{words}-in-{length}", data[:length])
    for name, body in (("id-15-first", b"\xf2123\x10a\0\0"), ("id-15-last", b"\x10a\xf2123\0\0"),
                       ("id-0-with-length", b"\x03abc\x10a\0\0"), ("two-bytes", b"\x01\x02ab\x03\0"),
                       ("two-bytes-too-long", b"\x01\xffab\x03\0")):
        for profile in (0xBEDE, 0x1000):
            words = (len(body) + 3) // 4
            body4 = body.ljust(4 * words, b"\0")
            seed("rtp-packet", f"extension-{name}-{profile:x}",
                 rtp(b"media", first=0x90, more=struct.pack(">HH", profile, words) + body4))
    for count in (0, 1, 4, 5, 6, 255):
        seed("rtp-packet", f"padding-{count}-of-5", rtp(b"abcd" + bytes([count]), first=0xA0))
    seed("rtp-packet", "padding-alone", rtp(b"\0\0\0\4", first=0xA0))
    seed("rtp-packet", "padding-without-payload", rtp(first=0xA0))
    seed("rtp-packet", "red", rtp(b"\xe0\0\0\4\x60oldernew", type=100))
    seed("rtp-packet", "red-too-long", rtp(b"\xe0\0\x03\xff\x60new", type=100))
    seed("rtp-packet", "retransmission", rtp(b"\x12\x34media", type=97))
    seed("rtp-packet", "retransmission-of-one-byte", rtp(b"\x12", type=97))

    for length in range(9):
        seed("rtcp", f"short-{length}", (b"\x81\xc9\0\1\0\0\0\7")[:length])
    for words in (0, 1, 2, 0xFFFF):
        seed("rtcp", f"lying-length-{words}", rtcp(201, b"\0\0\0\7", words=words))
    seed("rtcp", "version-1", b"\x40\xc9\0\1\0\0\0\7")
    for count in (0, 1, 31):
        seed("rtcp", f"goodbye-{count}", rtcp(203, b"\0\0\0\7", count))
        seed("rtcp", f"goodbye-reason-{count}", rtcp(203, b"\0\0\0\7\xffabc", count))
    for length in (0, 1, 254, 255):
        seed("rtcp", f"item-length-{length}", rtcp(202, b"\0\0\0\7\1" + bytes([length]) + b"ab", 1))
    seed("rtcp", "items-without-end", rtcp(202, b"\0\0\0\7" + b"\1\0" * 30, 1))
    seed("rtcp", "chunks-31", rtcp(202, b"\0\0\0\7\1\1a\0", 31))
    for length in (0, 1, 0xFFFF):
        seed("rtcp", f"extended-report-{length}",
             rtcp(207, b"\0\0\0\7" + struct.pack(">BBH", 4, 0, length)))
    five = b"".join(rtcp(200, bytes(24) + bytes(24 * 31), 31) for _ in range(5))
    seed("rtcp", "five-reports-of-31", five)
    seed("rtcp", "report-lying", rtcp(200, bytes(24), 31))
    for type in range(200, 214):
        for format in (0, 1, 4, 15, 31):
            seed("rtcp", f"feedback-{type}-{format}", rtcp(type, b"\0\0\0\1\0\0\0\2" + b"\xaa" * 8, format))
    for time in (0, 0xFFFFFFFFFFFFFFFF):
        seed("rtcp", f"clock-{time:x}", rtcp(200, struct.pack(">IQIII", 7, time, 1, 2, 3)))
    seed("rtcp", "padding", rtcp(201, b"\0\0\0\7\0\0\0\4", first=0xA0))
    seed("rtcp", "padding-too-long", rtcp(201, b"\0\0\0\7\0\0\0\xff", first=0xA0))


# --- Order ------------------------------------------------------------------------------------

def order():
    begin = bytes([2, 0, 0, 0, 0, 1])  # 200 ms, usual limits, any type; from 1000
    go = b"\0" * 8
    for jump in (2, 100, 3000, 20000, 32767, 32768, 65535):
        seed("reorder", f"jump-{jump}", begin + go + b"\x06" + struct.pack(">H", (1000 + jump) & 0xFFFF)
             + go + b"\x09\xff" + go)
    fill = begin + go + b"\4\3" + b"\0" * 20
    seed("reorder", "duplicates-of-what-waits",
         fill + b"".join(b"\5" + bytes([n]) for n in range(1, 20)) + b"\4\xff" * 10)
    seed("reorder", "gap-ends-as-it-closes", fill + b"\x09\xc8" + b"\5\x17" + go)
    seed("reorder", "restart", begin + go + b"\x06\x80\0\x07\x7f\xff\xff\xff" + go * 4)
    for step in (1, 0x7FFFFFFF, 0x80000000):
        seed("reorder", f"time-back-{step:x}",
             begin + (b"\0\x07" + struct.pack(">I", -step & 0xFFFFFFFF)) * 20)
    seed("reorder", "from-65530", bytes([2, 0, 0, 0, 0, 3]) + b"\0" * 30 + b"\5\x30" * 3)
    seed("reorder", "small-limits", bytes([2, 1, 3, 1, 0, 0, 1]) + go + (b"\4\2" + go) * 12)
    seed("reorder", "other-source", begin + go + b"\x08\1" + go * 3 + b"\x09\xff\x08\0" + go)
    seed("reorder", "goodbye", begin + go + b"\x0c\1" + b"\x09\xff" + go + b"\x0c\0" + go)
    seed("reorder", "no-window", bytes([0, 0, 0, 0, 0, 1]) + (go + b"\4\2\5\1") * 4)
    for bit in range(8):
        means = bytes([2, 0, 0, 1, 1 << bit, 1])
        correction = bytes([0x80, 96, 0, 0, 0, 0, 0, 0, 0, 8]) + bytes(20)
        seed("reorder", f"means-{bit}",
             means + go + b"\4\1" + go + b"\x0d" + bytes([bit % 6]) + piece(correction)
             + b"\x0b\2" + piece(rtp(b"\0\1\0\0" + bytes(20))) + b"\x0e\1\x09\xff\x0e\0" + go)
    seed("reorder", "wraps", begin + (b"\x06\xff\xf0" + b"\0" * 16 + b"\x06\0\0" + b"\0" * 16) * 6)


# --- Video and sound --------------------------------------------------------------------------

H264_SETS = ["674d401e9a640501eff35010101400000fa00001388010", "68ee3c80"]
H265_SETS = ["40010c01ffff016000000300b0000003000003005aac0c00000300040000030032a8",
             "420101016000000300b0000003000003005aa0058201e1636b92452fcdc14181410000030001000003000ca1",
             "4401c0f2c68d03b340"]
H264_KEY, H264_SLICE = "6588840021ffd3a1b2c3d4e5f607", "419a246c414ffed68cb1000003112233445566"
H265_KEY, H265_SLICE = "2601af08421ffd3a1b2c3d4e5f607", "0201d0246c414ffed68cb1112233445566"


def stream(kind, payloads):
    """Each payload with flags: 1 is the marker, 2 the next timestamp, 8 a loss before it."""
    data = bytes([kind])
    for item in payloads:
        flags, payload = item if isinstance(item, tuple) else (0, item)
        data += bytes([flags]) + piece(payload)
    return data


def video():
    unhex = bytes.fromhex
    sets = [unhex(s) for s in H264_SETS]
    key, slice = unhex(H264_KEY), unhex(H264_SLICE)
    long = key + bytes(range(1, 250))
    fu = lambda flags, body: bytes([0x7C, flags | 5]) + body
    stap = lambda units: b"\x78" + b"".join(struct.pack(">H", len(u)) + u for u in units)
    rows = {
        "good": [(2, stap(sets)), (0, fu(0x80, b"ab")), (0, fu(0, b"cd")), (1, fu(0x40, b"ef")),
                 (3, slice), (2, slice), (1, unhex("4166891b1053ffb5"))],
        "aggregate-and-a-byte": [(3, stap([key]) + b"\0")],
        "aggregate-and-two-zeros": [(3, stap([key]) + b"\0\0")],
        "fragment-without-content": [(2, fu(0x80, b"ab")), (0, fu(0, b"")), (1, fu(0x40, b""))],
        "fragments-without-end": [(2, fu(0x80, b"ab"))] + [(0, fu(0, bytes(200)))] * 12,
        "fragments-without-start": [(2, fu(0, b"ab")), (1, fu(0x40, b"cd")), (3, slice)],
        "start-lost": [(2, fu(0x80, b"ab")), (10, fu(0, b"cd")), (1, fu(0x40, b"ef")), (3, slice)],
        "both-bits": [(3, fu(0xC0, b"abcd"))],
        "reserved-bit": [(2, fu(0xA0, b"ab")), (1, fu(0x60, b"ef"))],
        "type-changes": [(2, fu(0x80, b"ab")), (1, bytes([0x7C, 0x41]) + b"ef")],
        "tiny-units": [(0, b"\x01")] * 200,
        "start-codes-inside": [(2, key + b"\0\0\1" + slice + b"\0\0\0\1" + slice)],
        "start-codes-alone": [(2, key + b"\0\0\1" * 80)],
        "marker-on-sei": [(3, unhex("060502112280")), (1, key), (2, slice)],
        "behind-the-marker": [(3, key), (0, unhex("65622100087ff4e8")), (3, slice)],
        "header-alone-14": [(0, b"\x6e"), (0, b"\x74"), (0, b"\x75"), (3, key)],
        "mixed-up": [(2, sets[0]), (2, b""), (2, b"\xff\xff"), (3, key), (0x3B, slice), (0xE3, slice)],
        "stap-b": [(3, b"\x79\0\1" + struct.pack(">H", len(key)) + key)],
        "mtap16": [(3, b"\x7a\0\1" + struct.pack(">HBH", len(key), 0, 0) + key)],
        "mtap24": [(3, b"\x7b\0\1" + struct.pack(">HB", len(key), 0) + b"\0\0\0" + key)],
        "fu-b": [(2, bytes([0x7D, 0x85, 0, 1]) + b"ab"), (1, fu(0x40, b"cd"))],
    }
    for inner in (0, 1, len(key) - 1, len(key) + 1, 0xFFFF):
        rows[f"aggregate-size-{inner}"] = [(3, b"\x78" + struct.pack(">H", inner) + key), (3, slice)]
    for length in range(5):
        for type in (24, 25, 26, 27, 28, 29, 30, 31, 0):
            rows[f"type-{type}-of-{length}"] = [(2, (bytes([0x60 | type]) + b"\x85\0\1x")[:length]), (3, key)]
    for name, payloads in rows.items():
        for kind in (0, 6) if "type-" not in name else (4,):
            seed("h264", f"{name}-{kind}", stream(kind, payloads))
    seed("h264", "small-limits", stream(5, rows["fragments-without-end"] + rows["tiny-units"][:20]))
    seed("h264", "empty", stream(0, []))

    sets5 = [unhex(s) for s in H265_SETS]
    key5, slice5 = unhex(H265_KEY[:28]), unhex(H265_SLICE)
    fu5 = lambda flags, body: bytes([0x62, 1, flags | 19]) + body
    ap = lambda units: b"\x60\1" + b"".join(struct.pack(">H", len(u)) + u for u in units)
    rows5 = {
        "good": [(2, ap(sets5)), (0, fu5(0x80, b"ab")), (0, fu5(0, b"cd")), (1, fu5(0x40, b"ef")),
                 (3, slice5)],
        "aggregate-and-a-byte": [(3, ap([key5]) + b"\0")],
        "aggregate-of-one": [(3, ap([key5]))],
        "fragment-without-content": [(2, fu5(0x80, b"ab")), (0, fu5(0, b"")), (1, fu5(0x40, b""))],
        "fragments-without-end": [(2, fu5(0x80, b"ab"))] + [(0, fu5(0, bytes(200)))] * 12,
        "fragments-without-start": [(2, fu5(0, b"ab")), (1, fu5(0x40, b"cd")), (3, slice5)],
        "both-bits": [(3, fu5(0xC0, b"abcd"))],
        "tiny-units": [(0, b"\x02\x01")] * 120,
        "start-codes-inside": [(2, key5 + b"\0\0\1" + slice5)],
        "paci": [(3, b"\x64\1\x26\x38\0\0\0" + key5[2:])],
        "layer-1": [(3, bytes([key5[0] | 1, key5[1]]) + key5[2:]), (3, slice5)],
        "donl": [(2, sets5[1][:2] + b"\0\1" + sets5[1][2:]), (3, key5[:2] + b"\0\2" + key5[2:])],
    }
    for inner in (0, 1, len(key5) + 1, 0xFFFF):
        rows5[f"aggregate-size-{inner}"] = [(3, b"\x60\1" + struct.pack(">H", inner) + key5)]
    for type in range(48, 64):
        for length in (1, 2, 3, 5, 8):
            rows5[f"type-{type}-of-{length}"] = [(2, (bytes([type << 1, 1]) + b"\x93\0\1xyz")[:length]), (3, key5)]
    for name, payloads in rows5.items():
        for kind in (0, 6) if "type-" not in name else (4,):
            seed("h265", f"{name}-{kind}", stream(kind, payloads))
    seed("h265", "small-limits", stream(5, rows5["fragments-without-end"] + rows5["tiny-units"][:20]))

    for codec, name, all_sets, units in ((0, "h264", sets, [key, slice]), (1, "h265", sets5, [key5, slice5])):
        def units_of(list, order=3):
            return bytes([codec]) + b"".join(piece(u) + bytes([order]) for u in list)
        seed("bitstream", f"{name}-all", units_of(all_sets + units))
        for index, unit in enumerate(all_sets):
            for cut in range(0, len(unit), 2):
                seed("bitstream", f"{name}-set-{index}-cut-{cut}", units_of([unit[:cut]] + units))
        seed("bitstream", f"{name}-zeros", units_of([bytes([all_sets[0][0], all_sets[0][1]]) + bytes(60)]))
        seed("bitstream", f"{name}-ones", units_of([all_sets[0][:2] + b"\xff" * 60]))
        seed("bitstream", f"{name}-prevention-at-the-end", units_of([all_sets[0] + b"\0\0\3"] + units))
        for message in (0, 1, 4, 5, 6, 132, 255):
            head = b"\x06" if codec == 0 else b"\x4e\1"
            seed("bitstream", f"{name}-sei-{message}", units_of([head + bytes([message, 200]) + bytes(20)]))
            seed("bitstream", f"{name}-sei-short-{message}", units_of([head + bytes([message, 255, 255])]))
        seed("second-reading", f"{name}", bytes([codec]) + b"".join(
            piece(p) for p in ([fu(0x80, b"ab"), fu(0x40, b"cd"), key, stap([key, slice])] if codec == 0
                               else [fu5(0x80, b"ab"), fu5(0x40, b"cd"), key5, ap([key5, slice5])])))
    # pic_order_cnt_type 1 with an offset of 2^31 - 1, and frame_num 1, 65535 and 0 behind the IDR picture.
    leaps = ["6742000a8d5d0000030000fffffffe4f20", "68ce3880", "65888000493c", "619a00022a", "619bfffe2a", "619a00002a"]
    seed("bitstream", "h264-order-counts-beyond-any",
         b"\0" + b"".join(piece(bytes.fromhex(unit)) + b"\3" for unit in leaps))
    # LCEVC in a message of ITU-T T.35 (4): another size, for whoever applies it.
    lcevc = b"\xb4\0\x50\1" + bytes(range(40, 90))
    for codec, name, head, all_sets, units in ((0, "h264", b"\x06\4", sets, [key, slice]),
                                               (1, "h265", b"\x4e\1\4", sets5, [key5, slice5])):
        message = head + bytes([len(lcevc)]) + lcevc + b"\x80"
        seed(name, "lcevc", stream(0, [(2, all_sets[0])] + [(0, u) for u in all_sets[1:]]
                                   + [(0, message), (1, units[0]), (2, message), (1, units[1])]))
        seed("bitstream", f"{name}-lcevc", bytes([codec]) + b"".join(
            piece(u) + b"\0" for u in all_sets + [message, units[0]]))
    rows = json.load(open(os.path.join(VECTORS, "sequence_parameter_sets.json")))
    for index, row in enumerate(rows):
        seed("bitstream", f"vector-set-{index + 1:03}", bytes([row["codec"] == "H265"])
             + piece(base64.b64decode(row["set"])) + b"\3" + piece(key5 if row["codec"] == "H265" else key) + b"\3")
    for index, row in enumerate(json.load(open(os.path.join(VECTORS, "annex_b.json")))):
        seed("bitstream", f"vector-annex-b-{index + 1:03}", b"\0" + piece(unhex(row["bytes"])) + b"\3")
    for codec, name in ((0, "h264"), (1, "h265")):
        for row in json.load(open(os.path.join(VECTORS, name + ".json"))):
            payloads = [((1 if p.get("marker") else 0) | 8 * (1 if p.get("lost") else 0),
                         unhex(p["payload"])) for p in row["packets"]]
            if sum(len(p) for _, p in payloads) > 2000:
                continue
            label = "".join(c if c.isalnum() else "-" for c in row["name"].lower())[:60]
            seed(name, "vector-" + label, stream(4, payloads))
            seed("second-reading", f"{name}-{label}", bytes([codec]) + b"".join(piece(p) for _, p in payloads))


def sound():
    def packets(kind, payloads):
        return bytes([kind, 2]) + b"".join(bytes([f]) + piece(p) for f, p in payloads)
    adts = bytes.fromhex("fff150800121fc") + b"\1\2"
    au = lambda data: struct.pack(">HH", 16, len(data) << 3) + data
    rows = {
        0: [au(b"abc"), struct.pack(">HHH", 32, 8 << 3, 8 << 3) + b"12345678abcdefgh", adts, b"\0\x10\xff\xff",
            b"\xff\xff\0", b"\0\0"],
        1: [au(b"abc")], 2: [b"abcdefabcdef"],
        3: [bytes.fromhex("400026203fc00301020304"), b"\x03\1\2\3", b"\xff" * 40, b"\x80\0"],
        4: [b"\x03\1\2\3", b"\xff\xff", b"\0"],
        5: [b"\xf8\x11", b"\xfb\3\x11\x22\x33", b"\xf9\x11\x22", b"\xff\xff", b"\xf8"],
    }
    for kind in range(6, 16):
        rows[kind] = [b"\x55" * 60, b"\x55", b"\x55" * 61]
    for kind, payloads in rows.items():
        seed("sound", f"kind-{kind}", packets(kind, [(3, p) for p in payloads]))
        seed("sound", f"kind-{kind}-lost", packets(kind, [(0x4B, p) for p in payloads] * 2))
        seed("sound", f"kind-{kind}-leaps", packets(kind, [])
             + b"".join(bytes([4 | 1]) + piece(p) + b"\x7f\xff\xff\xff" for p in payloads))
    for text in ("1190", "1210", "2b8a0800", "eb098800", "1208056e500", "131056e598", "f8e0", "400026203fc0",
                 "0010", "ffff", "10", "", "fff150800121fc", "8000", "0fff"):
        seed("aac", "config-" + (text or "empty"), bytes.fromhex(text[: len(text) // 2 * 2]))
    seed("aac", "zeros", bytes(40))
    seed("aac", "ones", b"\xff" * 40)
    seed("aac", "program-config", bytes.fromhex("11800400004020000000"))


# --- SDP, RTSP, HTTP --------------------------------------------------------------------------

SDP = """v=0
o=- 0 0 IN IP4 127.0.0.1
s=-
c=IN IP4 239.1.2.3/32
t=0 0
a=control:*
m=video 5004 RTP/AVP 96
a=rtpmap:96 H264/90000
a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z01AHppkBQHv81AQEBQAAA+gAAE4gBA=,aO48gA==
a=control:track1
a=rtcp-mux
m=audio 5006 RTP/SAVP 97
a=rtpmap:97 mpeg4-generic/48000/2
a=fmtp:97 mode=AAC-hbr;config=1190;sizelength=13;indexlength=3;indexdeltalength=3
a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0e|2^20|1:4
a=source-filter: incl IN IP4 * 192.0.2.1
a=control:track2
"""


def descriptions():
    seed("sdp", "good", SDP)
    seed("sdp", "good-crlf", SDP.replace("\n", "\r\n"))
    video = "v=0\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\n"
    for name, text in (("rate-0", "H264/0"), ("rate-missing", "H264"), ("rate-negative", "H264/-1"),
                       ("rate-huge", "H264/2147483648"), ("name-empty", "/90000"), ("name-long", "H" * 3000)):
        seed("sdp", "map-" + name, video + f"a=rtpmap:96 {text}\n")
    for name, text in (("empty", ""), ("comma", ","), ("commas", ",,"), ("no-base64", "%%%"), ("one-byte", "Zw=="),
                       ("wrong-type", "aO48gA==,Z01AHppk"), ("twice", "Z01AHppk;sprop-parameter-sets=aO48gA==")):
        seed("sdp", "sets-" + name, video + f"a=fmtp:96 sprop-parameter-sets={text}\n")
    seed("sdp", "many-lines", "v=0\n" + "a=d\n" * 1990)
    seed("sdp", "too-many-lines", "v=0\n" + "a=d\n" * 3000)
    seed("sdp", "many-media", "v=0\n" + "m=video 0 RTP/AVP 96\n" * 64)
    seed("sdp", "too-many-media", "v=0\n" + "m=video 0 RTP/AVP 96\n" * 65)
    seed("sdp", "type-999", "v=0\nm=video 0 RTP/AVP 999\n")
    seed("sdp", "type-128", "v=0\nm=video 0 RTP/AVP 128 -1 96\n")
    seed("sdp", "times", "v=0\nt=0 0\nr=\0\nr=7d 1h 0\n" + video)
    for field in "vosiuepcbtrzkam":
        for name, value in (("empty", ""), ("nul", "\0"), ("long", "x" * 2000), ("not-utf8", "\udcff\udcfe"),
                            ("spaces", "     "), ("one", "1")):
            seed("sdp", f"field-{field}-{name}", f"{video}{field}={value}\nm=audio 0 RTP/AVP 0\n")
    for attribute in ("rtpmap", "fmtp", "control", "crypto", "rtcp", "source-filter", "rtcp-fb", "ssrc", "group",
                      "mid", "ptime", "framerate", "range", "fingerprint"):
        for name, value in (("empty", ""), ("number", "96"), ("nul", "96 \0"), ("long", "96 " + "x" * 2000),
                            ("signs", "96 =;=;,|:/*")):
            seed("sdp", f"attribute-{attribute}-{name}", f"{video}a={attribute}:{value}\n")
    seed("sdp", "unwanted", "v=0\nm=video 0 RTP/AVP 26 96 98\na=rtpmap:96 AV1/90000\na=rtpmap:98 X-ASF-PF/1000\n")
    seed("sdp", "rtx", "v=0\nm=video 0 RTP/AVPF 96 97 98 99\na=rtpmap:96 H264/90000\na=rtpmap:97 rtx/90000\n"
         "a=fmtp:97 apt=96;rtx-time=500\na=rtpmap:98 red/90000\na=rtpmap:99 ulpfec/90000\na=rtcp-fb:96 nack pli\n"
         "m=video 0 RTP/AVPF 100\na=rtpmap:100 rtx/90000\na=fmtp:100 apt=96\na=group:FID 1 2\n")


def connections():
    ok = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\n"
    frame = lambda packet, channel=0: b"$" + struct.pack(">BH", channel, len(packet)) + packet
    media = frame(rtp(b"media"))
    rows = {
        "session": ok + b"Public: OPTIONS\r\n\r\n" + ok + b"Content-Length: 3\r\n\r\nv=0" + media + media
        + frame(rtcp(200, bytes(24)), 1),
        "length-huge": ok + b"Content-Length: 9223372036854775807\r\n\r\n",
        "length-negative": ok + b"Content-Length: -1\r\n\r\n",
        "length-999999999": ok + b"Content-Length: 999999999\r\n\r\n",
        "no-bytes": b"", "line-ends": b"\r\n" * 20, "leading-space": b" RTSP/1.0 200 OK\r\n\r\n",
        "no-colon": ok + b"nonsense\r\n\r\n", "long-line": b"RTSP/1.0 200 " + b"x" * 9000,
        "many-fields": ok + b"a: b\r\n" * 300, "nul": b"RTSP/1.0 200 \0\r\na\0: b\0\r\n\r\n",
        "bare-cr": ok.replace(b"\r\n", b"\r") + b"\r", "bare-lf": ok.replace(b"\r\n", b"\n") + b"\n",
        "continued": ok + b"Public: a,\r\n  b\r\n\r\n", "status-0": b"RTSP/1.0 000 x\r\n\r\n",
        "garbage-between": media + b"garbage" * 9 + media, "stray-crlf": media + b"\r\n" + media,
        "before-play": media + ok + b"\r\n" + media, "other-channel": frame(rtp(b"x"), 9) + media,
        "request": b"OPTIONS * RTSP/1.0\r\nCSeq: 5\r\n\r\n" + media, "http": b"HTTP/1.1 200 OK\r\n\r\n",
        "dollar-in-garbage": b"$$$$" + b"$\0\xff\xff" + media, "cut-frame": media[:-3] + media + media,
        "transports": ok + b"Transport: " + b",".join([b"RTP/AVP/TCP;interleaved=0-1"] * 200) + b"\r\n\r\n",
    }
    for length in (0, 1, 7, 8, 65535):
        rows[f"frame-of-{length}"] = b"$\0" + struct.pack(">H", length) + rtp(b"x") + media
    for name, data in rows.items():
        seed("rtsp-connection", name, b"\1" + WHOLE + data)
        if len(data) < 1000:
            seed("rtsp-connection", name + "-bytewise", b"\1" + BYTEWISE + data)
    valid = b"".join(b"\0" + piece(b"v=0\r\n$\0\0\4abcd") + b"\2" + piece(b"media") + b"\0" + b"\1" for _ in range(3))
    for cuts in (b"\0", b"\1\1", b"\2\3\5", b"\3\1\xff\2"):
        seed("rtsp-connection", "valid-" + cuts.hex(), b"\0" + cuts + valid)

    packet = rtp(b"media")
    for framing, size in ((0, 4), (1, 2)):
        prefix = lambda n: n.to_bytes(size, "big")
        good = (prefix(len(packet)) + packet) * 3
        rows = {"good": good, "empty": b"", "zero": prefix(0) * 3 + good, "cut": good[:-2],
                "page": b"<!DOCTYPE html>", "pcap": b"\xa1\xb2\xc3\xd4" + bytes(20)}
        for length in (1, 11, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
            if length < 256 ** size:
                rows[f"length-{length:x}"] = good + prefix(length) + packet
                rows[f"length-{length:x}-first"] = prefix(length) + packet
        for name, data in rows.items():
            for cuts, how in ((WHOLE, ""), (BYTEWISE, "-bytewise")):
                seed("framed", f"{size}-{name}{how}", bytes([framing, 1]) + cuts + data)
        seed("framed", f"{size}-small-limit", bytes([framing, 0]) + b"\2\3\7" + prefix(65) + packet)


# Where a redirection must not lead: to other schemes and to whoever answers only this machine.
ELSEWHERE = ["file:///etc/passwd", "gopher://h:70/_x", "http://169.254.169.254/latest/meta-data/", "rtsp://169.254.169.254/",
             "rtsp://127.0.0.1:8554/live", "rtsp://[::1]/live", "rtsps://camera/live"]


def headers():
    rows = {
        0: ["RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001",
            "RTP/AVP;multicast;destination=239.1.2.3;port=5000-5001;ttl=16", "interleaved=255-256",
            "server_port=65535-65536", "server_port=0-1", "ssrc=1;interleaved=-1", ";;;=;", "a" * 3000,
            'destination="[::1]";port=1', ",".join(["RTP/AVP"] * 300)],
        1: ["url=rtsp://camera/live/track1;seq=1;rtptime=2", "url=a,b;c;seq=65536;rtptime=-5",
            "url=;seq=;rtptime=", "seq=1", "url=track1;rtptime=4294967295,url=track2;seq=5;", "," * 200],
        2: ["1;timeout=60", ";timeout=60", "a b;timeout=-1", "x" * 2000, "1;timeout=99999999999999999999", "1;" * 20],
        3: ['Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth"\nBasic realm="r"', 'Basic realm="r"',
            'Digest realm="r\\"", nonce="', "Digest", "", '=,=",', 'Digest nonce="n",realm="' + "r" * 5000,
            'Digest realm="r",nonce="n",stale=true', 'Digest realm="r", nonce="n\r\nX: y"', "Basic\n" * 40],
        4: ["rtsp://camera:8554/live", "rtsp://user:pass@camera/", "rtsp://h:99999/", "rtsp://h:0/", "rtsp://[::1]:554/a?b",
            "rtsp://[::1", "rtsps://h", "rtsp://", "http://h/", "rtsp://h/%0d%0aX: y", "rtsp://u:p%40w@h/ a",
            "rtsp://user:pass/word@host", "rtsp://h:/" + "a" * 5000, "rtsp://h/\x01", "rtsp://%00/", "rtspu://a@b@c:1/d",
            *ELSEWHERE],
        5: ["http://h/", "https://h:8443/a?b", "http://user@h", "http://169.254.169.254/", "http://[fe80::1%25eth0]/"],
        6: ["rtsp://camera/live/\n*\ntrack1", "\n\n", "rtsp://other:1/\nrtsp://10.0.0.1/\nrtsp://elsewhere/t1",
            "/base/\n?x\n/abs", "a b\n\t\nc d\x01", "rtsp://h/?a=b\n\ntrackID=0", "*\n*\n*"],
        7: ["HTTP/1.1 200 OK\nContent-Type: video/rtp\n\n", "HTTP/1.1 401\nRetry-After: 99999999999999\n\n",
            "HTTP/1.1 100\n\nHTTP/1.1 204\n\n", "X\n" * 50, "HTTP/1.1 200\nContent-Encoding: gzip\nTransfer-Encoding: gzip, chunked\n\n"],
    }
    for kind, texts in rows.items():
        for index, text in enumerate(texts):
            seed("headers", f"{kind}-{index}", bytes([kind]) + text.encode())
    key = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0e"
    for index, text in enumerate([
            f"AES_CM_128_HMAC_SHA1_80 {key}", f"AES_CM_128_HMAC_SHA1_80 {key} 0708\r\n\r\n", "", "\n\n", "X Y",
            f"AES_CM_128_HMAC_SHA1_80 {key}=", f"SRTP_AES128_CM_HMAC_SHA1_80\t{key}\t0", "AES_CM_128_HMAC_SHA1_80 %%%",
            f"AES_CM_128_HMAC_SHA1_80 {key} " + "00" * 300, f"AES_CM_128_HMAC_SHA1_80 {key}\n" * 40]):
        seed("srtp-keys", f"text-{index}", text)


# --- Whole sessions ---------------------------------------------------------------------------

def sessions():
    for suite in range(16):
        for number in range(3):
            begin = bytes([suite, 0, number])
            ops = (b"\0" + piece(b"media") * 1) * 3 + b"\2\2" + b"\3\0" + b"\4\0\5\1\0" + b"\5" + piece(rtp(bytes(30))) + b"\0" \
                + b"\6" + piece(b"abcd") + b"\0" + b"\6" + piece(b"abcd") + b"\1\x05" + b"\3\1\3\2"
            seed("srtp", f"suite-{suite}-{number}", begin + ops)
    for length in range(0, 64, 3):
        seed("srtp", f"short-{length}", bytes([0, 0, 1]) + b"\0" + piece(b"m") + b"\5" + piece((b"\x9f\x60" + bytes(70))[:length]) + b"\0"
             + b"\5" + piece((b"\x81\xc8" + bytes(70))[:length]) + b"\1" + b"\0" + piece(b"n"))
    forged = b"".join(b"\5" + piece(rtp(bytes(30), number=(1000 + n) & 0xFFFF, ssrc=10)) + b"\0" for n in (0x7000, 0x8000, 0x8001))
    # Whatever claims to be SRTP or SRTCP, of each suite and every length: extensions and sources that are not there, E
    # set and not set. Filled with ones, its index is 2^31 - 1.
    for suite in range(0, 16, 2):
        ops = b"\0" + piece(b"m") + b"\6" + piece(b"abcd") + b"\0"
        for length in range(0, 64, 3):
            ops += b"\5" + piece((b"\x9f\x60" + bytes(70))[:length]) + b"\0"
            for fill in (0, 255):
                ops += b"\5" + piece((b"\x81\xc8\0\1\0\0\0\x0a" + bytes([fill]) * 70)[:length]) + b"\1"
        seed("srtp", f"short-of-suite-{suite}", bytes([suite, 0, 1]) + ops + b"\6" + piece(b"abcd") + b"\0" + b"\0" + piece(b"n"))
    for suite in (0, 8):
        index = b"\x81\xc9\0\1\0\0\0\x0a" + bytes(16)
        index += b"\xff\xff\xff\xff" if suite == 8 else b"\xff\xff\xff\xff" + bytes(10)
        seed("srtp", f"greatest-index-{suite}", bytes([suite, 0, 1]) + b"\6" + piece(b"abcd") + b"\0" + b"\5" + piece(index) + b"\1"
             + b"\6" + piece(b"efgh") + b"\0")
    # Over roll-overs: all of it comes, an outage of three, a counter that is given, right or wrong, and what was
    # recorded before, once more.
    packet, wait, go, lost = b"\0" + piece(b"m"), b"\7\x13\x88", b"\x08\xff\xff", b"\x09\2"
    for name, kind, ops in (
            ("followed", 0, packet + go * 8 + packet), ("lost", 0, packet + lost + wait + packet * 2 + b"\3\0\3\1"),
            ("given", 2 | 3 << 2, lost + packet * 2), ("given-wrong", 2 | 1 << 2, lost + packet + wait + packet),
            ("replayed", 0, packet + wait + b"\4\0\x0e\1\0" + go * 70 + (wait + b"\3\0" + wait + b"\3\x10") * 4),
            ("half", 0, packet + b"\x08\x7f\xff" * 5 + lost + b"\x08\x9c\x40" + wait + packet)):
        for suite in (0, 8, 15):
            seed("srtp", f"rollover-{name}-{suite}", bytes([suite, kind, 2]) + ops)
    seed("srtp", "rollover-forged", bytes([0, 0, 1]) + (b"\0" + piece(b"m")) * 4 + forged + (b"\0" + piece(b"m")) * 4)

    key, slice = bytes.fromhex(H264_KEY), bytes.fromhex(H264_SLICE)
    sets = [bytes.fromhex(s) for s in H264_SETS]
    media = b"".join(b"\0\0\1" + piece(p) for p in sets + [key, slice, slice])
    for kind in (0, 1, 2, 4, 8, 16, 32, 64, 128, 64 + 1):
        seed("reception", f"kind-{kind}", bytes([kind, 0]) + media * 4 + b"\7\x20" + media + b"\4\0\3" + media + b"\x08\x20\0")
        seed("reception", f"described-{kind}", bytes([kind, 1, 0, 1]) + media + b"\0\1\1" + piece(b"\0\x10\0\x18abc") + media + b"\x08\xff\xff")
    report = rtcp(200, struct.pack(">IQIII", 10, 1 << 60, 3000, 5, 6)) + rtcp(203, b"\0\0\0\x0a", 1)
    seed("reception", "goodbye", bytes([0, 0]) + media * 2 + b"\6" + piece(report) + b"\0" + b"\x08\xff\xff")
    seed("reception", "crowded", bytes([0, 0]) + b"\x09\1" + media * 3 + b"\x09\0" + media + b"\x0b\0\1")
    seed("reception", "ends", bytes([64, 0]) + media + b"\x0b\0\0" + b"\x0b\3")

    # What comes before the next key picture of a described stream: other senders, leaps, loss, another codec.
    sets5, key5 = [bytes.fromhex(s) for s in H265_SETS], bytes.fromhex(H265_KEY[:28])
    media5 = b"".join(b"\0\0\1" + piece(p) for p in sets5 + [key5])
    other = lambda ssrc, numbers: b"".join(b"\5" + piece(rtp(key, number=n, time=9000 * n, ssrc=ssrc)) + b"\0" for n in numbers)
    for kind in (0, 64):
        for name, ops in (
                ("h265", None), ("senders", media + other(0x50, range(5)) + other(0x51, (7, 900, 8)) + b"\7\xff" + media),
                ("leaps", (media + b"\4\0\xff" + b"\x0a\0\x7f\xff\xff\xff") * 3), ("codec", media5 * 3),
                ("crowd", b"\x09\1" + media * 4 + b"\x08\x0f\xff"),
                ("strays", b"".join(other(0x100 + n, (n,)) for n in range(70)) + media)):
            begin = bytes([kind, 1, 0, 0 if ops is None else 1])
            seed("reception", f"before-the-next-{name}-{kind}", begin + (media5 * 2 if ops is None else ops))

    for container in range(6):
        for pipe in (0, 1):
            begin = bytes([container, pipe, 1])
            picture = b"\x20\0" + b"\0\0" + b"\x20\1" + b"\0\1" + b"\x20\2" + b"\0\2" + b"\xff"
            tone = b"\2" + piece(b"\xf8\1\2") + b"\x22\4" + piece(b"abc") + b"\x42" + piece(b"x") + b"\0\0\1\0"
            seed("recording", f"container-{container}-{pipe}", begin + (picture + tone) * 4)
            seed("recording", f"container-{container}-{pipe}-times", begin + (b"\x35\0\0\0\1\1\x7f" + b"\xff" * 7 + tone) * 6)

    for y4m in (0, 1):
        for layout in range(8):
            frame = lambda width, height, flags, what: b"\x0b\xb8" + bytes([width, height, layout, flags]) + what
            seed("frames", f"layout-{layout}-{y4m}",
                 bytes([y4m]) + frame(47, 31, 0x20, b"\0") * 2 + frame(0, 0, 0, b"\0") + frame(79, 5, 1, b"\4")
                 + frame(15, 15, 7, b"\5\1\0") + frame(16, 16, 0x10, b"\7"))

    for lower in range(4):
        good = b"\0\0\0\0" + b"\0\0\0\1\0" + b"\0\0\2\0\1\0\1\1\3\0" + b"\0\0\1\1\1\1\3\0"
        seed("rtsp-client", f"good-{lower}", bytes([lower, 1, 0, 0, 0]) + good * 3)
        seed("rtsp-client", f"challenged-{lower}", bytes([lower, 1, 0, 0, 0]) + b"\0\3\1\2\1\4\0" * 12)
        seed("rtsp-client", f"redirected-{lower}", bytes([lower, 0, 0, 0, 0]) + b"\0\4\1\3\1\6\0\0\0" * 12)
    # The first answer, or that to DESCRIBE with a login, leads elsewhere.
    for index, url in enumerate(ELSEWHERE):
        moved = b"\0\4\1\3\0" + piece(url.encode()) + b"\0"
        challenged = b"\0\0\0\0" + b"\0\3\1\2\1\4\0\0"
        seed("rtsp-client", f"redirected-elsewhere-{index}", bytes([0, 0, 0, 0, 0]) + (moved + b"\0\0") * 4)
        seed("rtsp-client", f"login-redirected-{index}",
             bytes([0, 1, 0, 0, 0]) + challenged + (moved + b"\0\0\0") * 4)
    seed("rtsp-client", "closed", bytes([0, 0, 0, 0, 0]) + b"\7\0\0" * 40)

    message = lambda lines: piece("\r\n".join(lines + ["", ""]).encode())
    url = "rtsp://192.0.2.1:8554/live"
    requests = [
        ["OPTIONS * RTSP/1.0", "CSeq: 1"], [f"DESCRIBE {url} RTSP/1.0", "CSeq: 2", "Accept: application/sdp"],
        [f"SETUP {url}/trackID=0 RTSP/1.0", "CSeq: 3", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"],
        [f"SETUP {url}/trackID=1 RTSP/1.0", "CSeq: 3", "Transport: RTP/AVP;unicast;client_port=5000-5001"],
        [f"SETUP {url}/trackID=0 RTSP/1.0", "CSeq: 3", "Transport: RTP/AVP;multicast"],
        [f"PLAY {url} RTSP/1.0", "CSeq: 4", "Session: 1", "Range: npt=1.5-"], [f"PAUSE {url} RTSP/1.0", "CSeq: 5"],
        [f"GET_PARAMETER {url} RTSP/1.0", "CSeq: 6", "Content-Length: 0"], [f"TEARDOWN {url} RTSP/1.0", "CSeq: 7"],
        ["GET /live HTTP/1.0", "x-sessioncookie: abc"], ["POST /live HTTP/1.0", "x-sessioncookie: abc", "Content-Length: 32767"],
        ["RTSP/1.0 200 OK", "CSeq: 1"], ["DESCRIBE " + "x" * 3000 + " RTSP/1.0", "CSeq: 2"], ["X"], ["", ""],
        ["PLAY * RTSP/1.0", "CSeq: 4", "Range: npt=99999999999999999999-", "Range: clock=x"],
        ["SETUP * RTSP/1.0", "CSeq: 3", "Transport: " + ",".join(["RTP/AVP;unicast;client_port=1-2"] * 100)],
        ["OPTIONS * RTSP/1.0", "CSeq: 1", "Content-Length: 99999999999999999999"],
    ]
    for secure in (0, 1):
        seed("rtsp-server", f"session-{secure}", bytes([secure]) + b"".join(b"\0" + message(r) for r in requests[:9]))
    for index, request in enumerate(requests):
        seed("rtsp-server", f"request-{index}", b"\0\0" + message(request) + b"\7\xff")
        text = "\r\n".join(request + ["", ""]).encode()
        for cuts, how in ((WHOLE, ""), (BYTEWISE, "-bytewise")):
            if how and len(text) > 1000:
                continue
            seed("rtsp-requests", f"request-{index}{how}", cuts + text + b"$\0\0\4abcd" + text)
            seed("rtsp-proxy", f"request-{index}{how}", cuts + text + b"$\0\0\4abcd" + text)
    answer = b"RTSP/1.0 200 OK\r\nTransport: RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001;source=camera\r\n" \
        b"Content-Base: rtsp://camera/live/\r\nContent-Length: 30\r\n\r\na=control:rtsp://camera/live/1"
    seed("rtsp-proxy", "answer", WHOLE + answer)
    seed("rtsp-proxy", "answer-cut", b"\2\7\x0b" + answer)


# --- Files and pages --------------------------------------------------------------------------

def ipv4(body, protocol=17, fragment=0, source=b"\xc0\0\2\1", destination=b"\xc0\0\2\2"):
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 7, fragment, 64, protocol, 0) + source + destination + body


def udp(body, source=6000, destination=5004):
    return struct.pack(">HHHH", source, destination, 8 + len(body), 0) + body


def tcp(body, number=1, flags=0x18, source=554, destination=5000):
    return struct.pack(">HHIIBBHHH", source, destination, number, 0, 0x50, flags, 1000, 0, 0) + body


def ethernet(body, type=0x0800):
    return bytes(12) + struct.pack(">H", type) + body


def files():
    sets, key = [bytes.fromhex(s) for s in H264_SETS], bytes.fromhex(H264_KEY)
    media = [rtp(p, number=n, time=3000 * n, marker=1) for n, p in enumerate((sets + [key]) * 8)]
    frames = [ethernet(ipv4(udp(p))) for p in media]

    def pcap(frames, order="<", magic=0xA1B2C3D4, link=1):
        data = struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, link)
        for index, frame in enumerate(frames):
            data += struct.pack(order + "IIII", 1000 + index, 0, len(frame), len(frame)) + frame
        return data

    def block(type, body, order="<"):
        body += b"\0" * (-len(body) % 4)
        return struct.pack(order + "II", type, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)

    def pcapng(frames, order="<"):
        data = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
        data += block(1, struct.pack(order + "HHI", 1, 0, 0), order)
        for index, frame in enumerate(frames):
            data += block(6, struct.pack(order + "IIIII", 0, 0, index * 40000, len(frame), len(frame)) + frame, order)
        return data

    rtsp = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: %d\r\n\r\n" % len(SDP) + SDP.encode()
    rtsp += b"".join(b"$\0" + struct.pack(">H", len(p)) + p for p in media)
    dialogue, place = [], 1
    for start in range(0, len(rtsp), 300):
        part = rtsp[start:start + 300]
        dialogue.append(ethernet(ipv4(tcp(part, place), 6)))
        place += len(part)
    call = b"v=0\r\nc=IN IP4 192.0.2.2\r\nm=video 5004 RTP/AVP 97 96\r\na=rtpmap:96 H264/90000\r\n"
    invite = b"INVITE sip:a@b SIP/2.0\r\nc: application/sdp\r\n\r\n" + call
    answer = b"SIP/2.0 200 OK\r\nContent-Type: application/sdp\r\nContent-Length: %d\r\n\r\n" % len(call) + call
    calls = [ethernet(ipv4(udp(m, 5060, 5060))) for m in (invite, answer, answer[:90])]
    rows = {
        "calls": pcap(calls + frames), "pcap": pcap(frames), "pcap-big": pcap(frames, ">"), "pcap-nano": pcap(frames, magic=0xA1B23C4D),
        "pcapng": pcapng(frames), "pcapng-big": pcapng(frames, ">"), "rtsp": pcap(dialogue),
        "rtsp-hole": pcap(dialogue[:3] + dialogue[4:]),
        "rtp4": b"".join(struct.pack(">I", len(p)) + p for p in media), "empty": b"", "header": pcap([]),
        "long-record": pcap([]) + struct.pack("<IIII", 0, 0, 0x7FFFFFFF, 1) + b"x",
        "block-lengths": pcapng(frames)[:28] + struct.pack("<II", 6, 13) + bytes(20),
        "cut": pcap(frames)[:-5], "page": b"<!DOCTYPE html><html>",
        "rtpdump": b"#!rtpplay1.0 192.0.2.1/5004\n" + struct.pack(">IIIHH", 1000, 0, 0, 0, 0)
        + b"".join(struct.pack(">HHI", len(p) + 8, len(p), 40 * n) + p for n, p in enumerate(media)),
        "gzip": gzip.compress(pcap(frames), mtime=0), "gzip-cut": gzip.compress(pcap(frames), mtime=0)[:60],
        "gzip-twice": gzip.compress(pcap(frames), mtime=0) * 2, "gzip-bomb": gzip.compress(pcap([]) + bytes(1 << 16), mtime=0),
    }
    for name, data in rows.items():
        seed("capture", name, WHOLE + data)
        if len(data) < 2500:
            seed("capture", name + "-cut-small", b"\3\7\1\x20" + data)

    def link(frames, kind=0):
        return b"".join(bytes([kind, 1]) + piece(f) for f in frames)
    seed("network", "udp", link(frames[:4]))
    seed("network", "raw", link([ipv4(udp(media[0]))], 1))
    seed("network", "rtsp", link(dialogue))
    seed("network", "rtsp-out-of-order", link([dialogue[0], dialogue[2], dialogue[1]] + dialogue[3:]))
    big = udp(rtp(bytes(200)))
    seed("network", "fragments", link([ethernet(ipv4(big[:104], fragment=0x2000)), ethernet(ipv4(big[104:], fragment=13))]))
    seed("network", "fragments-overlap", link([ethernet(ipv4(big[:104], fragment=0x2000)), ethernet(ipv4(big[80:], fragment=10))]))
    seed("network", "fragment-far", link([ethernet(ipv4(big[:16], fragment=0x1FFF))]))
    six = struct.pack(">IHBB", 0x60000000, len(big), 17, 64) + bytes(32) + big
    seed("network", "ipv6", link([ethernet(six, 0x86DD)]))
    seed("network", "ipv6-extensions", link([ethernet(struct.pack(">IHBB", 0x60000000, 24, 0, 64) + bytes(32) + b"\0\0" + bytes(6) + b"\x3c\xff" + bytes(14), 0x86DD)]))
    seed("network", "vlan", link([bytes(12) + b"\x81\0\0\1\x81\0\0\2\x08\0" + ipv4(udp(media[0]))]))
    seed("network", "pppoe", link([ethernet(b"\x11\0\0\0\0\x20\0\x21" + ipv4(udp(media[0])), 0x8864)]))
    seed("network", "cooked", link([bytes(14) + b"\x08\0" + ipv4(udp(media[0]))], 2))
    seed("network", "cut", link([f[:n] for n, f in zip(range(0, 60, 4), frames * 2)]))
    for type in range(0, 300, 7):
        seed("network", f"link-{type}", bytes([0x80, 0]) + piece(frames[0]) + struct.pack(">H", type))

    annexb = b"".join(b"\0\0\0\1" + u for u in sets + [key] + [bytes.fromhex(H264_SLICE)] * 3)
    annexb5 = b"".join(b"\0\0\0\1" + bytes.fromhex(u) for u in H265_SETS + [H265_KEY[:28], H265_SLICE])
    box = lambda type, body, length=None: struct.pack(">I", 8 + len(body) if length is None else length) + type + body
    for name, data in {
            "h264": annexb, "h265": annexb5, "three-byte-codes": annexb.replace(b"\0\0\0\1", b"\0\0\1"), "empty": b"",
            "zeros": bytes(100) + annexb, "no-codes": sets[0] + key, "only-codes": b"\0\0\1" * 50,
            "boxes": box(b"ftyp", b"isom\0\0\2\0isom") + box(b"free", b"") + box(b"mdat", struct.pack(">I", len(key)) + key),
            "box-0": box(b"ftyp", b"isom") + box(b"mdat", struct.pack(">I", len(key)) + key, 0),
            "box-too-short": box(b"ftyp", b"isom") + box(b"moov", b"", 4), "box-huge": box(b"ftyp", b"isom") + b"\0\0\0\1mdat" + b"\xff" * 8,
            "moov-huge": box(b"ftyp", b"isom") + box(b"moov", b"", 0x7FFFFFFF)}.items():
        for pauses in (0, 1):
            for cuts in (b"\0", b"\2\3\x11"):
                seed("growing", f"{name}-{pauses}{len(cuts)}", bytes([pauses]) + cuts + data)

    envelope = "<?xml version='1.0'?><Envelope><Body>%s</Body></Envelope>"
    for name, text in {
            "envelope": envelope % "<GetProfilesResponse><Profiles token='a'/></GetProfilesResponse>", "deep": "<a>" * 200,
            "doctype": "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "wide": "<a>" + "<b/>" * 500 + "</a>",
            "bomb": "<!DOCTYPE a [<!ENTITY b 'bb'><!ENTITY c '&b;&b;'>]><a>&c;</a>", "prefixes": "<x:a xmlns:x='y'><z:b/></x:a>",
            "attributes": "<a " + " ".join(f"b{n}='c'" for n in range(100)) + "/>", "cut": "<a><b", "nothing": "", "text": "text"}.items():
        seed("onvif", "xml-" + name, b"\0" + text.encode())
    seed("onvif", "discovery", b"\1" + piece(b"<EndpointReference><Address>urn:uuid:1</Address></EndpointReference>"
                                              b"<Scopes>onvif://x/name/A%20B</Scopes><XAddrs>http://192.0.2.1/onvif/device_service</XAddrs>") + b"\1")
    profile = b"<Profiles token='p1'><Name>Main</Name><VideoEncoderConfiguration><Encoding>H264</Encoding></VideoEncoderConfiguration></Profiles>"
    answers = [b"", b"<Service><Namespace>http://www.onvif.org/ver10/media/wsdl</Namespace><XAddr>http://192.0.2.1/media</XAddr></Service>",
               profile, b"<MediaUri><Uri>rtsp://192.0.2.1:554/live</Uri></MediaUri>"]
    for purpose in (0, 1):
        for login in (0, 1):
            seed("onvif", f"dialogue-{purpose}-{login}", bytes([2, purpose, login]) + b"".join(piece(a) + b"\1\0" for a in answers))
            seed("onvif", f"refused-{purpose}-{login}", bytes([2, purpose, login]) + (piece(b"<Fault/>") + b"\0\2") * 8)

    fleet = "version: 1\nserve: 127.0.0.1:9800\ndefaults:\n  segment: 10m\ncameras:\n  front:\n    source: rtsp://10.0.0.5/1\n" \
        "    output: [a.mp4, b.y4m]\n    reconnect: true\n"
    for name, text in {
            "good": fleet, "empty": "", "tabs": fleet.replace("  ", "\t"), "two-documents": fleet + "---\n" + fleet,
            "aliases": "a: &a [1]\nb: [*a, *a]\n", "loop": "a: &a [*a]\n", "bomb": "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n",
            "deep": "[" * 300, "twice": fleet + "  front:\n    source: x\n", "no-cameras": "version: 1\n", "version": "version: 99\n",
            "long-name": "cameras:\n  " + "x" * 100 + ":\n    source: a\n", "null": "cameras:\n", "numbers": "cameras:\n  1:\n    2: 3\n",
            "merge": "cameras:\n  a: &a {source: x}\n  b: {<<: *a}\n", "tags": "cameras: !!binary abc\n", "escape": 'cameras:\n  "a\\e[2J": x\n',
            "twice-with-escape": 'cameras:\n  ? "a\\eb"\n  : {source: x}\n  ? !!binary "a\\eb"\n  : {source: y}\n',
            "key-escape": 'cameras:\n  a:\n    "b\\e]0;x\\a": x\n    source: y\n', "anchors": "&a cameras: *a\n"}.items():
        seed("fleet", name, text)

    host = "Host: 127.0.0.1:9800\r\n"
    for name, text in {
            "get": f"GET / HTTP/1.1\r\n{host}\r\n", "token": f"GET /?token=0123456789abcdef&a=b HTTP/1.1\r\n{host}\r\n",
            "token-elsewhere": f"GET //evil/?token=0123456789abcdef HTTP/1.1\r\n{host}\r\n", "no-host": "GET / HTTP/1.1\r\n\r\n",
            "two-hosts": f"GET / HTTP/1.1\r\n{host}{host}\r\n", "other-host": "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            "origin": f"GET /live HTTP/1.1\r\n{host}Origin: http://evil.example\r\n\r\n", "post": f"POST / HTTP/1.1\r\n{host}Content-Length: 5\r\n\r\nabcde",
            "bearer": f"GET /metrics HTTP/1.1\r\n{host}Authorization: Bearer 0123456789abcdef\r\n\r\n",
            "cookie": f"GET / HTTP/1.1\r\n{host}Cookie: a=b; rtp-recv-9800=0123456789abcdef\r\n\r\n",
            "smuggle": f"GET / HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "snapshot": f"GET /snapshot/front.jpg HTTP/1.1\r\n{host}\r\n", "traversal": f"GET /snapshot/../../etc/passwd.jpg HTTP/1.1\r\n{host}\r\n",
            "long": "GET /" + "a" * 17000 + f" HTTP/1.1\r\n{host}\r\n", "many": f"GET / HTTP/1.1\r\n{host}\r\n" * 10,
            "upgrade": f"GET /live HTTP/1.1\r\n{host}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
            "six": "GET / HTTP/1.1\r\nHost: [::1]:9800\r\n\r\n", "host-odd": "GET / HTTP/1.1\r\nHost: [::1]x:99999\r\n\r\n", "nothing": ""}.items():
        seed("page-http", name, WHOLE + text.encode())
        if len(text) < 1000:
            seed("page-http", name + "-bytewise", BYTEWISE + text.encode())

    def frame(opcode, body, mask=b"\1\2\3\4", fin=0x80, length=None):
        head = bytes([fin | opcode])
        bit = 0x80 if mask else 0
        if length is None:
            head += bytes([bit | len(body)]) if len(body) < 126 else bytes([bit | 126]) + struct.pack(">H", len(body))
        else:
            head += length
        data = bytes(b ^ mask[i % 4] for i, b in enumerate(body)) if mask else body
        return head + (mask or b"") + data
    for name, data in {
            "watch": frame(1, b"watch front"), "jpeg": frame(1, b"jpeg front") + frame(1, b"stop front"), "listen": frame(1, b"listen a") + frame(1, b"mute"),
            "long": frame(1, b"watch " + b"x" * 200), "unmasked": frame(1, b"mute", b""), "ping": frame(9, b"abc") + frame(10, b""),
            "close": frame(8, b"\3\xe8"), "continued": frame(1, b"wat", fin=0) + frame(0, b"ch a"), "binary": frame(2, b"abc"), "reserved": frame(1 | 0x70, b"mute"),
            "too-long": frame(1, b"x" * 1100), "length-64": frame(1, b"", length=b"\xff" + b"\xff" * 8), "length-7f": frame(1, b"", length=b"\xff\x7f" + b"\xff" * 7),
            "empty": frame(1, b""), "nothing": b"", "control-long": frame(9, b"x" * 130)}.items():
        seed("page-websocket", name, WHOLE + data)
        seed("page-websocket", name + "-bytewise", BYTEWISE + data)


# --- The decoder's process --------------------------------------------------------------------

def box():
    """As FuzzTarget.decoderReports reads it: walls, units, whether the beginning is made up too."""
    def frame(kind=3, format=0, width=16, height=16, planes=((0, 16), (512, 8), (1024, 8)), memory=1):
        places = b"".join(struct.pack(">IH", offset, stride) for offset, stride in planes)
        return (bytes([kind, format, width, height, len(planes)]) + places + bytes([4, 9, memory, 1, 1])
                + b"\0\x10")
    memory = b"\1" + struct.pack(">I", 4096)
    done = b"\6\1\1"
    for name, reports in {
            "frame": memory + frame() + done, "two-frames": memory + frame() + done + frame() + done,
            "beyond": memory + frame(planes=((4090, 16), (512, 8), (1024, 8))) + done,
            "narrow": memory + frame(planes=((0, 8), (512, 8), (1024, 8))) + done,
            "few-planes": memory + frame(planes=((0, 16),)) + done, "unknown-format": memory + frame(format=127) + done,
            "ten-bits": memory + frame(format=62, planes=((0, 32), (1024, 16), (2048, 16))) + done,
            "no-memory": frame() + done, "dropped": memory + b"\2\1" + frame() + done,
            "huge": memory + frame(width=255, height=255) + done, "empty": memory + frame(width=0) + done,
            "failure": b"\5\2\1" + done, "bytes": b"\0\x05\5\0\0\0\0", "greedy": memory * 20, "ready-again": b"\x08\0",
            "nothing": b""}.items():
        seed("box", name, b"\x07\2\0" + reports)
        seed("box", name + "-at-once", b"\x07\2\1" + reports)
    for place in range(0, 160, 7):
        seed("box", f"frame-with-byte-{place}", b"\x07\2\0" + memory + frame(kind=7) + bytes([place, 0xFF]) + done)


# --- What others have: vectors of their tests, and recorded sessions ----------------------------

def vectors():
    """The rows that no other part, and no test beside this one, has as files."""
    rows = {row["id"]: row for row in json.load(open(os.path.join(SHARED, "vectors", "unit_vectors.json")))}
    for name, row in rows.items():
        if row["area"] != "REORDER":
            continue
        numbers = b"".join(
            b"\x0b\0" + piece(bytes.fromhex(n["packet_hex"])) if isinstance(n, dict)
            else b"\6" + struct.pack(">H", n) + b"\0" for n in row["input"])
        seed("reorder", "vector-" + name.lower(), bytes([2, 0, 0, 0, 0, 0]) + numbers + b"\x09\xff")
    # Across the roll-over and back: 65530, 0, 65529, which is late, 65530 once more, and 5.
    seed("srtp", "vector-srtp-018", bytes([0, 0, 2]) + b"\2\3" * 6 + b"\2\1" + b"\2\3" + b"\0" + piece(b"m") + b"\2\1\2\2"
         + b"\0" + piece(b"n") + b"\3\x07\3\x08\3\x08" + b"\2\3" + b"\0" + piece(b"o"))
    for number, name in ((5000, "019"), (5001, "020"), (65535, "021")):
        payload = bytes.fromhex(rows["SRTP-" + name]["input"].split("payload ")[1])
        seed("srtp", "vector-srtp-" + name, bytes([0, 0, 1]) + b"\5"
             + piece(rtp(payload, number=number, ssrc=0, type=0)) + b"\0" + b"\0" + piece(b"m"))
    for name, suite in (("014", "AES_CM_128_HMAC_SHA1_80"), ("015", "AES_256_CM_HMAC_SHA1_80"),
                        ("016", "AES_CM_128_HMAC_SHA1_80")):
        words = rows["SRTP-" + name]["input"].replace("session key", "master").split()
        secret = bytes.fromhex(words[1] + words[3])
        seed("srtp-keys", "vector-srtp-" + name, suite.encode() + b" " + base64.b64encode(secret) + b"\n")


def datagrams(name):
    """The UDP datagrams of an IPv4 capture with their times in milliseconds, and its frames."""
    data = open(os.path.join(SHARED, "captures", name), "rb").read()
    frames, place = [], 24
    if name.endswith("ng"):
        place = 0
        while place + 12 <= len(data):
            kind, length = struct.unpack_from(">II", data, place)
            if kind == 6:
                high, low, size = struct.unpack_from(">III", data, place + 12)
                frames.append(((high << 32 | low) // 1_000_000, data[place + 28:place + 28 + size]))
            place += length
    else:
        while place + 16 <= len(data):
            seconds, micros, size = struct.unpack_from("<III", data, place)
            frames.append((seconds * 1000 + micros // 1000, data[place + 16:place + 16 + size]))
            place += 16 + size
    packets = []
    for time, frame in frames:
        ip = frame if name.endswith("ng") else frame[14:]
        if ip[0] == 0x45 and ip[9] == 17:
            packets.append((time, ip[28:20 + struct.unpack_from(">H", ip, 24)[0]]))
    return packets, [frame for _, frame in frames]


def recordings():
    """The beginning of each recorded session, as far as it fits into some kilobytes; none has RTCP, or a client's words."""
    def first(items, room, size=len):
        taken = []
        for item in items:
            room -= size(item)
            if room < 0:
                break
            taken.append(item)
        return taken
    def video_payloads(packets):
        payloads, last = [], None
        for packet in packets:
            number, time = struct.unpack_from(">HI", packet, 2)
            start = 12 + 4 * (packet[0] & 15)
            if packet[0] & 0x10:
                start += 4 + 4 * struct.unpack_from(">H", packet, start + 2)[0]
            lost = 0 if last is None else min((number - last[0] - 1) & 0xFFFF, 4)
            flags = packet[1] >> 7 | (2 if last is None or time != last[1] else 0)
            payloads.append((flags | (8 | lost - 1 << 6 if lost else 0), packet[start:]))
            last = (number, time)
        return payloads

    for name, file, codec in (("membrane", "membrane_h264_before_sr.pcap", "h264"), ("str0m", "str0m_h264.pcap", "h264"),
                              ("tau", "tau_wilson_h265.pcap", "h265"),
                              ("gst", "gst_zerolatency_sets_before_each_slice.pcapng", "h264")):
        packets, frames = datagrams(file)
        size = lambda item: len(item[1])
        beginning = first(packets, 6000, size)
        waits = [0] + [min(b - a, 255) for (a, _), (b, _) in zip(packets, packets[1:])]
        # In the order of their numbers, as they come out of the processor.
        ordered = sorted((p for _, p in beginning), key=lambda p: struct.unpack_from(">H", p, 2)[0] + 0x8000 & 0xFFFF)
        seed(codec, f"recorded-{name}", stream(0, video_payloads(ordered)))
        seed("second-reading", f"recorded-{name}", bytes([codec == "h265"]) + b"".join(piece(p) for _, p in video_payloads(ordered[:8])))
        # The headers tell the order.
        seed("reorder", f"recorded-{name}", bytes([2, 0, 0, 0, 0, 1]) + b"".join(
            b"\x09" + bytes([wait]) + b"\x0b\0" + piece(p[:40])
            for wait, (_, p) in zip(waits, packets[:90])))
        for kind in (0, 64):
            seed("reception", f"recorded-{name}-{kind}", bytes([kind, 0]) + b"".join(
                b"\7" + bytes([wait]) + b"\5" + piece(p) + b"\0"
                for wait, (_, p) in zip(waits, beginning)))
        seed("network", f"recorded-{name}", b"".join(
            bytes([file.endswith("ng"), 1]) + piece(frame) for frame in first(frames, 4000)))
        seed("framed", f"recorded-{name}", bytes([0, 1]) + b"\2\x25\xf0" + b"".join(
            struct.pack(">I", len(p)) + p for _, p in beginning[:4]))

    data = open(os.path.join(SHARED, "captures", "retina_bunny.rtsp"), "rb").read()
    packets, place = [], 0
    while place + 4 <= len(data):
        channel, length = struct.unpack_from(">BH", data, place + 1)
        packets.append((channel, data[place + 4:place + 4 + length]))
        place += 4 + length
    video, sound = ([p for c, p in packets if c == channel] for channel in (2, 0))
    seed("h264", "recorded-bunny", stream(0, video_payloads(first(video, 6000))))
    seed("sound", "recorded-bunny", bytes([0, 2]) + b"".join(bytes([3]) + piece(p[12:]) for p in first(sound, 4000)))
    # As the target describes them: video of type 96 on its first track, sound of type 97.
    def described(channel, packet):
        track = 0 if channel == 2 else 1
        return b"\5" + piece(packet[:1] + bytes([packet[1] & 0x80 | 96 + track]) + packet[2:]) + bytes([track])
    beginning = first(packets, 7000, lambda item: len(item[1]))
    for kind in (0, 64):
        seed("reception", f"recorded-bunny-{kind}", bytes([kind, 1, 0, 1]) + b"".join(
            described(c, p) + b"\7\x14" for c, p in beginning))

    answer = open(os.path.join(SHARED, "captures", "retina_bunny.describe.txt"), "rb").read()
    head, body = answer.replace(b"\r\n", b"\n").split(b"\n\n", 1)
    fields = dict(line.split(b": ", 1) for line in head.split(b"\n")[1:])
    text = lambda field: b"\0" + piece(fields[field])
    answers = b"\0\0\0\0" + b"\0\0\2" + b"\6" + text(b"Content-Base") + b"\1" + text(b"Session") + b"\0\1" + piece(body)
    # Transport and Session in the answers to SETUP, and then that to PLAY.
    answers += (b"\0\0\2\0\1\0\1" + text(b"Session") + b"\0") * 2 + b"\0\0\0\0" + b"\x09" * 4
    seed("rtsp-client", "recorded-bunny", bytes([1, 0, 0, 0, 0]) + answers)
    whole = answer.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    whole = whole.replace(b"Content-Length: 589", b"Content-Length: %d" % (len(whole) - whole.index(b"\r\n\r\n") - 4))
    for cuts, how in ((WHOLE, ""), (b"\3\x07\xff\x30", "-cut")):
        seed("rtsp-proxy", "recorded-bunny" + how, cuts + whole + data[:2000])


parts = [packets, order, video, sound, descriptions, connections, headers, sessions, files, box]
if os.path.isdir(SHARED):
    parts += [vectors, recordings]
for part in parts:
    part()
