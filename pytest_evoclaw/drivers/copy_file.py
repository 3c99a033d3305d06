"""Copy a file into the current directory: ``copy_file.py SOURCE TARGET``."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    source, target = (Path(argument) for argument in sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())
