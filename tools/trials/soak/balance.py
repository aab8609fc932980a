"""What a sender says that it sent, against what its receiver says that came, to the packet."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..web import last_object

# The outcomes of RTPProcessor: each packet has one of them.
OUTCOMES = (
    "delivered", "correction", "retransmission", "held", "duplicate", "overtaken", "late",
    "foreign_source", "ignored_payload_type", "unconfirmed", "malformed", "control", "malformed_control")


# A loss before the first packet that came, or behind the last one, cannot be noticed: at most one
# burst of each.
MOST_UNSEEN = 8


@dataclass(frozen=True)
class Equation:
    """Two sums that must be equal."""

    name: str
    left: int
    right: int
    detail: str
    unseen: int = 0
    """By how much the right one may be less."""

    @property
    def holds(self) -> bool:
        return 0 <= self.left - self.right <= self.unseen


def inner(name: str, stats: Path) -> list[Equation]:
    """What holds of any receiver by itself."""
    values = last_object(stats)
    if not values:
        return [Equation(f"{name}: statistics", 0, 1, "there are none")]
    rtp = values["rtp"]
    # Sound in a place of its own has as many reports as the pictures, which are not among its packets.
    # Where it shares theirs, it is counted with them.
    sound = [] if rtp["ignored_payload_type"] else [
        track["packets"] + track["duplicate"] for track in values["tracks"] if track["kind"] == "audio"]
    found = [
        Equation(
            f"{name}: every packet has an outcome", rtp["received"] + rtp["recovered"],
            sum(rtp[outcome] for outcome in OUTCOMES),
            " + ".join(f"{rtp[o]} {o}" for o in OUTCOMES if rtp[o])),
        Equation(
            f"{name}: every datagram is a packet", values["transport"]["delivered"],
            rtp["received"] + sum(sound), "delivered by the transport = received",
            unseen=len(sound) * (rtp["control"] + 5)),
    ]
    found.append(Equation(
        f"{name}: no decoder was lost", values["delivery"]["decoder_restarts"], 0, "restarts"))
    for output in values["outputs"]:
        parts = ("written", "dropped", "skipped", "discarded")
        found.append(Equation(
            f"{name}: output {output['name']}", output["offered"],
            sum(output[part] for part in parts) + (1 if output.get("error") else 0),
            " + ".join(f"{output[part]} {part}" for part in parts if output[part])
            + (f"; {output['error']}" if output.get("error") else "")))
    return found


def between(sender: str, receiver: str, folder: Path, unread: int = 0) -> list[Equation]:
    """What holds of a sender and its only receiver, who may have left so many datagrams unread."""
    sent = last_object(folder / f"{sender}.stats")
    came = last_object(folder / f"{receiver}.stats")
    if not sent or not came:
        return [Equation(f"{sender} → {receiver}", 0, 1, "no statistics")]
    transport = came["transport"]
    refused = ("empty", "foreign_origin", "unproven_source", "rtcp_without_media", "not_rtp")
    tracks = [track for track in came["tracks"] if track["chosen"]]
    lost, late = (sum(track[count] for track in tracks) for count in ("lost", "late"))
    return [
        Equation(
            f"{sender} → {receiver}: datagrams", sent["datagrams"],
            transport["delivered"] + transport["kernel_dropped"] + transport["kernel_dropped_rtcp"]
            + sum(transport[reason] for reason in refused),
            f"{sent['datagrams']} sent = {transport['delivered']} delivered + "
            f"{transport['kernel_dropped']} + {transport['kernel_dropped_rtcp']} dropped by the kernel "
            "+ refused" + (f"; up to {unread} unread at the end" if unread else ""), unseen=unread),
        Equation(
            f"{sender} → {receiver}: losses", sent["lost"] + transport["kernel_dropped"],
            lost - late, f"{sent['lost']} taken away by the sender's plan = {lost} missed"
            + (f" - {late} that came late" if late else "")
            + "; none before the first packet that came or behind the last can be noticed",
            unseen=MOST_UNSEEN if sent["lost"] else 0),
    ]


def published(stats: Path) -> int:
    """The messages that a server of NATS has acknowledged to a receiver that passes a camera on."""
    outputs = last_object(stats).get("outputs", [])
    return sum(output.get("acknowledged", 0) for output in outputs)


def in_nats(publisher: str, reader: str, folder: Path) -> list[Equation]:
    """What holds of a camera in NATS, which nobody else publishes."""
    came = last_object(folder / f"{reader}.stats").get("transport", {}).get("nats", {})
    return [
        Equation(
            f"{publisher} → NATS → {reader}: messages", published(folder / f"{publisher}.stats"),
            came.get("position", -1), "acknowledged = the number of the last one that came"),
        Equation(
            f"NATS → {reader}: messages that were gone", came.get("expired_messages", -1), 0,
            "before they were delivered"),
    ]


def film(receiver: str, folder: Path, name: str) -> Equation:
    """What a receiver says that it wrote, against what FFmpeg finds in the file."""
    outputs = last_object(folder / f"{receiver}.stats").get("outputs", [])
    written = sum(output["written"] for output in outputs if output["name"] == name)
    found = subprocess.run(
        ["ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets",
         "-of", "csv=p=0", folder / name], capture_output=True, text=True)
    count = int(found.stdout.split()[0]) if found.stdout.split() else -1
    return Equation(f"{receiver}: FFmpeg finds in {name}", written, count, "pictures written = found")
