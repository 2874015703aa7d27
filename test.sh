#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All tests, with all set-up. `./test.sh quick` leaves out sanitizers, coverage, fuzzing, the peers and packaging.
set -eu
cd "$(dirname "$0")"
mode=${1:-all}
start=$(date +%s)
passed=0
failed=

tell() { # tell NAME STATUS SECONDS: prints the outcome and, after a failure, the end of the log
    if [ "$2" = 0 ]; then
        echo "ok    $1 ($3 s)"
        passed=$((passed + 1))
    else
        echo "FAIL  $1 ($3 s), the end of build/logs/$1.log:"
        grep -v ' Passed \|^ *Start \|  OK \]\|\[ RUN ' "build/logs/$1.log" | tail -n 60
        failed="$failed $1"
    fi
}

step() { # step NAME COMMAND...
    name=$1; shift
    began=$(date +%s)
    status=0
    "$@" > "build/logs/$name.log" 2>&1 || status=$?
    tell "$name" "$status" "$(($(date +%s) - began))"
}

aside() { # aside NAME COMMAND...: a step that mostly waits; it runs beside the next ones, and `join` tells its outcome
    name=$1; shift
    (
        began=$(date +%s)
        status=0
        "$@" > "build/logs/$name.log" 2>&1 || status=$?
        echo "$status $(($(date +%s) - began))" > "build/logs/$name.status"
    ) &
    beside="${beside:-} $name"
}

join() { # waits for the steps that were set aside
    wait
    for name in ${beside:-}; do
        read -r status seconds < "build/logs/$name.status" || { status=1; seconds=0; }
        tell "$name" "$status" "$seconds"
    done
    beside=
    grep -hs '^skipped' build/logs/page*.log || true
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

tools/setup build tools
rm -rf build/logs
mkdir -p build/logs
export PGY_TEST_PYTHON="$PWD/build/python-test/bin/python" POLYGRAPHY_PYTHON="$PWD/build/python/bin/python"

aside setup tools/setup runtime test browser # mostly downloads, which the build does not need
aside style sh -c 'tools/check_style && tools/check_cycles && tests/tools/check_cycles' # uses one processor
step layers tools/check_layers
step commands tools/check_commands
step build sh -c 'cmake --preset release -DPGY_TESTS=ON -DPGY_BENCH=ON && cmake --build --preset release'
join
case $failed in *build* | *setup*) finish ;; esac
step unit ctest --test-dir build/release --output-on-failure -j2
# CUDA kernels are the same ones whatever the processor is.
step unit-avx2 env POLYGRAPHY_CPU=avx2 ctest --test-dir build/release --output-on-failure -j2 -R '^(base|tensor|ops|compare|backends|kernels|engine)\.' -E '^kernels\.cuda'
step unit-portable env POLYGRAPHY_CPU=portable ctest --test-dir build/release --output-on-failure -j2 -R '^(base|tensor|ops|compare|backends|kernels|engine)\.' -E '^kernels\.cuda'
aside page tests/viewer/run build/release/bin/polygraphy --results build/logs/page
if command -v firefox-esr >/dev/null || command -v firefox >/dev/null; then # it is tried where it is; nothing installs it
    aside page-firefox tests/viewer/run build/release/bin/polygraphy --browser firefox --results build/logs/page-firefox
fi
aside headers tests/headers/check # uses one processor
step program tests/cli/run_cases build/release/bin/polygraphy
step docs tools/gen_docs --check
aside printed-commands sh -c 'tests/docs/run_commands build/release && tools/screenshot --check' # one after the other
if [ "$mode" = all ]; then
    step sanitize-build sh -c 'cmake --preset asan && cmake --build --preset asan'
fi
join
if [ "$mode" = all ]; then
    # The page's modules are not compiled: `unit` has tested all of them.
    # Stacks of allocations are as long as reports need them: longer ones take a tenth of the time.
    step sanitize sh -c 'rm -rf build/asan/profile && ASAN_OPTIONS=malloc_context_size=8 ctest --test-dir build/asan --output-on-failure -j2 -E "^viewer\.page"'
    step sanitized-program tests/cli/run_cases build/asan/bin/polygraphy
    aside coverage tools/coverage --no-run --at-least 85 # uses one processor, like the next one
    aside install tests/install/check
    # Without the tests that start no thread, which other builds make sure of.
    step threads sh -c 'cmake --preset tsan -DPGY_BENCH=OFF && cmake --build --preset tsan --target engine-tests && ctest --test-dir build/tsan --output-on-failure -j2 -R "^(engine\.|kernels\.team)" -LE one_thread'
    join
    step failing-allocator tests/harness/fail_alloc build/asan 20
    step fuzz tests/fuzz/run_short --built build/asan
    step peers tests/parity/run build/release/bin/polygraphy
fi
finish
