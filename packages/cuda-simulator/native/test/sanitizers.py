"""Builds the simulator and its rules with sanitizers, and runs all rules.

    python3 sanitizers.py [FOLDER] [address|thread]...

`address` comes with `undefined`. FOLDER has a build for each, and is native/build/sanitizers if left out. A finding ends the
process in which it is with a status of its own, and so is a broken rule.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent
SANITIZERS = {
    "address": {
        "ASAN_OPTIONS": "exitcode=99:detect_stack_use_after_return=1:strict_string_checks=1",
        "LSAN_OPTIONS": "exitcode=99",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    },
    "thread": {"TSAN_OPTIONS": "exitcode=99:second_deadlock_stack=1"},
}
# Fewer than without: a sanitizer makes everything several times slower.
SEEDS = "10"


def check(folder: Path, sanitizer: str) -> bool:
    build = folder / sanitizer
    start = time.monotonic()
    configure = ["cmake", "-S", NATIVE, "-B", build, f"-DCUDA_SIMULATOR_SANITIZER={sanitizer}"]
    configure += ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1"]
    for command in (configure, ["cmake", "--build", build, "--parallel", str(os.cpu_count())]):
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode != 0:
            print(ran.stdout[-3000:], ran.stderr[-3000:])
            return False
    built = time.monotonic()
    environment = {"RULES_SEEDS": SEEDS} | os.environ | SANITIZERS[sanitizer]
    rules = [build / "bin" / "rules", "--simulator", build / "lib"]
    ran = subprocess.run(rules, env=environment, capture_output=True, text=True)
    output = ran.stdout + ran.stderr
    findings = [line for line in output.splitlines() if "Sanitizer" in line or "runtime error" in line]
    good = ran.returncode == 0 and not findings
    summary = (ran.stdout.strip().splitlines() or ["nothing ran"])[-1]
    times = f"built in {built - start:.0f} s, ran in {time.monotonic() - built:.0f} s"
    print(f"{'ok' if good else 'not ok'} - {sanitizer}: {summary}; {times}", flush=True)
    if not good:
        print("\n".join(line for line in output.splitlines() if not line.startswith("ok")))
    return good


if __name__ == "__main__":
    names = [argument for argument in sys.argv[1:] if argument in SANITIZERS]
    folders = [argument for argument in sys.argv[1:] if argument not in SANITIZERS]
    place = Path(folders[0]) if folders else NATIVE / "build" / "sanitizers"
    results = [check(place, name) for name in names or SANITIZERS]
    sys.exit(0 if all(results) else 1)
