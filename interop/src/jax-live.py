# SPDX-License-Identifier: Apache-2.0
"""Runs programs of golden/jax/programs.py with the tesseract-jax that is installed, on a served `elementwise`.

    jax-live.py elementwise=URL [METHOD/TRANSFORMATION/FUNCTION ...]

Prints the values of each and the endpoints that it asked, as make_jax_golden.py does.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "golden"))
from make_jax_golden import counting_proxy, plain, programs, requests  # noqa: E402
from tesseract_core import Tesseract  # noqa: E402

name, url = sys.argv[1].split("=", 1)
tesseracts = {name: Tesseract.from_url(counting_proxy(url))}
recorded = {}
for program in sys.argv[2:]:
    method, transformation, function = program.split("/")
    transform = programs.transformations("float64")[transformation]
    requests.clear()
    try:
        result = {"value": plain(transform(programs.functions(tesseracts, {"vmap_method": method})[function]))}
    except Exception as error:  # noqa: BLE001
        result = {"error": type(error).__name__, "message": str(error)[:300]}
    recorded[program] = {**result, "requests": list(requests)}
versions = {name: version(name) for name in ("jax", "tesseract-jax", "tesseract-core")}
json.dump({"versions": versions, "programs": recorded}, sys.stdout)
