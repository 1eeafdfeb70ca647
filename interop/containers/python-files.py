"""Prints, as JSON, which files of this environment a served Tesseract needs: found by loading everything that serves one."""

import json
import os
import sys
import sysconfig

os.environ["TESSERACT_API_PATH"] = sys.argv[1]

import lz4.frame  # noqa: E402, F401: loaded for the first call that asks for it
import tesseract_core.runtime.cli  # noqa: E402, F401
import uvicorn.config  # noqa: E402
from tesseract_core.runtime.core import load_module_from_path  # noqa: E402
from tesseract_core.runtime.serve import create_rest_api  # noqa: E402

uvicorn.config.Config(create_rest_api(load_module_from_path(sys.argv[1]))).load()

site = sysconfig.get_path("purelib")
loaded = {
    os.path.relpath(module.__file__, site).split(os.sep)[0]
    for module in list(sys.modules.values())
    if getattr(module, "__file__", None) and module.__file__.startswith(site + os.sep)
}
# What packages are is asked for by name; numpy's libraries lie beside it.
beside = {name for name in os.listdir(site) if name.endswith((".dist-info", ".libs"))}
stdlib = os.path.realpath(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix, "installed_base": sys.base_prefix}))
print(
    json.dumps(
        {
            "executable": os.path.realpath(sys.executable),
            "standardLibrary": stdlib,
            "site": site,
            "packages": sorted(loaded | beside),
        }
    )
)
