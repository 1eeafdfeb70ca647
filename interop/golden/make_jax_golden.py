# SPDX-License-Identifier: Apache-2.0
"""Records what JAX with tesseract-jax gives for the programs of golden/jax/programs.py, and how often it asks.

    python interop/golden/make_jax_golden.py elementwise=http://localhost:8001 elementwise32=… vectors=… > FILE

The Tesseracts are the fixtures of these names, served by any runtime. The Python needs tesseract-core and tesseract-jax 0.5
(Python 3.12 or newer) or 0.4; their versions are recorded too.
"""

import json
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

from tesseract_core import Tesseract  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent / "jax"))
import programs  # noqa: E402

requests: list[str] = []


def counting_proxy(target: str) -> str:
    """A server that passes everything on to another, and writes down the endpoints that are asked."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length) if length else None
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
            if self.command == "POST":
                requests.append(self.path.split("?")[0].strip("/"))
            request = urllib.request.Request(target + self.path, body, headers, method=self.command)
            try:
                response = urllib.request.urlopen(request)
            except urllib.error.HTTPError as error:
                response = error
            answer = response.read()
            self.send_response(response.status)
            self.send_header("content-type", response.headers["content-type"])
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = forward

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def plain(tree):
    return jax.tree.map(lambda leaf: leaf.tolist(), tree)


def record(tesseracts):
    functions = programs.functions(tesseracts)
    recorded = {}
    for name, function in functions.items():
        for transformation, transform in programs.transformations("float32" if name == "float32" else "float64").items():
            requests.clear()
            try:
                result = {"value": plain(transform(function))}
            except Exception as error:  # noqa: BLE001
                result = {"error": type(error).__name__, "message": str(error).split("\n")[0][:200]}
            recorded[f"{transformation}: {name}"] = {**result, "requests": list(requests)}
        print(name, file=sys.stderr, flush=True)
    return recorded


if __name__ == "__main__":
    tesseracts = {}
    for argument in sys.argv[1:]:
        name, url = argument.split("=", 1)
        tesseracts[name] = Tesseract.from_url(counting_proxy(url))
    versions = {name: version(name) for name in ("jax", "tesseract-jax", "tesseract-core")}
    programs_recorded = record(tesseracts)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in programs_recorded.items())
    print(f'{{"versions": {json.dumps(versions)},\n"programs": {{\n{lines}\n}}}}')
