"""Small functions on files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def safe_read_json(path: Path, default: Any = None) -> Any:
    """Return the value of a JSON file in UTF-8; ``default`` if it is missing or no valid JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return default


def find_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files below ``folder``, at any depth, whose names fit ``pattern``; sorted.

    Folders are left out, and so is every file whose own name begins with a dot.
    """
    found = (path for path in folder.rglob(pattern) if path.is_file())
    return sorted(path for path in found if not path.name.startswith("."))


def file_checksum(path: Path, algorithm: str = "sha256") -> str:
    """Return the digest of the whole file as lower-case hex.

    ValueError for an unknown algorithm.
    """
    if algorithm not in ("md5", "sha1", "sha256"):
        raise ValueError(f"unknown algorithm: {algorithm}")
    digest = hashlib.new(algorithm)
    with path.open("rb") as stream:
        while block := stream.read(8192):
            digest.update(block)
    return digest.hexdigest()
