from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--evo-mode=basline", "*--evo-mode: found 'basline', allowed*did you mean 'baseline'?"),
        ("--evo-runtime=nanobto", "*--evo-runtime: found 'nanobto', allowed*'nanobot'?"),
        ("--evo-environment=docer", "*--evo-environment: found 'docer', allowed*"),
        ("--evo-pass-score=5", "*--evo-pass-score: found '5', allowed a number from 0 up to 1"),
        ("--evo-pass-score=nan", "*--evo-pass-score: found 'nan', allowed*"),
        ("--evo-repeat=0", "*--evo-repeat: found '0', allowed a whole number from 1"),
        ("--evo-timeout-factor=0", "*--evo-timeout-factor: found '0', allowed*above 0*"),
        ("--evo-feedback=all", "*--evo-feedback: found 'all', allowed score, checks, none"),
        ("--evo-runtime-bin=nanobot", "*--evo-runtime-bin: found 'nanobot', allowed NAME=PATH*"),
        ("--evo-openclaw-bin=nowhere", "*--evo-openclaw-bin: found *nowhere*, allowed the path*"),
        ("--evo-start-limit=0", "*--evo-start-limit: found '0', allowed a whole number from 1"),
        ("--evo-skill-creator=nowhere", "*--evo-skill-creator*"),
        ("--evo-runtime=scripted", "*--evo-runtime=scripted: scripted needs --evo-script FILE"),
        ("--evo-runtime=nanobot", "*--evo-model: nanobot needs a model, found none"),
    ],
)
def test_a_wrong_value_stops_the_session_before_anything_is_spent(suite, argument, message):
    result = suite.run(argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert not (suite.path / "evo-results").exists()


def test_a_model_without_a_key_is_a_usage_error(suite, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    result = suite.run("--evo-runtime=nanobot", "--evo-model=openai/gpt-5")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--evo-model: openai/gpt-5:*OPENAI_API_KEY is not set"])


def test_a_missing_program_is_a_usage_error(suite, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    arguments = ("--evo-model=any", "--evo-base-url=http://127.0.0.1:9/v1")
    result = suite.run("--evo-runtime=nanobot", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--evo-runtime=nanobot: *nanobot*"])


def test_workspaces_inside_the_project_are_refused(suite):
    result = suite.run("--evo-workspaces=work")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--evo-workspaces: found *work*, allowed a folder outside*"])
