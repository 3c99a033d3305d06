"""How outputs become a grade: checks, readers of outputs, and the ways to grade."""

from __future__ import annotations
