"""The order that a command is sent to the program above it with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from collections.abc import Sequence

from pytest_evoclaw.errors import NotScored
from pytest_evoclaw.errors import Reason


def encode_order(
    limits: tuple[float, float, int], cwd: object, argv: Sequence[str], variables: Mapping[str, str]
) -> bytes:
    """Return what :func:`pytest_evoclaw.drivers.reaper.read_order` reads.

    ``limits`` are seconds, grace and bytes of output. NotScored for what no process can be given.
    """
    if not argv or not argv[0]:
        raise _not_scored("cannot start a command without a program")
    texts = {f"argument {n} of {argv[0]!r}": s for n, s in enumerate(argv)}
    for name, value in variables.items():
        if not name or "=" in name:
            raise _not_scored(f"variable {name!r}: a name is not empty and has no '='")
        texts[f"variable {name!r}"] = f"{name}={value}"
    fields = (*limits, os.getpid(), cwd, len(argv))
    encoded = [os.fsencode(str(field)) for field in fields]
    for what, text in texts.items():
        try:
            encoded.append(os.fsencode(text))
        except UnicodeEncodeError as error:
            raise _not_scored(f"{what} cannot be encoded: {error}") from error
        if "\0" in text:
            raise _not_scored(f"{what} has a NUL character at {text.index(chr(0))}")
    order = b"\0".join(encoded)
    return len(order).to_bytes(8, "big") + order


def _not_scored(detail: str) -> NotScored:
    return NotScored(Reason.ENVIRONMENT, detail)
