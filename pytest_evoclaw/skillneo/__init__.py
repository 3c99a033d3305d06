"""SkillNEO: non-elitist evolution of skill bundles (its paper: sections 3, Algorithm 1, B).

Knows no task, path of a project, runtime or pytest; everything from outside is in ``parties.py``.
"""
