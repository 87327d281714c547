"""A certificate authority for one test run, by openssl."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    file: Path
    key: Path


class Authority:
    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.own = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-out", str(self.own.file), "-keyout", str(self.own.key)),
        )

    def issue(self, subject: str) -> Certificate:
        """For this machine by its address and its name; `subject` is such as /CN=ann."""
        stem = self._folder / subject.replace("/", "_").replace("=", "-")
        made = Certificate(stem.with_suffix(".pem"), stem.with_suffix(".key"))
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", subject, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
            *("-addext", "basicConstraints=critical,CA:FALSE", "-out", str(made.file), "-keyout", str(made.key)),
            *("-CA", str(self.own.file), "-CAkey", str(self.own.key)),
        )
        return made


def _openssl(*words: str) -> None:
    subprocess.run(("openssl", *words), check=True, capture_output=True, timeout=60)
