"""Measure whether the skills that an AI agent writes help its later runs."""

from __future__ import annotations

__version__ = "0.1.0"
