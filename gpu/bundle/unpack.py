"""Unpacks the wheels for this Python into a folder: unpack.py WHEELS FOLDER. It needs neither pip nor venv."""

import sys
import zipfile
from pathlib import Path

wheels, folder = Path(sys.argv[1]), Path(sys.argv[2])
version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
if not (wheels / version).is_dir():
    known = ", ".join(sorted(path.name for path in wheels.iterdir() if path.name != "any"))
    sys.exit(f"There are no wheels for this Python ({version}), only for {known}: what it has itself is used")
for wheel in sorted([*(wheels / "any").glob("*.whl"), *(wheels / version).glob("*.whl")]):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
