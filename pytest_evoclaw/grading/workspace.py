"""What graders see of a finished workspace: bounded readers that fail the check, never hang."""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from pathlib import PurePosixPath
from typing import Any
from typing import TypeVar
from xml.etree import ElementTree

from pytest_evoclaw.errors import CheckFailed
from pytest_evoclaw.grading import archives
from pytest_evoclaw.grading import parsers
from pytest_evoclaw.grading.checklist import GraderFault
from pytest_evoclaw.safe_files import Skipped
from pytest_evoclaw.safe_files import UnsafeFile
from pytest_evoclaw.safe_files import read_regular
from pytest_evoclaw.safe_files import tell_kind
from pytest_evoclaw.safe_files import walk_regular

FILE_BYTES = 20_000_000
YAML_BYTES = 1_000_000  # a few seconds, so slow is YAML
FILES = 10_000
_Value = TypeVar("_Value")


class GradedWorkspace:
    """Passed to graders and to ``solve()`` as ``workspace``.

    Names are posix paths relative to the workspace, such as ``outputs/report.json``. Readers raise
    CheckFailed (so use them inside a check) for what an agent can have done to the file: it is
    missing, no regular file, too large or malformed. What they return is read once and shared
    by all checks, failures included: do not change it.
    """

    def __init__(
        self,
        path: Path,
        *,
        fixtures: Mapping[str, Path] | None = None,
        task_id: str = "",
        transcript: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.path = path
        self.task_id = task_id
        self.transcript = tuple(transcript)
        self._fixtures = dict(fixtures or {})
        self._known: dict[tuple[Any, ...], Any] = {}

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def fixture(self, name: str) -> Path:
        """Return a pristine copy of an input, out of the agent's reach; LookupError if unknown."""
        try:
            return self._fixtures[name]
        except KeyError:
            known = ", ".join(sorted(self._fixtures)) or "none"
            raise LookupError(f"the task has no input {name!r}; its inputs are: {known}") from None

    def bytes(self, name: str, *, limit: int = FILE_BYTES) -> builtins.bytes:
        """Return the content of a regular file of at most ``limit`` bytes."""
        return self._once(("bytes", name, limit), lambda: self._read(name, limit))

    def text(self, name: str, *, encoding: str = "utf-8", limit: int = FILE_BYTES) -> str:
        """Return the text; line ends stay as they are, a UTF-8 byte order mark is dropped."""
        return self._once(
            ("text", name, encoding, limit),
            lambda: parsers.decode(self.bytes(name, limit=limit), name, encoding),
        )

    def json(self, name: str) -> Any:
        """Return a JSON value; no NaN, no infinities, no repeated keys, at most 64 levels."""
        return self._once(("json", name), lambda: parsers.parse_json(self.text(name), name))

    def json_lines(self, name: str) -> list[Any]:
        """Return one JSON value per line; blank lines are left out."""
        return self._once(
            ("json_lines", name), lambda: parsers.parse_json_lines(self.text(name), name)
        )

    def csv(
        self,
        name: str,
        *,
        delimiter: str = ",",
        columns: Sequence[str] | None = None,
        encoding: str = "utf-8",
    ) -> list[dict[str, str]]:
        """Return one dict per record; ``columns`` is the exact header that is due, if given."""
        due = None if columns is None else tuple(columns)
        return self._once(
            ("csv", name, delimiter, due, encoding),
            lambda: parsers.parse_csv(
                self.text(name, encoding=encoding), name, delimiter=delimiter, columns=due
            ),
        )

    def yaml(self, name: str) -> Any:
        """Return the value of a YAML file of one document and at most 1 MB, by the safe loader."""
        return self._once(
            ("yaml", name), lambda: parsers.parse_yaml(self.text(name, limit=YAML_BYTES), name)
        )

    def xml(self, name: str) -> ElementTree.Element:
        """Return the root element; document types are refused."""
        return self._once(("xml", name), lambda: parsers.parse_xml(self.bytes(name), name))

    def xlsx(self, name: str, *, values: bool = False) -> Any:
        """Return an openpyxl Workbook; ``values`` gives the cached results instead of formulas."""
        return self._once(
            ("xlsx", name, values),
            lambda: archives.open_workbook(self.bytes(name), name, values=values),
        )

    def docx(self, name: str) -> Any:
        """Return a python-docx Document."""
        return self._once(("docx", name), lambda: archives.open_document(self.bytes(name), name))

    def names(self, folder: str = "outputs", pattern: str = "*") -> list[str]:
        """Return the sorted names of all files below ``folder`` whose last part fits ``pattern``.

        CheckFailed if the folder is missing, or holds more than 10,000 entries or anything that is
        neither folder nor regular file. Names are relative to the workspace.
        """
        return self._once(("names", folder, pattern), lambda: self._list(folder, pattern))

    def _read(self, name: str, limit: int) -> builtins.bytes:
        try:
            return read_regular(self.path, name, limit)
        except UnsafeFile as error:
            raise CheckFailed(str(error)) from error

    def _list(self, folder: str, pattern: str) -> list[str]:
        root = self.path
        for part in PurePosixPath(folder).parts:
            root = root / part
            _require_folder(root, folder)
        found = []
        for entry in walk_regular(root, FILES):
            if isinstance(entry, Skipped):
                raise CheckFailed(f"{folder}: {entry}")
            if fnmatchcase(PurePosixPath(entry).name, pattern):
                found.append(str(PurePosixPath(folder) / entry))
        return sorted(found)

    def _once(self, key: tuple[Any, ...], read: Callable[[], _Value]) -> _Value:
        """Return what ``read`` returned, or raise what it raised, the first time."""
        if key not in self._known:
            _check_name(key[1])
            try:
                self._known[key] = read()
            except CheckFailed as error:
                self._known[key] = CheckFailed(str(error))
            except MemoryError:
                self._known[key] = CheckFailed(f"{key[1]}: needs more memory than grading has")
        known = self._known[key]
        if isinstance(known, CheckFailed):
            raise CheckFailed(str(known))
        value: _Value = known
        return value


def _require_folder(path: Path, name: str) -> None:
    try:
        kind = tell_kind(os.lstat(path).st_mode)
    except OSError as error:
        raise CheckFailed(f"{name}: missing") from error
    if kind != "folder":
        raise CheckFailed(f"{name}: not a folder ({kind})")


def _check_name(name: str) -> None:
    """Names come from graders; one that leaves the workspace is their fault."""
    if not name or name.startswith("/") or re.search(r"(^|/)\.\.(/|$)|\0", name):
        raise GraderFault(f"file name: found {name!r}, allowed a path inside the workspace")
