# SPDX-License-Identifier: Apache-2.0
"""The reference client's side of the benchmark: reads one JSON command a line, answers with one JSON line."""

import gc
import json
import sys
import time

import numpy as np
from tesseract_core.sdk import tesseract as sdk


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def resident_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def timed(work, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return times


class Worker:
    def connect(self, url, encoding, inputPath, outputPath):
        binref = encoding == "binref"
        self.client = sdk.HTTPClient(url, output_path=outputPath, input_path=inputPath if binref else None)
        self.encoding = sdk.RequestedEncoding(output_format=f"json+{encoding}")

    def array(self, size):
        self.x = np.random.default_rng(1).standard_normal(size)

    def call(self):
        return self.client.run_tesseract("apply", {"inputs": {"x": self.x}}, run_id=self.run_id, encoding=self.encoding)

    def apply(self, count, runId=None):
        self.run_id = runId
        return timed(self.call, count)

    def encode(self, count):
        def work():
            with sdk._encode_payload({"inputs": {"x": self.x}}) as payload:
                sdk.orjson.dumps(payload)

        return timed(work, count)

    def decode(self, count, file):
        with open(file, "rb") as recorded:
            body = recorded.read()

        def work():
            sdk._decode_array(sdk.from_json(body)["y"])

        return timed(work, count)

    def memory(self, runId):
        self.run_id = runId
        self.call_small()
        gc.collect()
        reset_peak()
        before = resident_bytes()
        self.call()
        return peak_bytes() - before

    def call_small(self):
        large, self.x = self.x, self.x[:10]
        run_id, self.run_id = self.run_id, "10"
        self.call()
        self.x, self.run_id = large, run_id


def main():
    worker = Worker()
    for line in sys.stdin:
        command = json.loads(line)
        result = getattr(worker, command.pop("do"))(**command)
        print(json.dumps(result), flush=True)


main()
