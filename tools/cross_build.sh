#!/usr/bin/env bash
# cross_build.sh BIN: compile the core for aarch64; nothing of it is run.
# BIN is the folder with cmake and ninja. On Debian: apt install g++-aarch64-linux-gnu
set -euo pipefail
bin=$(realpath -s "$1")
compiler=${CROSS_CXX:-aarch64-linux-gnu-g++}
command -v "$compiler" >/dev/null || { echo "cross build: $compiler is not installed" >&2; exit 1; }
folder=build/aarch64
"$bin/cmake" -S . -B "$folder" -G Ninja -DCMAKE_MAKE_PROGRAM="$bin/ninja" \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=Release -DPOLYLEAF_PYTHON=OFF >/dev/null
"$bin/cmake" --build "$folder"
echo "the core was compiled for aarch64, not run"
