#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All tests, with all set-up. `./test.sh quick` leaves out sanitizers, coverage, fuzzing, the peers and packaging.
set -eu
cd "$(dirname "$0")"
mode=${1:-all}
start=$(date +%s)
passed=0
failed=

step() { # step NAME COMMAND...: prints the outcome and, after a failure, the end of the log
    name=$1; shift
    began=$(date +%s)
    if "$@" > "build/logs/$name.log" 2>&1; then
        echo "ok    $name ($(($(date +%s) - began)) s)"
        passed=$((passed + 1))
    else
        echo "FAIL  $name ($(($(date +%s) - began)) s), the end of build/logs/$name.log:"
        grep -v ' Passed \|^ *Start \|  OK \]\|\[ RUN ' "build/logs/$name.log" | tail -n 60
        failed="$failed $name"
    fi
}

finish() { # the last line says how many steps passed
    grep -hs '^line coverage' build/logs/coverage.log || true
    echo "$(($(date +%s) - start)) s in all"
    set -- $failed
    [ $# = 0 ] || echo "failed: $*"
    echo "$passed passed, $# failed"
    [ $# = 0 ] && exit 0
    exit 1
}

tools/setup build runtime test browser
rm -rf build/logs
mkdir -p build/logs
export PGY_TEST_PYTHON="$PWD/build/python-test/bin/python" POLYGRAPHY_PYTHON="$PWD/build/python/bin/python"

step layers tools/check_layers
step style sh -c 'tools/check_style && tools/check_cycles && tests/tools/check_cycles'
step commands tools/check_commands
step build sh -c 'cmake --preset release -DPGY_TESTS=ON -DPGY_BENCH=ON && cmake --build --preset release'
case $failed in *build*) finish ;; esac
step unit ctest --test-dir build/release --output-on-failure -j2
# CUDA kernels are the same ones whatever the processor is.
step unit-avx2 env POLYGRAPHY_CPU=avx2 ctest --test-dir build/release --output-on-failure -j2 -R '^(base|tensor|ops|compare|backends|kernels|engine)\.' -E '^kernels\.cuda$'
step unit-portable env POLYGRAPHY_CPU=portable ctest --test-dir build/release --output-on-failure -j2 -R '^(base|tensor|ops|compare|backends|kernels|engine)\.' -E '^kernels\.cuda$'
step program tests/cli/run_cases build/release/bin/polygraphy
step page tests/viewer/run build/release/bin/polygraphy --results build/logs/page
if command -v firefox-esr >/dev/null || command -v firefox >/dev/null; then # it is tried where it is; nothing installs it
    step page-firefox tests/viewer/run build/release/bin/polygraphy --browser firefox --results build/logs/page-firefox
fi
grep -hs '^skipped' build/logs/page.log || true
step headers tests/headers/check
step docs tools/gen_docs --check
step printed-commands sh -c 'tests/docs/run_commands build/release && tools/screenshot --check'
if [ "$mode" = all ]; then
    step sanitize sh -c 'cmake --preset asan && cmake --build --preset asan && rm -rf build/asan/profile && ctest --test-dir build/asan --output-on-failure -j2'
    step sanitized-program tests/cli/run_cases build/asan/bin/polygraphy
    step coverage tools/coverage --no-run --at-least 85
    # select and program_place search on one thread and take minutes under the thread sanitizer.
    step threads sh -c 'cmake --preset tsan -DPGY_BENCH=OFF && cmake --build --preset tsan --target engine-tests && ctest --test-dir build/tsan --output-on-failure -j2 -R "^(engine\.|kernels\.team)" -E "^engine\.(select|program_place)$"'
    step failing-allocator tests/harness/fail_alloc build/asan 20
    step fuzz tests/fuzz/run_short --built build/asan
    step install tests/install/check
    step peers tests/parity/run build/release/bin/polygraphy
fi
finish
