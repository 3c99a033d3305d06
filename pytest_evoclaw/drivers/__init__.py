"""Programs that run where an agent runs, in a process of their own."""

from __future__ import annotations
