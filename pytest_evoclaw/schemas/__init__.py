"""JSON Schemas (draft 2020-12) of the files that are read and written: ``<name>.schema.json``."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from referencing import Registry
from referencing import Resource


def make_validator(name: str) -> Validator:
    """Return a validator for ``metrics``, ``group``, ``trial`` or another file beside this one."""
    group = read_schema("group")
    registry: Registry[Any] = Resource.from_contents(group) @ Registry()
    return Draft202012Validator(read_schema(name), registry=registry)


def read_schema(name: str) -> dict[str, Any]:
    """Read ``<name>.schema.json``."""
    path = files("pytest_evoclaw.schemas").joinpath(f"{name}.schema.json")
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema
