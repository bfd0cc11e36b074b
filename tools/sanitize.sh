#!/usr/bin/env bash
# Builds the core with sanitizers into build/ and runs a command whose interpreters, all of them,
# take that core instead of the installed one.
# Usage: sanitize.sh PYTHON address|thread COMMAND...
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 kind=$2
shift 2
tools=$(dirname "$python")
folder=$PWD/build/sanitize-$kind
option=POLYLEAF_SANITIZE
if [ "$kind" = thread ]; then option=POLYLEAF_TSAN; fi
"$tools/cmake" -S . -B "$folder" -G Ninja -D$option=ON -DCMAKE_BUILD_TYPE=Debug \
    -DPython_EXECUTABLE="$(realpath -s "$python")" \
    -DCMAKE_MAKE_PROGRAM="$(realpath -s "$tools/ninja")" >/dev/null
"$tools/cmake" --build "$folder"
mkdir -p "$folder/hook"
cat >"$folder/hook/sitecustomize.py" <<'PYTHON'
import importlib.util
import os
import sys

_spec = importlib.util.spec_from_file_location("polyleaf._core", os.environ["POLYLEAF_CORE"])
sys.modules["polyleaf._core"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["polyleaf._core"])
PYTHON
export PYTHONPATH="$folder/hook${PYTHONPATH:+:$PYTHONPATH}"
export POLYLEAF_CORE="$(echo "$folder"/_core*.so)"
if [ "$kind" = thread ]; then
    # The fixed addresses of its shadow memory do not go with random ones. NumPy and the
    # interpreter are not instrumented: only races within the core are reported.
    export TSAN_OPTIONS="report_bugs=1 halt_on_error=1 exitcode=66 ignore_noninstrumented_modules=1"
    run=(setarch "$(uname -m)" -R env LD_PRELOAD="$(g++ -print-file-name=libtsan.so)")
else
    # The interpreter itself leaks by design. A refused allocation is a MemoryError, as elsewhere.
    export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
    export UBSAN_OPTIONS=print_stacktrace=1
    run=(env LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)")
fi
check='import os; from polyleaf import _core; assert _core.__file__ == os.environ["POLYLEAF_CORE"]'
"${run[@]}" "$python" -c "$check"
# A report must reach the screen although pytest catches what tests write: hence -s.
"${run[@]}" "$python" -X faulthandler "$@"
