#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to a first verdict: installs what is needed, builds, and compares a trained model in two runtimes.
set -eu
cd "$(dirname "$0")"

tools/setup build runtime
cmake --preset release -DPGY_TESTS=OFF -DPGY_BENCH=OFF > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build --preset release > build/build.log 2>&1 || { cat build/build.log; exit 1; }

echo
echo '$ polygraphy run examples/models/digits.onnx --trt --onnxrt --load-inputs examples/data/digits_inputs.json --validate'
build/release/bin/polygraphy run examples/models/digits.onnx --trt --onnxrt \
    --load-inputs examples/data/digits_inputs.json --validate
echo
echo "The program is build/release/bin/polygraphy. This command adds it to PATH in this shell:"
echo "    export PATH=\"$PWD/build/release/bin:\$PATH\""
