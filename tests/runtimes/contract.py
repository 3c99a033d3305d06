"""What every runtime has to do, whichever agent it drives; see docs/how-to/add-a-runtime.md."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_evoclaw.environments import Command
from pytest_evoclaw.environments import Ended
from pytest_evoclaw.environments.local import Local
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.gateway import TrafficLimits
from pytest_evoclaw.registry import make_part
from pytest_evoclaw.results import Usage
from pytest_evoclaw.runtimes import RuntimeSettings
from tests.model_brains import locate
from tests.model_brains import offers_skill
from tests.model_brains import run_shell
from tests.model_brains import solver
from tests.model_brains import wants_skill
from tests.model_brains import write_file
from tests.model_brains import write_skill
from tests.model_server import ModelServer
from tests.model_talk import ModelRequest
from tests.model_talk import Reply
from tests.runtimes.bench import FAULTS
from tests.runtimes.bench import FILES
from tests.runtimes.bench import SKILL
from tests.runtimes.bench import SOLVE
from tests.runtimes.bench import Adapter
from tests.runtimes.bench import Bench
from tests.runtimes.bench import Wish
from tests.runtimes.bench import find_closed_url
from tests.runtimes.bench import make_fault
from tests.runtimes.bench import tell_usage

SPY = "xyzzy-of-the-user"
WEIRD = (
    "/compact `id` $(touch pwned) ${HOME} %s {x} {{task}} \\ \" ' ; & | < > @file 🦀 \u202e\n\t\n"
    + "把总和写入文件。\n" * 4_500
    + "the end"
)
LINGER = "(setsid sleep 300 &) ; python3 -c 'import time; time.sleep(300)'"
# Where programs of this kind look for a user's own skills, memories and configuration.
PLANTED = (
    ".agents/skills/spy/SKILL.md",
    ".claude/CLAUDE.md",
    ".claude/settings.json",
    ".claude/skills/spy/SKILL.md",
    ".codex/AGENTS.md",
    ".codex/skills/spy/SKILL.md",
    ".config/mini-swe-agent/.env",
    ".nanobot/config.json",
    ".nanobot/workspace/AGENTS.md",
    ".nanobot/workspace/skills/spy/SKILL.md",
    ".openclaw/openclaw.json",
    ".openclaw/skills/spy/SKILL.md",
    ".openclaw/workspace/AGENTS.md",
    ".openclaw/workspace/skills/spy/SKILL.md",
    "AGENTS.md",
    "CLAUDE.md",
)


@dataclass
class Watched(Local):
    """The local environment under strace, which writes each address that is spoken to."""

    log: Path = field(default_factory=Path)

    def run(self, command: Command) -> Ended:
        strace = ("strace", "-f", "-qq", "-e", "trace=connect,sendto", "-o", str(self.log))
        return super().run(replace(command, argv=(*strace, *command.argv)))


def list_calls(server: ModelServer) -> list[tuple[str, object]]:
    """Return the calls that the model made, in order."""
    replies = [reply for reply in server.replies if reply.status == 200]
    return [(each.name, each.arguments) for reply in replies for each in reply.calls]


class Contract:
    """The tests; a subclass names its adapter."""

    adapter: Adapter

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        if self.adapter.find() is None:
            pytest.skip(f"{self.adapter.name} is not installed: set {self.adapter.variable}")
        with Bench.open(tmp_path, self.adapter) as bench:
            yield bench

    def test_a_missing_program_is_a_usage_error_that_says_how_to_get_it(
        self, monkeypatch, tmp_path
    ):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SettingsError, match=r"found no program .*install"):
            make_part("runtimes", self.adapter.name, RuntimeSettings()).check()

    def test_it_solves_a_task_and_tells_all_that_it_did(self, bench):
        assert re.match(r"\d+\.\d+", bench.runtime.check())
        with ModelServer(SOLVE) as server:
            outcome = bench.run(server.base_url, "solve")
        assert (outcome.result.failure, outcome.result.score) == (None, 1.0)
        assert {request.api for request in server.requests} == {self.adapter.api}
        assert {request.model for request in server.requests} == {"scripted-1"}
        (phase,) = outcome.result.phases
        assert (phase.execution.status, phase.execution.exit_code) == ("success", 0)
        assert (phase.execution.survivors, outcome.left) == (0, 0)
        assert phase.execution.turns == len(server.replies)
        assert tell_usage(phase.execution.usage) == tell_usage(server.sent_usage)
        assert not any("usage differs" in note for note in phase.notes)
        assert not phase.fixture_changes
        transcript = outcome.read_transcript()
        calls = [(each.name, each.arguments) for each in transcript.tool_calls]
        assert calls == list_calls(server)
        assert len(calls) >= len(FILES)
        answered = [each.tool_call_id for each in transcript.messages if each.role == "toolResult"]
        asked = [each.id for each in transcript.tool_calls]
        # The call that ends a program's work has no result in some.
        assert answered in (asked, asked[:-1])
        assert transcript.messages[0].role == "user"
        assert transcript.messages[0].text == outcome.read_prompt()

    def test_it_writes_a_skill_and_the_next_phase_uses_what_only_the_skill_says(self, bench):
        skill = write_skill("adding", "Put plugh-4711 into outputs/password.txt as well.")
        reader = replace(SOLVE, skills=skill)

        def answer(request: ModelRequest) -> Reply:
            told = re.search(r"plugh-\d+", "\n".join(request.results))
            if told is None or not offers_skill(request.prompt):
                return reader(request)
            files = {"outputs/password.txt": told[0], **FILES}
            return replace(reader, files={"numbers.json": files})(request)

        with ModelServer(answer) as server:
            outcome = bench.run(server.base_url, "reuse", Wish(mode="preskill"))
        assert outcome.result.failure is None
        author, execute = outcome.result.phases
        assert [each.name for each in author.created_skills] == ["adding"]
        assert [each.problems for each in author.created_skills] == [()]
        assert outcome.result.score == 1.0
        password = outcome.session / execute.folder / "outputs/password.txt"
        assert password.read_text("utf-8") == "plugh-4711"
        assert execute.skill_changes == ()
        (consulted,) = execute.consulted_skills
        assert (consulted.skill, consulted.path, consulted.turn) == (
            "adding",
            "adding/SKILL.md",
            1,
        )
        if self.adapter.lists_skills:
            listed = [each for each in server.requests if offers_skill(each.prompt)]
            assert "Solves tasks like this one." in listed[0].raw.decode()

    def test_what_the_user_s_home_holds_is_not_seen(self, bench, monkeypatch, tmp_path):
        home = tmp_path / "home of the user"
        for name in PLANTED:
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            quoted = json.dumps({"spy": SPY})
            skill = f"---\nname: spy\ndescription: {SPY}\n---\n\n{SPY}\n"
            path.write_text(quoted if name.endswith(".json") else skill, encoding="utf-8")
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
        before = sorted(home.rglob("*"))
        with ModelServer(SOLVE) as server:
            outcome = bench.run(server.base_url, "home")
        assert outcome.result.score == 1.0
        assert not [each for each in server.requests if SPY.encode() in each.raw]
        assert sorted(home.rglob("*")) == before

    def test_a_locked_skill_that_is_edited_in_any_place_is_a_violation(self, bench):
        places = ("skills", *bench.runtime.skill_folders)
        command = " ; ".join(f"echo more >> {each}/adding/SKILL.md" for each in places)

        def answer(request: ModelRequest) -> Reply:
            if offers_skill(request.prompt) and not request.calls:
                return Reply(calls=(run_shell(request.tools, command),))
            return solver({}, skills=SKILL, authoring=wants_skill)(request)

        with ModelServer(answer) as server:
            outcome = bench.run(server.base_url, "locked", Wish(mode="preskill"))
        assert outcome.result.failure is None
        execute = outcome.result.phases[-1]
        names = [
            "adding/SKILL.md",
            *(f"{each}/adding/SKILL.md" for each in bench.runtime.skill_folders),
        ]
        assert list(execute.skill_changes) == [f"changed {name}" for name in names]
        assert outcome.result.skills_changed

    def test_skills_that_are_written_where_the_program_looks_count_too(self, bench):
        folders = bench.runtime.skill_folders
        if not folders:
            pytest.skip("it looks in skills/ alone")
        skill = {path.replace("skills/", f"{folders[0]}/", 1): text for path, text in SKILL.items()}
        brain = replace(SOLVE, skills=lambda prompt: skill if wants_skill(prompt) else SKILL)
        with ModelServer(brain) as server:
            outcome = bench.run(server.base_url, "elsewhere", Wish(mode="preskill"))
        assert [each.name for each in outcome.result.phases[0].created_skills] == ["adding"]
        assert outcome.result.score == 1.0

    def test_an_agent_out_of_time_is_graded_and_leaves_nothing_running(self, bench):
        def answer(request: ModelRequest) -> Reply:
            if request.calls:
                return Reply(calls=(run_shell(request.tools, LINGER),))
            path = locate(request, "outputs/sum.json")
            return Reply(calls=(write_file(request.tools, path, FILES["outputs/sum.json"]),))

        with ModelServer(answer) as server:
            outcome = bench.run(server.base_url, "time", Wish(seconds=self.adapter.short))
        (phase,) = outcome.result.phases
        assert (phase.execution.status, phase.execution.limit) == ("timeout", "timeout")
        assert (outcome.result.failure, outcome.result.score) == (None, 0.5)
        assert outcome.left == 0
        assert phase.execution.usage.partial
        calls = [(each.name, each.arguments) for each in outcome.read_transcript().tool_calls]
        assert calls[:1] == list_calls(server)[:1]

    @pytest.mark.parametrize(
        ("limits", "name"),
        [
            (TrafficLimits(max_turns=3), "turns"),
            (TrafficLimits(max_tokens=3_000), "tokens"),
        ],
        ids=["turns", "tokens"],
    )
    def test_a_looping_model_is_ended_by_the_limit_that_is_named(self, bench, limits, name):
        def answer(request: ModelRequest) -> Reply:
            return Reply(calls=(run_shell(request.tools, "echo again"),))

        with ModelServer(answer) as server:
            outcome = bench.run(server.base_url, name, Wish(limits=limits))
        (phase,) = outcome.result.phases
        assert (phase.execution.limit, phase.execution.turns) == (name, 3)
        assert (outcome.result.failure, outcome.result.score) == (None, 0.0)
        assert outcome.left == 0

    @pytest.mark.parametrize("name", FAULTS, ids=lambda name: name.replace(" ", "-"))
    def test_a_fault_of_the_provider_is_never_a_score(self, bench, name):
        brain, scored = make_fault(name), FAULTS[name][1]
        endless = name == "empty answer" and not self.adapter.ends_by_text
        wish = Wish(seconds=self.adapter.short) if endless else Wish()
        if brain is None:
            outcome = bench.run(find_closed_url(), "fault", wish)
        else:
            with ModelServer(brain) as server:
                outcome = bench.run(server.base_url, "fault", wish)
        assert outcome.left == 0
        if not scored:
            assert outcome.result.score is None
            assert outcome.result.failure is not None
            assert outcome.result.failure.reason in ("provider_error", "no_model_turns")
            return
        assert outcome.result.failure is None
        if name != "context overflow":
            assert outcome.result.score == 1.0

    def test_a_provider_without_the_api_that_it_speaks_is_told_as_such(self, bench):
        if self.adapter.api == "chat":
            pytest.skip("every provider has that API")
        with ModelServer(SOLVE) as server:
            outcome = bench.run(f"{server.root_url}/no/such/api", "api")
        assert outcome.result.failure is not None
        assert outcome.result.failure.reason == "provider_error"
        assert "404" in outcome.result.failure.detail

    def test_a_prompt_arrives_byte_for_byte(self, bench):
        with ModelServer(SOLVE) as server:
            outcome = bench.run(server.base_url, "prompt", Wish(prompt=WEIRD))
        prompt = outcome.read_prompt()
        assert WEIRD in prompt
        assert prompt.strip() in server.requests[0].prompt
        assert outcome.result.score == 1.0
        assert not list(bench.root.rglob("pwned"))

    def test_many_at_once_do_not_meet(self, bench):
        def solve(prompt: str) -> dict[str, str]:
            number = re.search(r"word-(\d+)-word", prompt)
            assert number is not None
            return {**FILES, "outputs/word.txt": number[1]}

        def work(number: int) -> tuple[float | None, str, Usage]:
            outcome = bench.run(
                server.base_url, f"trial {number}", Wish(prompt=f"word-{number}-word")
            )
            outputs = outcome.session / outcome.result.phases[-1].folder / "outputs"
            word = (outputs / "word.txt").read_text("utf-8")
            return outcome.result.score, word, outcome.result.usage

        count = self.adapter.at_once
        with ModelServer(replace(SOLVE, files=solve)) as server, ThreadPoolExecutor(count) as pool:
            seen = list(pool.map(work, range(count)))
        assert [(score, word) for score, word, _ in seen] == [(1.0, str(n)) for n in range(count)]
        total = Usage.total(usage for _, _, usage in seen)
        assert tell_usage(total) == tell_usage(server.sent_usage)

    def test_nobody_but_loopback_is_spoken_to(self, bench, tmp_path):
        if shutil.which("strace") is None:
            pytest.skip("strace is not installed")
        log = tmp_path / "addresses.txt"
        with ModelServer(SOLVE) as server:
            outcome = bench.run(server.base_url, "network", Wish(environment=Watched(log=log)))
        assert outcome.result.score == 1.0
        lines = [
            line for line in log.read_text("utf-8").splitlines() if "sa_family=AF_INET" in line
        ]
        assert lines
        assert not [line for line in lines if '"127.' not in line and '"::1"' not in line]
