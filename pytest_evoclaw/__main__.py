"""``python -m pytest_evoclaw`` is ``evoclaw``."""

from __future__ import annotations

import sys

from pytest_evoclaw.cli import main

sys.exit(main())
