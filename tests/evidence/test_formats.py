from __future__ import annotations

import json

import pytest

from pytest_evoclaw.evidence import EvidenceError
from pytest_evoclaw.evidence import read_case
from pytest_evoclaw.evidence.families import load_spec
from pytest_evoclaw.evidence.formats import render_case
from pytest_evoclaw.evidence.generator import generate_cases

EXTENSIONS = ["csv", "html", "json", "txt", "yaml"]
# Between them, these have every kind of channel.
TASKS = ["task_32_appointment_referral_triage", "task_52_kubernetes_policy_review"]


@pytest.mark.parametrize("task_id", TASKS)
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_format_keeps_a_case_whole(extension, task_id, tmp_path):
    case = generate_cases(load_spec(task_id), 5)[0].case
    path = tmp_path / f"case.{extension}"
    path.write_text(render_case(case, extension), encoding="utf-8")
    assert read_case(path) == case


def test_a_byte_order_mark_is_no_fault(tmp_path):
    case = generate_cases(load_spec(TASKS[0]), 5)[0].case
    path = tmp_path / "case.json"
    path.write_text("\ufeff" + render_case(case, "json"), encoding="utf-8")
    assert read_case(path) == case


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("case.json", "[]"),
        ("case.json", json.dumps({"task_id": "t", "case_id": "c"})),
        ("case.yaml", "a: [1"),
        ("case.csv", "record,R1,P-1\n"),
        ("case.txt", "not json\n"),
        ("case.html", "<p>nothing</p>"),
    ],
    ids=["list", "missing", "yaml", "no columns", "text", "no blocks"],
)
def test_a_broken_file_is_named(name, text, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(EvidenceError, match=rf"{name}: not a case file"):
        read_case(tmp_path / name)


def test_an_unknown_extension_names_those_that_are_known(tmp_path):
    with pytest.raises(EvidenceError, match=r"found '\.xml', allowed \['csv', 'html'"):
        read_case(tmp_path / "case.xml")


def test_pages_show_their_title_and_hold_their_data_in_script_blocks(tmp_path):
    case = generate_cases(load_spec("task_67_research_claim_evidence"), 5)[0].case
    page = render_case(case, "html")
    assert f"<h1>{case.title}</h1>" in page
    assert page.count('<script type="application/json" data-section=') == 4
