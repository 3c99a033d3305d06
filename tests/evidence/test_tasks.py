from __future__ import annotations

import re
from collections import Counter

import pytest

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.evidence import build_fixtures
from pytest_evoclaw.evidence import build_suite
from pytest_evoclaw.evidence import choose_packet
from pytest_evoclaw.evidence import list_generated_tasks
from pytest_evoclaw.evidence.families import load_spec
from pytest_evoclaw.evidence.families import load_specs
from pytest_evoclaw.evidence.generator import generate_cases
from pytest_evoclaw.evidence.suite import OFFICIAL_SEED
from pytest_evoclaw.task import read_task
from tests.evidence.desk import ROOT

TASKS = list_generated_tasks()
NEEDED = {"L": 8, "T": 5, "D": 5, "B": 3, "N": 2}
RECIPE = "evoclawbench-difficulty-hardening-20260524-v4|<task_id>|<case_id>|<packet_id>|<nonce>"
# Patterns; the words around them differ from family to family.
STATED = [
    re.escape(f"`{RECIPE}`"),
    r"\bstatus\b",
    r"\bapproved\b",
    r"superseded_by",
    r"checksum.*(16|sixteen)|(16|sixteen).*checksum",
    r"(?i)sha-?256",
    r"lower.case",
    r"UTF-8",
    r"`revision`",
    r"`source_weight`",
    r"`packet_id`",
    r"\bstate\b",
    r"\bfinal\b",
    r"\bdraft\b",
    r"\bvoid\b",
]
STATED_BY_KIND = {
    "L": ["`include`", "`remove`", "`alias`", "`target`", "`record_id`", "code.point"],
    "N": [
        "amount",
        "scale",
        "`add`",
        "`subtract`",
        "signed|negative",
        "below zero|(at|for) zero|negative",
    ],
    "D": ["`bucket`", "`amount`", "`add`", "`subtract`", "zero", "whole numbers?"],
    "B": ["`gate`", "`passed`"],
    "T": ["`score", "penalty`", "`candidate`", "code.point|as text"],
}


def read_prompt(task_id: str) -> str:
    text = (ROOT / f"tasks/{task_id}.md").read_text(encoding="utf-8")
    return text.partition("\n## Prompt\n")[2].partition("\n## Expected Behavior\n")[0]


def test_the_committed_suite_is_what_a_rebuild_writes(tmp_path):
    names = build_suite(tmp_path)
    differing = [n for n in names if (tmp_path / n).read_bytes() != (ROOT / n).read_bytes()]
    assert differing == []
    folders = [ROOT / "assets" / task_id for task_id in TASKS]
    committed = {str(p.relative_to(ROOT)) for folder in folders for p in folder.iterdir()}
    assert committed == {name for name in names if name.startswith("assets/")}


def test_the_generated_part_of_the_suite_has_the_published_shape():
    specs = load_specs().values()
    assert [int(spec.task_id.split("_")[1]) for spec in specs] == list(range(22, 101))
    formats = Counter(spec.family.extension for spec in specs)
    assert formats == {"json": 39, "csv": 20, "txt": 5, "yaml": 10, "html": 5}
    families = Counter(spec.family.name for spec in specs)
    assert len(families) == 16
    assert {name: size for name, size in families.items() if size != 5} == {"Travel/Office": 4}
    assert sum(len(spec.titles) for spec in specs) == 395


@pytest.mark.parametrize("task_id", TASKS)
def test_every_task_file_is_well_formed_and_keeps_its_whole_prompt(task_id):
    spec = load_spec(task_id)
    task = read_task(ROOT / f"tasks/{task_id}.md", ROOT)
    assert (task.id, task.name, task.family) == (task_id, spec.name, spec.family.name)
    assert (task.grading_type, task.timeout_seconds) == ("automated", 600)
    assert tuple(file.dest for file in task.workspace_files) == spec.fixtures
    assert task.grader == ROOT / "graders/evidence.py"
    assert task.prompt.strip() == read_prompt(task_id).strip()
    assert (len(task.sub_problems), len(task.criteria)) == (5, 8)


@pytest.mark.parametrize("task_id", TASKS)
def test_the_prompt_states_every_rule(task_id):
    spec, prompt = load_spec(task_id), read_prompt(task_id)
    stated = [*STATED, task_id, *spec.fixtures, *(f"`{name}`" for name in spec.meanings)]
    stated += [f"outputs/case_{number:02}_report.json" for number in range(1, 6)]
    for kind in {channel[0] for channel in spec.fields}:
        stated += STATED_BY_KIND[kind]
    if any(c[0] == "N" and not f.endswith("_count") for c, f in spec.fields.items()):
        stated += ["(?i)decimals", "two decimals|two places", "away from\\s+zero"]
    missing = [pattern for pattern in stated if not re.search(pattern, prompt, re.DOTALL)]
    assert missing == []
    assert "$" not in prompt


@pytest.mark.parametrize("task_id", TASKS)
def test_the_prompt_answers_nothing(task_id):
    text = (ROOT / f"tasks/{task_id}.md").read_text(encoding="utf-8")
    for planned in generate_cases(load_spec(task_id), OFFICIAL_SEED):
        secrets = [packet.packet_id for packet in planned.case.packets]
        secrets += [packet.nonce for packet in planned.case.packets]
        secrets += [str(r.body["value"]) for r in planned.case.records if "value" in r.body]
        secrets += [str(value) for value in planned.report.values() if isinstance(value, float)]
        found = [secret for secret in secrets if re.search(rf"\b{re.escape(secret)}\b", text)]
        vocabulary = {str(word) for words in load_spec(task_id).values.values() for word in words}
        assert [secret for secret in found if secret not in vocabulary] == []
        assert choose_packet(planned.case).packet_id not in text


def test_no_two_tasks_share_their_words():
    specs = list(load_specs().values())
    for read in (lambda s: s.intro, lambda s: s.titles, lambda s: tuple(s.meanings.values())):
        assert max(Counter(read(spec) for spec in specs).values()) == 1
    assert max(Counter(spec.family.prompt for spec in specs).values()) == 5


@pytest.mark.parametrize("task_id", TASKS)
def test_vocabularies_are_large_enough_and_safe_in_every_format(task_id):
    spec = load_spec(task_id)
    assert set(spec.values) == set(spec.fields)
    assert set(spec.meanings) == set(spec.fields.values())
    for channel, words in spec.values.items():
        assert len(set(words)) == len(words)
        assert len(words) >= NEEDED[channel[0]] or "#" in str(words[0])
        assert all(type(word) is (int if channel[0] == "N" else str) for word in words)
        assert not any(set(str(word)) & set("<>&\"'|\n") for word in words)


@pytest.mark.parametrize("task_id", TASKS)
def test_case_files_are_of_a_readable_size(task_id):
    sizes = [(ROOT / name).stat().st_size for name in load_spec(task_id).fixtures]
    assert 5_000 < min(sizes) <= max(sizes) < 30_000


def test_a_variant_can_be_built_into_any_folder(tmp_path):
    names = build_fixtures(TASKS[0], 12, tmp_path)
    assert names == load_spec(TASKS[0]).fixtures
    assert all((tmp_path / n).read_bytes() != (ROOT / n).read_bytes() for n in names)


def test_an_unknown_task_is_a_settings_error(tmp_path):
    with pytest.raises(SettingsError, match="found 'task_01', allowed one of 79"):
        build_fixtures("task_01", 1, tmp_path)
