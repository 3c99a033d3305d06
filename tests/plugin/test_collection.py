from __future__ import annotations

import pytest


def test_without_a_mode_nothing_is_collected_and_nothing_is_written(suite):
    result = suite.pytester.runpytest("tasks")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (suite.path / "evo-results").exists()


def test_each_mode_is_an_item_with_its_runtime(suite):
    result = suite.run("--collect-only", "-q", mode="all")
    result.stdout.fnmatch_lines(
        [
            "tasks/task_01_numbers.md::baseline[[]oracle]",
            "tasks/task_01_numbers.md::preskill[[]oracle]",
            "tasks/task_01_numbers.md::postskill[[]oracle]",
        ]
    )
    assert not (suite.path / "evo-results").exists()


def test_the_order_is_that_of_the_options(suite):
    suite.add_task("task_02_more")
    result = suite.run("--collect-only", "-q", "--evo-runtime=nop,oracle", mode="preskill,baseline")
    names = [line for line in result.outlines if "::" in line]
    assert [name.rpartition("::")[2] for name in names[:4]] == [
        "preskill[nop]",
        "preskill[oracle]",
        "baseline[nop]",
        "baseline[oracle]",
    ]
    assert names[0].startswith("tasks/task_01")
    assert names[4].startswith("tasks/task_02")


def test_repeats_are_numbered(suite):
    result = suite.run("--collect-only", "-q", "--evo-repeat=2")
    result.stdout.fnmatch_lines(["*::baseline[[]oracle-1]", "*::baseline[[]oracle-2]"])


def test_a_trial_is_selected_by_id_keyword_and_marker(suite):
    node = "tasks/task_01_numbers.md::preskill[oracle]"
    suite.pytester.runpytest(node, "--evo-mode=all").assert_outcomes(passed=1)
    suite.run("-k", "postskill and numbers", mode="all").assert_outcomes(passed=1, deselected=2)
    marker = "evo_task(category='arithmetic', mode='baseline', family='Small')"
    suite.run("-m", marker, mode="all").assert_outcomes(passed=1, deselected=2)


def test_two_files_with_one_id_are_a_collection_error_that_names_both(suite):
    text = (suite.path / "tasks/task_01_numbers.md").read_text(encoding="utf-8")
    suite.write("tasks/task_02_twin.md", text)
    result = suite.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["*task_02_twin.md:1: id: found 'task_01_numbers', which*_numbers.md*"]
    )


def test_a_malformed_task_is_a_collection_error_at_its_line(suite):
    text = (suite.path / "tasks/task_01_numbers.md").read_text(encoding="utf-8")
    suite.write("tasks/task_02_bad.md", text.replace("timeout_seconds: 20", "timeout_seconds: 20s"))
    result = suite.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*task_02_bad.md:6: timeout_seconds: found '20s', allowed*"])


def test_templates_and_results_are_never_collected(suite):
    text = (suite.path / "tasks/task_01_numbers.md").read_text(encoding="utf-8")
    suite.write("tasks/TASK_TEMPLATE.md", text)
    suite.run().assert_outcomes(passed=1)
    (suite.session / "task_77_planted.md").write_text(text, encoding="utf-8")
    result = suite.pytester.runpytest("--evo-mode=baseline", "--collect-only", "-q")
    assert "planted" not in result.stdout.str()
    assert "TEMPLATE" not in result.stdout.str()


def test_module_scoped_fixtures_of_a_conftest_surround_a_trial(suite):
    suite.pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="module", autouse=True)
        def around():
            print("before")
            yield
        """
    )
    suite.run().assert_outcomes(passed=1)
