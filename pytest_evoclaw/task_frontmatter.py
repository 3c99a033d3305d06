"""The frontmatter of a task: YAML with line numbers, valid by the published schema."""

from __future__ import annotations

import math
from collections.abc import Hashable
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


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The fields, and for each the line it stands on (from 1); ``end`` is the closing line."""

    path: Path
    fields: Mapping[str, Any]
    lines: Mapping[tuple[str | int, ...], int]
    end: int

    def fail(self, place: tuple[str | int, ...], message: str) -> NoReturn:
        """Raise TaskFormatError at the line of a field, or of the nearest one around it."""
        raise TaskFormatError(self.path, self.find_line(place), show_place(place), message)

    def find_line(self, place: tuple[str | int, ...]) -> int:
        """Return the line of a field, or of the nearest one around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def show_place(place: tuple[str | int, ...]) -> str:
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
        raise TaskFormatError(path, 1, "frontmatter", f"found no closing {FENCE!r}")
    fields, places = _load(path, "\n".join(lines[1 : end - 1]))
    frontmatter = Frontmatter(path, fields, places, end)
    _validate(frontmatter)
    return frontmatter


def _load(path: Path, source: str) -> tuple[dict[str, Any], dict[tuple[str | int, ...], int]]:
    import yaml

    try:
        loader = yaml.SafeLoader(source)
        node = loader.get_single_node()
        value = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        message = f"found YAML that does not parse: {error.problem}"
        raise TaskFormatError(path, line, "frontmatter", message) from error
    except (yaml.YAMLError, ValueError) as error:
        message = f"found YAML that does not parse: {error}"
        raise TaskFormatError(path, 1, "frontmatter", message) from error
    if not isinstance(value, dict) or node is None:
        found = "nothing" if value is None else f"a {type(value).__name__}"
        raise TaskFormatError(path, 2, "frontmatter", f"found {found}, allowed fields: key: value")
    return value, dict(_list_places(path, node, ()))


def _list_places(
    path: Path, node: yaml.Node, place: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], int]]:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*place, number), item.start_mark.line + 2
            yield from _list_places(path, item, (*place, number))
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[Hashable] = set()
    for key, item in node.value:
        line = key.start_mark.line + 2
        inner = (*place, str(key.value))
        if key.value in seen:
            raise TaskFormatError(path, line, show_place(inner), "found twice, allowed once")
        seen.add(key.value)
        yield inner, line
        yield from _list_places(path, item, inner)


@cache
def _make_validator() -> Validator:
    from jsonschema import Draft202012Validator

    from pytest_evoclaw.schemas import read_schema

    return Draft202012Validator(read_schema("task"))


def _validate(frontmatter: Frontmatter) -> None:
    for place, value in _walk(frontmatter.fields, ()):
        # JSON Schema has no word against these: they pass every limit.
        if isinstance(value, float) and not math.isfinite(value):
            frontmatter.fail(place, f"found {value}, allowed a finite number")
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


def _walk(value: Any, place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    yield place, value
    items = value.items() if isinstance(value, dict) else ()
    parts = [*items] or [*enumerate(value)] if isinstance(value, dict | list) else []
    for key, part in parts:
        yield from _walk(part, (*place, key))


def _find_place(fault: ValidationError) -> tuple[str | int, ...]:
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
    found = repr(fault.instance)
    shown = found if len(found) <= 80 else f"{found[:80]}…"
    return f"found {shown}, allowed {_find_schema(fault).get('description', fault.message)}"


def _explain_unknown(name: str, allowed: list[str]) -> str:
    close = get_close_matches(name, allowed, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"found an unknown field, allowed {', '.join(allowed)}{hint}"
