"""The rules that a shortcut can break, by the kind of channel that needs them."""

from __future__ import annotations

from pytest_evoclaw.evidence.families import TaskSpec

RULES: dict[str, tuple[str, ...]] = {
    "any": (
        "ignore status",
        "accept pending",
        "ignore checksum",
        "checksum without salt",
        "ignore supersession",
        "superseded only by an approved packet",
        "latest revision",
        "first packet of the manifest",
        "last packet of the manifest",
        "ignore revision",
        "ignore weight",
        "weight before revision",
        "highest packet id",
        "first in the manifest on a tie",
        "last in the manifest on a tie",
        "revision as text",
        "all good packets together",
        "all final records",
        "count drafts",
        "count voids",
        "count every state",
    ),
    "L": (
        "ignore remove",
        "ignore alias",
        "file order",
        "equal revisions by file order",
        "equal revisions by reverse file order",
        "aliases last",
        "aliases are lasting",
        "removals last",
        "removals are lasting",
        "keep duplicates",
        "order of inclusion",
        "empty lists",
    ),
    "N": (
        "ignore subtract",
        "ignore signs",
        "ignore scale",
        "clamp as it runs",
    ),
    "decimals": (
        "clamp the total",
        "round each part",
        "round half to even",
        "round half up",
        "truncate",
    ),
    "D": ("ignore subtract", "keep zeros", "drop negatives", "count records"),
    "B": ("any gate", "most gates", "latest of each gate", "always true", "always false"),
    "T": (
        "first candidate",
        "last candidate",
        "latest candidate",
        "ignore penalties",
        "tie to the last name",
        "tie to the first in the file",
        "tie to the last in the file",
        "tie to the highest score",
        "tie to the lowest score",
    ),
}


def list_shortcuts(spec: TaskSpec) -> list[str]:
    """Return the shortcuts by which a task with these fields can lose."""
    kinds = {"any", *(channel[0] for channel in spec.fields)}
    if any(c[0] == "N" and not name.endswith("_count") for c, name in spec.fields.items()):
        kinds.add("decimals")
    return sorted({rule for kind in kinds for rule in RULES[kind]})
