#!/bin/sh
# Checks and measures GPU arrays on this machine's CUDA driver, without a network and without Node.
#
#   ./run.sh                           writes gpu-results.json and gpu-results.md here
#   OUT=/results ./run.sh --minutes 4  elsewhere; --help shows the options
#   PYTHON=/opt/conda/bin/python ./run.sh
#
# Needs Linux on x64 with glibc 2.28 or newer, and gzip. With a Python 3.10 to 3.12 that has NumPy 1.26 or newer it also runs the
# reference server. Exits with 0 if nothing failed, 1 if something did, 2 if nothing could be checked.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-.}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/tesseract-gpu.XXXXXX")
suite=
trap 'rm -rf "$work"' EXIT
trap '[ -z "$suite" ] || kill "$suite" 2>/dev/null || true; exit 143' HUP INT TERM

gzip -dc "$here/node.gz" >"$work/node"
chmod +x "$work/node"

python=${PYTHON:-python3}
if "$python" "$here/unpack.py" "$here/wheels" "$work/packages" >&2; then
  PYTHONPATH="$work/packages${PYTHONPATH:+:$PYTHONPATH}"
  export PYTHONPATH
fi

# In the background, so that a signal to this script is seen at once.
"$work/node" "$here/app/dist/main.js" --python "$python" \
  --json "$out/gpu-results.json" --markdown "$out/gpu-results.md" "$@" &
suite=$!
status=0
wait "$suite" || status=$?
exit "$status"
