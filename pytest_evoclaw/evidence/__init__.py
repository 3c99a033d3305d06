"""The hard-mode evidence protocol: cases, their right reports, and fresh fixtures for any seed.

Reading (``formats``, ``derive``) and writing (``planning``, ``generator``) share only the model:
what is right for a case is derived from its file, never taken from the generator.
"""

from __future__ import annotations

from pytest_evoclaw.evidence.derive import choose_packet
from pytest_evoclaw.evidence.derive import derive_report
from pytest_evoclaw.evidence.formats import read_case
from pytest_evoclaw.evidence.model import Case
from pytest_evoclaw.evidence.model import EvidenceError
from pytest_evoclaw.evidence.model import Packet
from pytest_evoclaw.evidence.model import Record
from pytest_evoclaw.evidence.suite import build_fixtures
from pytest_evoclaw.evidence.suite import build_suite
from pytest_evoclaw.evidence.suite import list_generated_tasks

__all__ = [
    "Case",
    "EvidenceError",
    "Packet",
    "Record",
    "build_fixtures",
    "build_suite",
    "choose_packet",
    "derive_report",
    "list_generated_tasks",
    "read_case",
]
