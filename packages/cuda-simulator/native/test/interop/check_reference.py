"""The unmodified reference carries GPU arrays by cuda_ipc between a client and a server, both on the simulator.

    python check_reference.py FOLDER_OF_LIBRARIES

Needs `tesseract-core[runtime]` 1.15 in the Python that runs it. The trace must say that no array went through the host.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(environment: dict, port: int) -> subprocess.Popen:
    runtime = Path(sys.executable).parent / "tesseract-runtime"
    server = subprocess.Popen(
        [runtime, "serve", "--host", "127.0.0.1", "--port", str(port)],
        env=environment
        | {
            "TESSERACT_API_PATH": str(HERE / "identity" / "tesseract_api.py"),
            "TESSERACT_RUNTIME_API_PATH": str(HERE / "identity" / "tesseract_api.py"),
            "TESSERACT_GPU_TRANSPORT": "cuda_ipc",
            "TESSERACT_RUNTIME_GPU_TRANSPORT": "cuda_ipc",
        },
        stdout=subprocess.DEVNULL,
    )
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
            return server
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server doesn't answer")


def client(port: int) -> None:
    import numpy as np
    from tesseract_core import Tesseract
    from tesseract_core.runtime.cuda.ipc import _device_array_from_bytes

    class DeviceArray:
        """Memory on the device, as any framework would show it."""

        device = 0

        def __init__(self, values: "np.ndarray", offset: int = 0) -> None:
            self.owner = _device_array_from_bytes(values.tobytes(), 0)
            self.__cuda_array_interface__ = {
                "shape": (values.size - offset,),
                "typestr": values.dtype.str,
                "data": (self.owner._ptr + offset * values.itemsize, False),
                "strides": None,
                "version": 3,
            }

    with Tesseract.from_url(f"http://127.0.0.1:{port}") as tesseract:
        view = tesseract.with_encoding(gpu_transport="cuda_ipc")
        assert view.resolve_gpu_transport() == "cuda_ipc", "the check failed"
        for count, offset in [(1, 0), (1000, 0), (100_000, 777), (100_000, 777)]:
            values = np.random.default_rng(count).random(count)
            result = view.apply({"x": DeviceArray(values, offset)})["y"]
            assert hasattr(result, "__cuda_array_interface__"), "the result left the device"
            assert (result.copy_to_host() == values[offset:]).all()


def main(libraries: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        traces = {name: Path(folder) / name for name in ("server", "client")}
        environment = os.environ | {
            "LD_LIBRARY_PATH": str(Path(libraries).resolve()),
            "CUDA_SIMULATOR_MACHINE": f"interop-{os.getpid()}",
            "CUDA_SIMULATOR_STRICT": "1",
            "TESSERACT_FORBID_DEVICE_HOST_COPY": "1",
        }
        port = free_port()
        server = serve(environment | {"CUDA_SIMULATOR_TRACE": str(traces["server"])}, port)
        try:
            subprocess.run(
                [sys.executable, __file__, "--client", str(port)],
                env=environment | {"CUDA_SIMULATOR_TRACE": str(traces["client"])},
                check=True,
            )
        finally:
            server.terminate()
            server.wait()
        lines = {
            name: [json.loads(line) for line in path.read_text().splitlines()] for name, path in traces.items()
        }
        for name, records in lines.items():
            assert any(r.get("function") == "cuIpcOpenMemHandle" and r["result"] == 0 for r in records), name
            hazards = [r for r in records if r["type"] == "hazard"]
            assert not hazards, (name, hazards)
        down = [r["bytes"] for r in lines["server"] if r.get("direction") == "DtoH"]
        assert down == [256], f"the server copied to the host: {down}"  # the check's own array
        # uvicorn ends by the signal that stopped it, and so without exit handlers: the next start clears up.
        subprocess.run(
            [sys.executable, "-c", "import ctypes; assert ctypes.CDLL('libcuda.so.1').cuInit(0) == 0"],
            env=environment,
            check=True,
        )
        left = [f for f in os.listdir("/dev/shm") if f"interop-{os.getpid()}" in f]
        assert not left, left
    print("ok: the reference's client and server exchanged GPU arrays")


if __name__ == "__main__":
    if sys.argv[1] == "--client":
        client(int(sys.argv[2]))
    else:
        main(sys.argv[1])
