"""Parse what an agent wrote: strict, bounded, and with words for what is wrong.

Each function raises CheckFailed for text that is malformed or that would blow up when it is
expanded; ``where`` is the file's name and begins the message.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

import yaml

from pytest_evoclaw.errors import CheckFailed

DEPTH = 64  # containers inside each other, in JSON, YAML and XML
JSON_CONTAINERS = 1_000_000
YAML_NODES = 100_000  # with each alias counted as often as it is used
_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same in C, ten times faster
_YAML_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def decode(data: bytes, where: str, encoding: str = "utf-8") -> str:
    """Return the text of ``data``; a byte order mark is dropped."""
    if codecs.lookup(encoding).name == "utf-8":
        data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise CheckFailed(f"{where}: not {encoding} at byte {error.start}") from error


def parse_json(text: str, where: str) -> Any:
    """Return the value; NaN, infinities, repeated keys and more than 64 levels are refused."""

    def refuse_constant(name: str) -> NoReturn:
        raise CheckFailed(f"{where}: {name} is not a JSON value")

    def read_float(literal: str) -> float:
        value = float(literal)
        if not math.isfinite(value):
            raise CheckFailed(f"{where}: the number {_short(literal)} is out of range")
        return value

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _refuse_repeated([key for key, _ in pairs], where)
        return dict(pairs)

    _check_json_size(text, where)
    try:
        return json.loads(
            text,
            object_pairs_hook=read_object,
            parse_constant=refuse_constant,
            parse_float=read_float,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise CheckFailed(f"{where}: not valid JSON: {error.msg} ({place})") from error
    except ValueError as error:  # an integer of thousands of digits
        raise CheckFailed(f"{where}: a number is out of range") from error


def parse_json_lines(text: str, where: str) -> list[Any]:
    """Return the value of each line; blank lines are left out."""
    lines = enumerate(text.split("\n"), start=1)
    return [parse_json(line, f"{where} line {number}") for number, line in lines if line.strip()]


def parse_csv(
    text: str, where: str, *, delimiter: str = ",", columns: Sequence[str] | None = None
) -> list[dict[str, str]]:
    """Return one dict per record, after the header; blank lines are left out.

    ``columns`` is the header that is due, in order; without it any distinct names will do.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    rows = []
    try:
        for cells in reader:
            if not cells:
                continue
            if header is None:
                header = _read_header(cells, where, columns)
            elif len(cells) != len(header):
                found = f"line {reader.line_num}: found {len(cells)} cells, expected {len(header)}"
                raise CheckFailed(f"{where}: {found}")
            else:
                rows.append(dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise CheckFailed(f"{where}: line {reader.line_num}: not valid CSV: {error}") from error
    if header is None:
        raise CheckFailed(f"{where}: has no header")
    return rows


def parse_yaml(text: str, where: str) -> Any:
    """Return the one document's value, with the types of YAML 1.1 (dates become ``date``)."""
    try:
        _check_yaml_size(text, where)
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _count_nodes(loader, node, {}, where)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise CheckFailed(f"{where}: not valid YAML: {error.problem}{place}") from error
    except yaml.YAMLError as error:
        raise CheckFailed(f"{where}: not valid YAML: {_short(str(error))}") from error
    except _YAML_ERRORS as error:  # PyYAML's own, for a tag that does not fit its value
        raise CheckFailed(f"{where}: not valid YAML: a value does not fit its type") from error


def parse_xml(data: bytes | str, where: str) -> ElementTree.Element:
    """Return the root element; document types, and with them entities, are refused."""
    scan_xml(data, where, lambda tag, attributes: None)
    try:
        return ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise CheckFailed(f"{where}: not valid XML: {error}") from error


def scan_xml(data: bytes | str, where: str, visit: Callable[[str, dict[str, str]], object]) -> None:
    """Call ``visit`` with the tag (``uri name``) and the attributes of each element."""
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEPTH:
            raise CheckFailed(f"{where}: nested deeper than {DEPTH} levels")
        visit(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse_doctype(*_: object) -> NoReturn:
        raise CheckFailed(f"{where}: has a document type, which is not allowed")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse_doctype
    try:
        parser.Parse(data, True)  # noqa: FBT003 - expat takes it by position only
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        place = f"line {error.lineno}, column {error.offset + 1}"
        raise CheckFailed(f"{where}: not valid XML: {reason} ({place})") from error
    except (ValueError, LookupError) as error:  # an encoding that Python does not have
        raise CheckFailed(f"{where}: not valid XML: unusable encoding") from error


def _check_json_size(text: str, where: str) -> None:
    """Count before parsing: the parser recurses once per level, and containers take memory."""
    if text.count("[") + text.count("{") <= DEPTH:
        return
    depth = containers = 0
    for match in _JSON_TOKEN.finditer(text):
        if match[0] in "[{":
            depth += 1
            containers += 1
            if depth > DEPTH:
                raise CheckFailed(f"{where}: nested deeper than {DEPTH} levels")
            if containers > JSON_CONTAINERS:
                raise CheckFailed(f"{where}: holds more than {JSON_CONTAINERS} lists and objects")
        elif match[0] in "]}":
            depth -= 1


def _check_yaml_size(text: str, where: str) -> None:
    """Look at the flat stream of events first: composing is slow, and recurses once per level."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if number > 2 * YAML_NODES:
            raise CheckFailed(f"{where}: holds more than {YAML_NODES} values")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH:
                raise CheckFailed(f"{where}: nested deeper than {DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _count_nodes(loader: Any, node: yaml.Node, counts: dict[int, int], where: str) -> int:
    """Return how many nodes ``node`` expands to; refuses cycles, repeated keys and infinities."""
    known = counts.get(id(node))
    if known is not None:
        if known == 0:
            raise CheckFailed(f"{where}: an alias contains itself")
        return known
    counts[id(node)] = 0
    if isinstance(node, yaml.ScalarNode):
        _read_scalar(loader, node, where)
        children: list[yaml.Node] = []
    elif isinstance(node, yaml.MappingNode):
        _refuse_repeated([_read_key(loader, key, where) for key, _ in node.value], where)
        children = [child for pair in node.value for child in pair]
    else:
        children = node.value
    total = 1 + sum(_count_nodes(loader, child, counts, where) for child in children)
    if total > YAML_NODES:
        raise CheckFailed(f"{where}: holds more than {YAML_NODES} values")
    counts[id(node)] = total
    return total


def _read_key(loader: Any, node: yaml.Node, where: str) -> Any:
    if not isinstance(node, yaml.ScalarNode):
        raise CheckFailed(f"{where}: line {node.start_mark.line + 1}: a key is not a scalar")
    return _read_scalar(loader, node, where)


def _read_scalar(loader: Any, node: yaml.ScalarNode, where: str) -> Any:
    if node.tag in ("tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"):
        return node.value
    value = loader.construct_object(node)
    if isinstance(value, float) and not math.isfinite(value):
        raise CheckFailed(f"{where}: line {node.start_mark.line + 1}: {node.value} is no number")
    return value


def _read_header(cells: list[str], where: str, columns: Sequence[str] | None) -> list[str]:
    if columns is not None and cells != list(columns):
        found = _short(",".join(cells))
        raise CheckFailed(f"{where}: found the header {found}, expected {','.join(columns)}")
    _refuse_repeated(cells, where, noun="column")
    return cells


def _refuse_repeated(keys: Sequence[Any], where: str, noun: str = "key") -> None:
    seen: set[Any] = set()
    for key in keys:
        if key in seen:
            raise CheckFailed(f"{where}: the {noun} {_short(repr(key))} comes twice")
        seen.add(key)


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}…"
