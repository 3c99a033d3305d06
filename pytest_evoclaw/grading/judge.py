"""A judge: another model that scores what no program can, once per sample, and forgets it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from importlib.util import find_spec
from typing import Any

from pytest_evoclaw.endpoints import find_endpoint
from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.grading import GradingJob
from pytest_evoclaw.grading import JudgeFailed
from pytest_evoclaw.grading.checklist import bound_message
from pytest_evoclaw.grading.judge_prompt import JudgePrompt
from pytest_evoclaw.grading.judge_prompt import build_prompt
from pytest_evoclaw.grading.judgement import Scored
from pytest_evoclaw.grading.judgement import UnreadableReply
from pytest_evoclaw.grading.judgement import make_schema
from pytest_evoclaw.grading.judgement import read_reply
from pytest_evoclaw.judge_facts import JudgeFacts
from pytest_evoclaw.judge_settings import JudgeSettings
from pytest_evoclaw.llm import Completer
from pytest_evoclaw.llm import Completion
from pytest_evoclaw.llm import CompletionFailed
from pytest_evoclaw.llm import CompletionLimits
from pytest_evoclaw.results import Check
from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import PartialGrade
from pytest_evoclaw.results import Usage
from pytest_evoclaw.slots import SlotPool

REPLY_TOKENS = 8_192
TRIES = 5  # all requests of one question have so many times the time of one
KEPT_CHARACTERS = 4_000  # of a reply in the results; the artifact has all of it
ARTIFACT = "judge.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A judge's criteria as checks, and how they came about."""

    checks: tuple[Check, ...]
    facts: JudgeFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Grades ``llm_judge`` tasks, and the judge's part of hybrid ones.

    ``model`` is the name as the user gave it. Of several ``samples``, independent questions, each
    criterion's score is the mean.
    """

    model: str
    completer: Completer
    samples: int = 1

    def grade(self, job: GradingJob) -> Grade:
        """Return a grade of the judge's criteria alone; JudgeFailed without a readable verdict."""
        judgement = self.judge(job, weight=1.0)
        return Grade(checks=judgement.checks, grading_type="llm_judge", judge=judgement.facts)

    def judge(self, job: GradingJob, *, weight: float) -> Judgement:
        """Return the criteria's scores; JudgeFailed, with what was used, if a sample has none."""
        prompt = build_prompt(job)
        talk = _Talk(judge=self, prompt=prompt, weight=weight)
        try:
            samples = [talk.ask_once() for _ in range(self.samples)]
        except (CompletionFailed, UnreadableReply) as error:
            facts = talk.describe(())
            _write_artifact(job, talk, facts)
            raise JudgeFailed(talk.explain(error), PartialGrade(judge=facts)) from error
        facts = talk.describe(samples)
        _write_artifact(job, talk, facts)
        return Judgement(checks=_make_checks(prompt, samples), facts=facts)


_Sample = Mapping[str, Scored]


@dataclass(slots=True, kw_only=True)
class _Talk:
    """All that is said about one phase."""

    judge: Judge
    prompt: JudgePrompt
    weight: float
    completions: list[Completion] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def ask_once(self) -> _Sample:
        """Ask, and remind once of the form."""
        completion = self._complete(self.prompt.messages)
        try:
            return self._read(completion)
        except UnreadableReply as fault:
            reminder = self.prompt.remind(completion.text, str(fault))
        return self._read(self._complete(reminder))

    def _complete(self, messages: Sequence[Mapping[str, str]]) -> Completion:
        schema = make_schema(self.prompt.verdict_id, self.prompt.criteria)
        asked = {
            "temperature": 0,
            "max_tokens": REPLY_TOKENS,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": schema},
            },
        }
        completion = self.judge.completer.complete(messages, asked)
        self.completions.append(completion)
        self.parameters = dict(completion.parameters)
        if "response_format" in self.parameters:
            self.parameters["response_format"] = "json_schema"  # the schema is the artifact's
        return completion

    def _read(self, completion: Completion) -> _Sample:
        try:
            return read_reply(completion.text, self.prompt.verdict_id, self.prompt.criteria)
        except UnreadableReply as error:
            if completion.finish_reason == "length":
                raise UnreadableReply(
                    f"{error}; the reply was cut at its limit of tokens"
                ) from error
            raise

    def describe(self, samples: Sequence[_Sample]) -> JudgeFacts:
        """Return what is kept in the results."""
        return JudgeFacts(
            model=self.judge.model,
            base_url=self.judge.completer.endpoint.base_url,
            weight=self.weight,
            parameters=self.parameters,
            prompt_digest=self.prompt.digest,
            prompt_characters=self.prompt.characters,
            samples=tuple(_average([one.score for one in each.values()]) for each in samples),
            replies=tuple(_cut(each.text) for each in self.completions),
            usage=Usage.total(each.usage for each in self.completions),
            seconds=time.monotonic() - self.started,
            seen=self.prompt.seen,
            notes=self.prompt.notes,
        )

    def explain(self, error: CompletionFailed | UnreadableReply) -> str:
        """Return the words of a failure, with the last reply."""
        if isinstance(error, CompletionFailed):
            return f"the judge {self.judge.model} gave no answer: {error}"
        reply = bound_message(self.completions[-1].text)
        return f"the judge {self.judge.model} gave no usable answer: {error}\nIt said:\n{reply}"


def _make_checks(prompt: JudgePrompt, samples: Sequence[_Sample]) -> tuple[Check, ...]:
    return tuple(
        Check(
            name=criterion.name,
            score=_average([each[criterion.id].score for each in samples]),
            message=_explain_score([each[criterion.id] for each in samples]),
            part="judge",
        )
        for criterion in prompt.criteria
    )


def _explain_score(scored: Sequence[Scored]) -> str:
    if len(scored) == 1:
        return bound_message(scored[0].reason)
    return bound_message("\n".join(f"{one.score:g}: {one.reason}" for one in scored))


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _cut(text: str) -> str:
    left_out = len(text) - KEPT_CHARACTERS
    if left_out <= 0:
        return text
    return f"{text[:KEPT_CHARACTERS]}\n… {left_out} characters left out, see {ARTIFACT} …"


def _write_artifact(job: GradingJob, talk: _Talk, facts: JudgeFacts) -> None:
    if job.artifacts is None:
        return
    data = {
        "messages": talk.prompt.messages,
        "schema": make_schema(talk.prompt.verdict_id, talk.prompt.criteria),
        "replies": [each.text for each in talk.completions],
        "facts": asdict(facts),
    }
    text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    (job.artifacts / ARTIFACT).write_bytes(text.encode("utf-8", "backslashreplace"))


def make_judge(
    settings: JudgeSettings, variables: Mapping[str, str], pool: SlotPool
) -> Judge | None:
    """Return the judge that is asked for, if any; SettingsError if it cannot be reached."""
    if settings.model is None:
        return None
    if find_spec("openai") is None:
        raise SettingsError("judges need the extra: pip install 'pytest-evoclaw[judge]'")
    endpoint = find_endpoint(settings.model, settings.base_url, variables)
    limits = CompletionLimits(call_seconds=settings.seconds, total_seconds=TRIES * settings.seconds)
    completer = Completer(endpoint=endpoint, limits=limits, pool=pool)
    return Judge(model=settings.model, completer=completer, samples=settings.samples)


def create(judge: Judge) -> Judge:
    """Return the grader of ``llm_judge`` tasks."""
    return judge
