from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_evoclaw.cli import main
from pytest_evoclaw.evidence.suite import list_generated_tasks
from pytest_evoclaw.suite_stats import count_suite
from pytest_evoclaw.suite_stats import read_suite

ROOT = Path(__file__).parent.parent.parent
# Table 11 of the paper: the generated families with the numbers of their first and last task.
FAMILIES = {
    "CRM/Executive": (92, 96),
    "Commerce/Food": (77, 81),
    "Data/Analytics": (62, 66),
    "DevOps/SRE": (52, 56),
    "Facilities/IoT": (82, 86),
    "Finance": (22, 26),
    "HR/Education": (42, 46),
    "Healthcare": (32, 36),
    "Legal": (27, 31),
    "Localization/Release": (72, 76),
    "Procurement/Logistics": (37, 41),
    "Public Sector/Audit": (87, 91),
    "Research/Media": (67, 71),
    "Security/Privacy": (57, 61),
    "Support/Product": (47, 51),
    "Travel/Office": (97, 100),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder in which the command has built the suite."""
    root = tmp_path_factory.mktemp("built")
    for path in (ROOT / "graders").glob("*.py"):
        (root / "graders").mkdir(exist_ok=True)
        (root / "graders" / path.name).write_bytes(path.read_bytes())
    assert main(["suite", "build", "--root", str(root)]) == 0
    return root


def test_a_build_has_the_bytes_of_the_repository(built):
    files = [path for name in ("tasks", "assets") for path in (built / name).rglob("*.*")]
    assert len(files) == 79 * 6
    for path in files:
        assert path.read_bytes() == (ROOT / path.relative_to(built)).read_bytes(), path


def test_the_families_are_those_of_the_paper(built):
    stats = count_suite(read_suite(built))
    assert {
        name: (int(f.numbers[0]), int(f.numbers[-1])) for name, f in stats.families.items()
    } == (FAMILIES)
    for name, family in stats.families.items():
        first, last = FAMILIES[name]
        assert [int(number) for number in family.numbers] == list(range(first, last + 1))
        assert family.sub_problems == 5 * family.tasks


def test_the_other_distributions_are_those_of_the_paper(built):
    stats = count_suite(read_suite(built))
    assert (stats.tasks, stats.sub_problems, stats.unofficial) == (79, 395, 0)
    assert stats.grading_types == {"automated": 79}
    assert stats.sub_problem_counts == {5: 79}
    assert stats.fixture_tasks == {"json": 39, "csv": 20, "yaml": 10, "html": 5, "txt": 5}
    assert sum(stats.fixture_files.values()) == 395


def test_the_sanity_task_is_counted_apart(capsys):
    assert main(["suite", "stats", "--json", "--root", str(ROOT)]) == 0
    stats = json.loads(capsys.readouterr().out)
    assert stats["unofficial"] == 1
    assert stats["tasks"] >= len(list_generated_tasks())
    assert "00" not in [n for family in stats["families"].values() for n in family["numbers"]]


def test_tables_are_printed(built, capsys):
    assert main(["suite", "stats", "--root", str(built)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("79 tasks, 395 sub-problems\n")
    for line in ("Travel/Office          4        20              97, 98, 99, 100", "csv "):
        assert line in text


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG")])
def test_a_figure_is_drawn_the_same_each_time(built, tmp_path, name, start):
    pytest.importorskip("matplotlib")
    for folder in ("first", "second"):
        figure = tmp_path / folder / name
        main(["suite", "stats", "--root", str(built), "--figure", str(figure)])
    data = (tmp_path / "first" / name).read_bytes()
    assert data.startswith(start)
    assert data == (tmp_path / "second" / name).read_bytes()


def test_another_format_of_figures_is_refused(built, tmp_path, capsys):
    figure = tmp_path / "a.gif"
    assert main(["suite", "stats", "--root", str(built), "--figure", str(figure)]) == 2
    assert "--figure: found 'a.gif', allowed .svg or .png" in capsys.readouterr().err


def test_a_folder_without_tasks_is_refused(tmp_path, capsys):
    assert main(["suite", "stats", "--root", str(tmp_path)]) == 2
    assert f"--root: found no tasks/task_*.md below {tmp_path}" in capsys.readouterr().err
