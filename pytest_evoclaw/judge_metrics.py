"""What judges said and used, in result files: only where there was one, and in no other sum."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Any

from pytest_evoclaw.results import Grade
from pytest_evoclaw.results import TrialResult
from pytest_evoclaw.results import Usage


def describe_judgement(grade: Grade) -> dict[str, Any] | None:
    """Return the judge's part of a grade, None without one; unknown numbers are None."""
    if (facts := grade.judge) is None:
        return None
    return {
        "model": facts.model,
        "weight": facts.weight,
        "automated_score": grade.automated_score,
        "judge_score": grade.judge_score,
        "samples": list(facts.samples),
        "noise": facts.noise,
        "prompt_digest": facts.prompt_digest,
        "prompt_characters": facts.prompt_characters,
        "parameters": facts.parameters,
        "input_tokens": facts.usage.input_tokens,
        "output_tokens": facts.usage.output_tokens,
        "total_tokens": facts.usage.total_tokens,
        "cost_usd": facts.usage.cost_usd,
        "seconds": facts.seconds,
    }


def describe_partial(result: TrialResult) -> dict[str, Any]:
    """Return ``automated_score`` of a trial that was not judged, or nothing if there is none."""
    partial = result.phases[-1].partial if result.phases else None
    if partial is None or partial.automated is None:
        return {}
    return {"automated_score": partial.automated.score}


def describe_judge_usage(results: Iterable[TrialResult]) -> dict[str, Any]:
    """Return ``judge_usage`` of all trials, scored or not, or nothing without a judge."""
    facts = [each for result in results for each in result.judgements]
    if not facts:
        return {}
    usage = Usage.total(each.usage for each in facts)
    noises = [each.noise for each in facts if each.noise is not None]
    return {
        "judge_usage": {
            "judgements": len(facts),
            "samples": sum(len(each.samples) for each in facts),
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
            "request_count": usage.request_count,
            "cost_usd": usage.cost_usd,
            "seconds": math.fsum(each.seconds for each in facts),
            "mean_noise": statistics.fmean(noises) if noises else None,
        }
    }
