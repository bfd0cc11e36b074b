#!/usr/bin/env bash
# Builds the core with the address and undefined-behaviour sanitizers into build/sanitize and runs
# the kernel tests against it. Usage: sanitize.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
folder=build/sanitize
"$(dirname "$python")/cmake" -S . -B "$folder" -G Ninja -DRAMIFY_SANITIZE=ON \
    -DCMAKE_BUILD_TYPE=Debug -DPython_EXECUTABLE="$(realpath -s "$python")" \
    -DCMAKE_MAKE_PROGRAM="$(realpath -s "$(dirname "$python")/ninja")" >/dev/null
"$(dirname "$python")/cmake" --build "$folder"
# A package folder of its own: the sources by link, the sanitized extension beside them.
package=$folder/package/ramify
rm -rf "$folder/package"
mkdir -p "$package"
for entry in src/ramify/*; do ln -s "$(realpath "$entry")" "$package/"; done
cp "$folder"/_core*.so "$package/"
libraries="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
# The interpreter itself leaks by design, and shares no allocator with the core.
LD_PRELOAD="$libraries" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
    PYTHONPATH="$folder/package" RAMIFY_EXPECT_CORE="$(realpath "$package")" \
    "$python" -X faulthandler -m pytest -m kernel tests/core
