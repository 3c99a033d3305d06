"""The distributions of a suite as a figure; needs the extra ``report``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from pytest_evoclaw.errors import SettingsError
from pytest_evoclaw.suite_stats import SuiteStats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".svg", ".png")
INK = "#30506d"
SLOTS = 7  # a chart of fewer bars keeps them thin


def draw_stats(stats: SuiteStats, path: Path) -> None:
    """Draw four bar charts; SettingsError for another format, or without matplotlib.

    The same numbers give the same SVG, byte for byte.
    """
    if path.suffix not in FORMATS:
        raise SettingsError(f"--figure: found {path.name!r}, allowed {' or '.join(FORMATS)}")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SettingsError("--figure needs pip install 'pytest-evoclaw[report]'") from error
    charts: tuple[tuple[str, Mapping[Any, int]], ...] = (
        ("Tasks by family", {name: family.tasks for name, family in stats.families.items()}),
        ("Tasks by grading type", stats.grading_types),
        ("Tasks by number of sub-problems", stats.sub_problem_counts),
        ("Fixture files by format", stats.fixture_files),
    )
    with matplotlib.rc_context({"svg.hashsalt": "evoclaw"}):
        figure = Figure(figsize=(11, 8), layout="constrained")
        figure.suptitle(f"{stats.tasks} tasks, {stats.sub_problems} sub-problems")
        for axes, (title, counts) in zip(figure.subplots(2, 2).flat, charts, strict=True):
            _draw_bars(axes, title, counts)
        path.parent.mkdir(parents=True, exist_ok=True)
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, metadata=metadata)


def _draw_bars(axes: Axes, title: str, counts: Mapping[Any, int]) -> None:
    from matplotlib.ticker import MaxNLocator

    bars = axes.barh([str(name) for name in counts], list(counts.values()), color=INK)
    axes.bar_label(bars, padding=2)
    axes.set_ylim(max(len(counts), SLOTS) - 0.5, -0.5)
    axes.margins(x=0.12)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
