from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import docx
import openpyxl
import pytest
import yaml

from pytest_evoclaw.mutations.formats import mutate_output
from pytest_evoclaw.mutations.formats import sample_mutants

VALUE = {"n": 2, "x": 1.5, "b": True, "s": "word", "none": None, "rows": [{"id": "a"}]}


def mutate(name, data):
    mutated = mutate_output(name, data)
    assert mutated is not None
    return mutated


def make_workbook():
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.append(["item", 3])
    sheet["B2"] = "=B1*2"
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def make_document():
    document = docx.Document()
    document.add_paragraph("One.")
    document.add_table(rows=1, cols=1).cell(0, 0).text = "Two."
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


READERS: dict[str, tuple[bytes, Callable[[bytes], Any]]] = {
    "a.json": (json.dumps(VALUE).encode(), json.loads),
    "a.jsonl": (b'{"n": 1}\n{"n": 2}\n', bytes.splitlines),
    "a.yaml": (yaml.safe_dump(VALUE).encode(), yaml.safe_load),
    "a.csv": (b"id,n\na,1\n", bytes.splitlines),
    "a.tsv": (b"id\tn\na\t1\n", bytes.splitlines),
    "a.py": (b"# why\nx = 1\n\ny = 2\n", bytes.splitlines),
    "a.xlsx": (
        make_workbook(),
        lambda data: [
            [cell.value for cell in row]
            for row in openpyxl.load_workbook(io.BytesIO(data)).worksheets[0].iter_rows()
        ],
    ),
    "a.docx": (
        make_document(),
        lambda data: [
            [p.text for p in docx.Document(io.BytesIO(data)).paragraphs],
            [t.cell(0, 0).text for t in docx.Document(io.BytesIO(data)).tables],
        ],
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_every_mutant_differs_and_writing_anew_does_not(name):
    data, read = READERS[name]
    mutated = mutate(name, data)
    assert read(mutated.same()) == read(data)
    assert len(mutated.mutants) >= 4
    for mutant in mutated.mutants:
        assert read(mutant.make()) != read(data), str(mutant)


def test_each_leaf_of_json_changes_in_value_and_type_and_goes():
    mutated = mutate("a.json", json.dumps(VALUE).encode())
    kinds: dict[str, Counter[str]] = {}
    for mutant in mutated.mutants:
        kinds.setdefault(mutant.place, Counter())[mutant.kind] += 1
    assert kinds["n"] == kinds["b"] == kinds["s"] == {"value": 1, "type": 1, "deletion": 1}
    assert kinds["rows"] == {"surplus element": 1, "deletion": 1}
    assert kinds["rows[0]"] == {"surplus key": 1, "deletion": 1}
    assert kinds["document"] == {"surplus key": 1}


def test_comments_and_blank_lines_are_left_alone():
    places = {mutant.place for mutant in mutate("a.py", READERS["a.py"][0]).mutants}
    assert places == {"line 2", "line 4"}


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.csv", "a.xlsx", "a.docx", "a.bin"])
def test_what_cannot_be_read_has_no_mutants(name):
    assert mutate_output(name, b'{"a": \xff"\x00') is None


def test_a_sample_takes_from_all_outputs_and_kinds_and_is_the_same_again():
    outputs = {
        "long.json": mutate("a.json", json.dumps({"n": list(range(500))}).encode()),
        "short.json": mutate("a.json", b'{"n": 1}'),
    }
    sample = sample_mutants(outputs, 30, "seed")
    assert len(sample) == 30
    assert sum(name == "short.json" for name, _ in sample) == 4
    assert {mutant.kind for _, mutant in sample} == {
        "value", "type", "deletion", "surplus key", "surplus element",
    }  # fmt: skip
    assert [str(m) for _, m in sample] == [str(m) for _, m in sample_mutants(outputs, 30, "seed")]
    other = sample_mutants(outputs, 30, "other")
    assert [str(m) for _, m in sample] != [str(m) for _, m in other]
