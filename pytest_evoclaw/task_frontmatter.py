"""The frontmatter of a task: YAML with line numbers, valid by the published schema."""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import NoReturn
from typing import cast

from pytest_evoclaw.errors import TaskFormatError

if TYPE_CHECKING:
    import yaml
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

FENCE = "---"
Place = tuple[str | int, ...]
"""The way to a field: ``("workspace_files", 1, "dest")``, list items counted from 0."""
_KINDS = {"NoneType": "nothing", "SequenceNode": "a list", "ScalarNode": "a value alone"}


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The fields, and for each the line it stands on (from 1); ``end`` is the closing line."""

    path: Path
    fields: Mapping[str, Any]
    lines: Mapping[Place, int]
    end: int

    def fail(self, place: Place, message: str) -> NoReturn:
        """Raise TaskFormatError at the line of a field, or of the nearest one around it."""
        raise self.make_error(place, message)

    def make_error(self, place: Place, message: str) -> TaskFormatError:
        """Return the error that :meth:`fail` raises."""
        return TaskFormatError(self.path, self.find_line(place), show_place(place), message)

    def find_line(self, place: Place) -> int:
        """Return the line of a field, or of the nearest one around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def show_place(place: Place) -> str:
    """Return ``workspace_files[2].dest`` for a path into the fields."""
    words = [f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place]
    return "".join(words).lstrip(".") or "frontmatter"


def read_frontmatter(path: Path, text: str) -> Frontmatter:
    """Read and validate the frontmatter of a task file; TaskFormatError for the first fault."""
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        found = f"found {lines[0][:60]!r}, allowed {FENCE!r}"
        raise TaskFormatError(path, 1, "frontmatter", found)
    end = next((n for n, line in enumerate(lines[1:], start=2) if line.rstrip() == FENCE), None)
    if end is None:
        raise TaskFormatError(path, 1, "frontmatter", f"found no closing line, allowed {FENCE!r}")
    fields, places = _load(path, "\n".join(lines[1 : end - 1]))
    frontmatter = Frontmatter(path, fields, places, end)
    _validate(frontmatter)
    return frontmatter


def _load(path: Path, source: str) -> tuple[dict[str, Any], dict[Place, int]]:
    import yaml

    try:
        root = yaml.compose(source, yaml.SafeLoader)
        if not isinstance(root, yaml.MappingNode):
            found = _KINDS[type(root).__name__]
            message = f"found {found}, allowed fields: key: value"
            raise TaskFormatError(path, 2, "frontmatter", message)
        places = _find_places(path, source, root)
        return _construct(path, root, places), places
    except RecursionError as error:
        message = "found YAML that is nested too deeply, allowed fields: key: value"
        raise TaskFormatError(path, 1, "frontmatter", message) from error
    except yaml.reader.ReaderError as error:
        line = source.count("\n", 0, error.position) + 2
        message = f"found the character U+{error.character:04X}, allowed text"
        raise TaskFormatError(path, line, "frontmatter", message) from error
    except yaml.MarkedYAMLError as error:
        line = _find_line(source, error.problem_mark) if error.problem_mark else 1
        message = f"found YAML that does not parse: {error.problem}"
        raise TaskFormatError(path, line, "frontmatter", message) from error


def _construct(path: Path, root: yaml.MappingNode, places: Mapping[Place, int]) -> dict[str, Any]:
    import yaml

    loader = yaml.SafeLoader("")
    fields = {}
    for key, node in root.value:
        try:
            fields[key.value] = loader.construct_document(node)
        except ValueError as error:
            # What looks like a value of its type and is none, such as the day 2026-02-31.
            message = f"found a value that is none: {error}"
            raise TaskFormatError(path, places[(key.value,)], key.value, message) from error
    return fields


def _find_line(source: str, mark: yaml.Mark) -> int:
    # Not ``mark.line``: to YAML, characters such as U+2028 end a line as well.
    return source.count("\n", 0, mark.index) + 2


def _find_places(path: Path, source: str, root: yaml.MappingNode) -> dict[Place, int]:
    """Return the line of each part; TaskFormatError for a key that stands twice, or an alias."""
    places: dict[Place, int] = {}
    seen: set[int] = set()
    waiting: list[tuple[Place, yaml.Node]] = [((), root)]
    while waiting:
        place, node = waiting.pop()
        for inner, start, part in _list_parts(place, node):
            line = _find_line(source, start.start_mark)
            if inner in places:
                raise TaskFormatError(path, line, show_place(inner), "found twice, allowed once")
            if id(part) in seen:
                message = "found an alias (*), allowed a value written out"
                raise TaskFormatError(path, line, show_place(inner), message)
            places[inner] = line
            seen.add(id(part))
            waiting.append((inner, part))
    return places


def _list_parts(place: Place, node: yaml.Node) -> Iterator[tuple[Place, yaml.Node, yaml.Node]]:
    """Yield for each part the way to it, the node it starts with, and its value."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key is no text", problem_mark=key.start_mark)
            yield (*place, str(key.value)), key, value
    if isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield (*place, number), value, value


@cache
def _make_validator() -> Validator:
    from jsonschema import Draft202012Validator

    from pytest_evoclaw.schemas import read_schema

    return Draft202012Validator(read_schema("task"))


def _validate(frontmatter: Frontmatter) -> None:
    for place, value in _walk(frontmatter.fields, ()):
        allowed = _refuse(value)
        if allowed:
            frontmatter.fail(place, f"found {_show(value)}, allowed {allowed}")
    faults = list(_make_validator().iter_errors(dict(frontmatter.fields)))
    if faults:
        # A misspelt field is missing, too: its spelling is the better thing to say.
        first = min(
            faults,
            key=lambda fault: (
                fault.validator == "required",
                frontmatter.find_line(_find_place(fault)),
                str(fault),
            ),
        )
        frontmatter.fail(_find_place(first), _explain(first))


def _refuse(value: Any) -> str | None:
    """Return what is allowed instead of a value that JSON cannot hold, None if it can."""
    if isinstance(value, float) and not math.isfinite(value):
        return "a finite number"
    if isinstance(value, int) and abs(value) >= 2**63:
        return "a number of 64 bits"
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        return "Unicode text"
    return None


def _walk(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    yield place, value
    items = value.items() if isinstance(value, dict) else ()
    parts = [*items] or [*enumerate(value)] if isinstance(value, dict | list) else []
    for key, part in parts:
        yield from _walk(part, (*place, key))


def _show(value: Any) -> str:
    shown = hex(value) if isinstance(value, int) and abs(value) >= 2**63 else repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"


def _find_place(fault: ValidationError) -> Place:
    place = tuple(fault.absolute_path)
    if fault.validator == "additionalProperties":
        return (*place, _find_unknown(fault))
    if fault.validator == "required":
        return (*place, _find_missing(fault))
    return place


def _find_schema(fault: ValidationError) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", fault.schema)


def _find_mapping(fault: ValidationError) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", fault.instance)


def _find_unknown(fault: ValidationError) -> str:
    return str(
        next(key for key in _find_mapping(fault) if key not in _find_schema(fault)["properties"])
    )


def _find_missing(fault: ValidationError) -> str:
    return str(
        next(key for key in _find_schema(fault)["required"] if key not in _find_mapping(fault))
    )


def _explain(fault: ValidationError) -> str:
    if fault.validator == "additionalProperties":
        return _explain_unknown(_find_unknown(fault), list(_find_schema(fault)["properties"]))
    if fault.validator == "required":
        field = _find_schema(fault)["properties"][_find_missing(fault)]
        return f"found nothing, allowed {field.get('description', 'a value')}"
    allowed = _find_schema(fault).get("description", fault.message)
    return f"found {_show(fault.instance)}, allowed {allowed}"


def _explain_unknown(name: str, allowed: list[str]) -> str:
    close = get_close_matches(name, allowed, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"found an unknown field, allowed {', '.join(allowed)}{hint}"
