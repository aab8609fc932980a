"""Certificates of servers, right and wrong, made by openssl."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context

    def pin(self) -> str:
        """The SHA-256 of the certificate."""
        said = subprocess.run(
            ["openssl", "x509", "-in", self.certificate, "-noout", "-fingerprint", "-sha256"],
            check=True, capture_output=True, text=True).stdout
        return said.strip().partition("=")[2].replace(":", "").lower()


def make(
    folder: Path, name: str, *, authority: Certificate | None = None, host: str = "IP:127.0.0.1",
    days: int = 30,
) -> Certificate:
    """A certificate for a host, signed by itself or an authority; `days` below 0: expired."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    request, extensions = folder / f"{name}.csr", folder / f"{name}.ext"
    is_authority = host == ""
    extensions.write_text(
        "basicConstraints=critical,CA:TRUE\n" if is_authority else f"subjectAltName={host}\n")
    subprocess.run(
        ["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request,
         "-subj", f"/CN={name}"], check=True, capture_output=True)
    signer: list[str | Path]
    if authority:
        signer = ["-CA", authority.certificate, "-CAkey", authority.key, "-CAcreateserial"]
    else:
        signer = ["-signkey", key]
    subprocess.run(
        ["openssl", "x509", "-req", "-in", request, *signer, "-days", str(days), "-extfile",
         extensions, "-out", certificate], check=True, capture_output=True)
    return Certificate(certificate, key)
