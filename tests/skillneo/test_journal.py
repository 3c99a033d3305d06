from __future__ import annotations

import json
import shutil

import pytest

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.skillneo.journal import NAME
from pytest_evoclaw.skillneo.journal import FolderJournal
from pytest_evoclaw.skills import EMPTY_BUNDLE
from tests.skillneo.made_search import make_bundle


def open_journal(folder) -> FolderJournal:
    return FolderJournal(folder, lambda: 7.0)


def test_events_are_found_again_by_what_they_are_about(tmp_path):
    journal = open_journal(tmp_path / "neo")
    journal.append({"event": "decision", "generation": 1, "deployed": "b01"})
    again = open_journal(tmp_path / "neo")
    found = again.find(event="decision", generation=1)
    assert found == {"event": "decision", "generation": 1, "deployed": "b01", "at": 7.0}
    assert again.find(event="decision", generation=2) is None
    assert again.events == journal.events


def test_a_torn_last_line_is_cut_off(tmp_path):
    open_journal(tmp_path).append({"event": "decision", "generation": 1})
    path = tmp_path / NAME
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    journal = open_journal(tmp_path)
    assert len(journal.events) == 1
    journal.append({"event": "decision", "generation": 2})
    assert [json.loads(line)["generation"] for line in path.read_text("utf-8").splitlines()] == [
        1,
        2,
    ]


@pytest.mark.parametrize("line", [b"{", b"[1]", b"\xff"], ids=["cut", "list", "bytes"])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / NAME
    path.write_bytes(b'{"event": "search"}\n' + line + b"\n")
    with pytest.raises(SettingsError, match=r"search\.jsonl:2: no event of a search"):
        open_journal(tmp_path)


def test_the_same_thing_is_not_recorded_twice(tmp_path):
    journal = open_journal(tmp_path)
    journal.append({"event": "decision", "generation": 1})
    with pytest.raises(ValueError, match="found twice, allowed once"):
        journal.append({"event": "decision", "generation": 1})


@pytest.mark.parametrize("bundle", [make_bundle("one"), EMPTY_BUNDLE], ids=["files", "empty"])
def test_bundles_are_kept_by_digest(tmp_path, bundle):
    digest = open_journal(tmp_path).store_bundle(bundle)
    assert digest == bundle.digest
    assert open_journal(tmp_path).load_bundle(digest) == bundle


def test_storing_a_bundle_again_mends_a_damaged_one(tmp_path):
    bundle = make_bundle("one")
    digest = open_journal(tmp_path).store_bundle(bundle)
    (tmp_path / "bundles" / digest / "skill" / "SKILL.md").write_text("two", "utf-8")
    assert open_journal(tmp_path).load_bundle(digest) is None
    open_journal(tmp_path).store_bundle(bundle)
    assert open_journal(tmp_path).load_bundle(digest) == bundle


def test_a_lost_bundle_is_not_there(tmp_path):
    digest = open_journal(tmp_path).store_bundle(make_bundle("one"))
    shutil.rmtree(tmp_path / "bundles")
    assert open_journal(tmp_path).load_bundle(digest) is None
