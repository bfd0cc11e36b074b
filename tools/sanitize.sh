#!/usr/bin/env bash
# Builds the core with the address and undefined-behaviour sanitizers into build/sanitize and runs
# the kernel tests against it. Usage: sanitize.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
tools=$(dirname "$python")
folder=$PWD/build/sanitize
"$tools/cmake" -S . -B "$folder" -G Ninja -DPOLYLEAF_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug \
    -DPython_EXECUTABLE="$(realpath -s "$python")" \
    -DCMAKE_MAKE_PROGRAM="$(realpath -s "$tools/ninja")" >/dev/null
"$tools/cmake" --build "$folder"
# Every interpreter that the tests start takes the sanitized core instead of the installed one.
mkdir -p "$folder/hook"
cat >"$folder/hook/sitecustomize.py" <<'PYTHON'
import importlib.util
import os
import sys

_spec = importlib.util.spec_from_file_location("polyleaf._core", os.environ["POLYLEAF_CORE"])
sys.modules["polyleaf._core"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["polyleaf._core"])
PYTHON
# The interpreter itself leaks by design; a new thread per call keeps its stack for the next.
export LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONPATH="$folder/hook" POLYLEAF_CORE="$(echo "$folder"/_core*.so)"
"$python" -c 'import os; from polyleaf import _core; assert _core.__file__ == os.environ["POLYLEAF_CORE"]'
"$python" -X faulthandler -m pytest -m kernel tests/core
