"""Case files as json, yaml, csv, txt and html: one writer and one reader for each."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from pytest_evoclaw.evidence.model import Case
from pytest_evoclaw.evidence.model import EvidenceError
from pytest_evoclaw.evidence.model import Packet
from pytest_evoclaw.evidence.model import Record

Row = dict[str, Any]

CASE_KEYS = ("task_id", "case_id", "title")
PACKET_KEYS = (
    "packet_id",
    "source",
    "status",
    "revision",
    "source_weight",
    "superseded_by",
    "nonce",
    "checksum",
)
RECORD_KEYS = ("record_id", "packet_id", "state", "channel", "revision")
BODY_KEYS = (
    "op",
    "value",
    "target",
    "bucket",
    "amount",
    "scale",
    "gate",
    "passed",
    "candidate",
    "score",
    "penalty",
)
_NUMBERS = {"revision", "source_weight", "amount", "scale", "score", "penalty"}
_SCRIPT = re.compile(
    r'<script type="application/json" data-section="(\w+)">(.*?)</script>', re.DOTALL
)


def render_case(case: Case, extension: str) -> str:
    """Return the text of a case file; it ends with a line break."""
    return _WRITERS[extension](case)


def read_case(path: Path) -> Case:
    """Read a case file by its extension.

    :raises EvidenceError: if the file breaks the protocol.
    """
    reader = _READERS.get(path.suffix.removeprefix("."))
    if reader is None:
        raise EvidenceError(f"{path}: found {path.suffix!r}, allowed {sorted(_READERS)}")
    try:
        return _build(reader(path.read_text(encoding="utf-8-sig")))
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise EvidenceError(f"{path}: not a case file: {error!r}") from error


def _facts(case: Case) -> Row:
    return {key: getattr(case, key) for key in CASE_KEYS}


def _packet_rows(case: Case) -> list[Row]:
    return [{key: getattr(packet, key) for key in PACKET_KEYS} for packet in case.packets]


def _record_rows(case: Case) -> list[Row]:
    rows = []
    for record in case.records:
        head = {key: getattr(record, key) for key in RECORD_KEYS}
        rows.append(head | {key: record.body[key] for key in BODY_KEYS if key in record.body})
    return rows


def _build(data: Row) -> Case:
    return Case(
        **{key: str(data[key]) for key in CASE_KEYS},
        channels={str(channel): str(field) for channel, field in data["channels"].items()},
        packets=tuple(Packet(**{key: row[key] for key in PACKET_KEYS}) for row in data["manifest"]),
        records=tuple(
            Record(
                **{key: row[key] for key in RECORD_KEYS},
                body={key: row[key] for key in BODY_KEYS if key in row},
            )
            for row in data["records"]
        ),
    )


def _line(row: Any) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(", ", ":"))


def _lines(rows: Iterable[Row], indent: str) -> str:
    return ",\n".join(indent + _line(row) for row in rows)


def _write_json(case: Case) -> str:
    head = "".join(f"  {_line(key)}: {_line(value)},\n" for key, value in _facts(case).items())
    return (
        f'{{\n{head}  "channels": {_line(dict(case.channels))},\n'
        f'  "manifest": [\n{_lines(_packet_rows(case), "    ")}\n  ],\n'
        f'  "records": [\n{_lines(_record_rows(case), "    ")}\n  ]\n}}\n'
    )


def _write_yaml(case: Case) -> str:
    # JSON objects are YAML flow mappings: one record a line keeps the file short.
    parts = [f"{key}: {_line(value)}\n" for key, value in _facts(case).items()]
    parts += ["channels:\n", *(f"  {key}: {value}\n" for key, value in case.channels.items())]
    parts += ["manifest:\n", *(f"  - {_line(row)}\n" for row in _packet_rows(case))]
    parts += ["records:\n", *(f"  - {_line(row)}\n" for row in _record_rows(case))]
    return "".join(parts)


def _write_csv(case: Case) -> str:
    records = _record_rows(case)
    body = [key for key in BODY_KEYS if any(key in row for row in records)]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    channels = [{"channel": key, "field": field} for key, field in case.channels.items()]
    for section, keys, rows in (
        ("case", CASE_KEYS, [_facts(case)]),
        ("channel", ("channel", "field"), channels),
        ("packet", PACKET_KEYS, _packet_rows(case)),
        ("record", (*RECORD_KEYS, *body), records),
    ):
        writer.writerow(["columns", section, *keys])
        writer.writerows([section, *(_cell(row.get(key)) for key in keys)] for row in rows)
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _write_txt(case: Case) -> str:
    rows: list[Row] = [{"section": "case", **_facts(case)}]
    rows += [{"section": "channel", "channel": k, "field": f} for k, f in case.channels.items()]
    rows += [{"section": "packet", **row} for row in _packet_rows(case)]
    rows += [{"section": "record", **row} for row in _record_rows(case)]
    return "".join(_line(row) + "\n" for row in rows)


def _write_html(case: Case) -> str:
    title = html.escape(case.title)
    sections = {
        "case": _line(_facts(case)),
        "channels": _line(dict(case.channels)),
        "manifest": f"[\n{_lines(_packet_rows(case), '')}\n]",
        "records": f"[\n{_lines(_record_rows(case), '')}\n]",
    }
    blocks = "".join(
        f'<script type="application/json" data-section="{name}">\n{text}\n</script>\n'
        for name, text in sections.items()
    )
    # "<" cannot be in the data: vocabularies and titles have none, and a test says so.
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n{blocks}</head>\n<body>\n<h1>{title}</h1>\n"
        f"<p>{len(case.packets)} packets, {len(case.records)} records.</p>\n</body>\n</html>\n"
    )


def _read_json(text: str) -> Row:
    data: Row = json.loads(text)
    return data


def _read_yaml(text: str) -> Row:
    data: Row = yaml.safe_load(text)
    return data


def _read_csv(text: str) -> Row:
    columns: dict[str, list[str]] = {}
    rows: list[Row] = []
    for section, *cells in csv.reader(io.StringIO(text)):
        if section == "columns":
            columns[cells[0]] = cells[1:]
        else:
            keys = columns[section]
            row = {key: _parse(key, cell) for key, cell in zip(keys, cells, strict=True)}
            rows.append({"section": section, **row})
    return _gather(rows)


def _parse(key: str, cell: str) -> Any:
    if not cell:
        return None
    if key == "passed":
        return {"true": True, "false": False}[cell]
    return int(cell) if key in _NUMBERS else cell


def _read_txt(text: str) -> Row:
    return _gather([json.loads(line) for line in text.splitlines() if line.strip()])


def _gather(rows: list[Row]) -> Row:
    data: Row = {"channels": {}, "manifest": [], "records": []}
    for row in rows:
        section = row.pop("section")
        if section == "case":
            data.update(row)
        elif section == "channel":
            data["channels"][row["channel"]] = row["field"]
        elif section == "packet":
            data["manifest"].append(row)
        else:
            filled = {key: value for key, value in row.items() if value is not None}
            data["records"].append(filled)
    return data


def _read_html(text: str) -> Row:
    sections = {name: json.loads(body) for name, body in _SCRIPT.findall(text)}
    return {**sections.pop("case"), **sections}


_WRITERS: dict[str, Callable[[Case], str]] = {
    "csv": _write_csv,
    "html": _write_html,
    "json": _write_json,
    "txt": _write_txt,
    "yaml": _write_yaml,
}
_READERS: dict[str, Callable[[str], Row]] = {
    "csv": _read_csv,
    "html": _read_html,
    "json": _read_json,
    "txt": _read_txt,
    "yaml": _read_yaml,
}
