"""The commands of ``evoclaw``, one file each; see :mod:`pytest_evoclaw.cli`."""

from __future__ import annotations
