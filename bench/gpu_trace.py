#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a plan goes on a GPU, with the overlap of its kernels: gpu_trace.py PROGRAM PLAN [options]; needs a C compiler and CUPTI of CUDA 13

PROGRAM is polygraphy. The plan runs with CUPTI's records of kernels and copies. A line of the result is a kernel of a run: `step`, the median time
from the end of the kernel before it, and `whole`, from its own start; a kernel that is launched early starts before the other one has ended, so the
steps, not the whole times, add up to the run. Then grid, threads, shared memory and name. Recording slows down the host, not the kernels.
"""
import argparse
import collections
import os
import statistics
import subprocess
import sys
import tempfile

# CUDA loads this library into the program (CUDA_INJECTION64_PATH).
RECORDER = r"""
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *out;

static void request(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(64, *size = 8 << 20);
    *records = 0;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
        const CUpti_ActivityKernel10 *k = (void *)r;
        const CUpti_ActivityMemcpy6 *c = (void *)r;
        if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            fprintf(out, "kernel %llu %llu %d x %d x %d, %d threads, %d bytes, %s\n", (unsigned long long)k->start, (unsigned long long)k->end,
                    k->gridX, k->gridY, k->gridZ, k->blockX * k->blockY * k->blockZ, k->dynamicSharedMemory, k->name);
        else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
            fprintf(out, "%s %llu %llu\n", c->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "back" : "copy", (unsigned long long)c->start, (unsigned long long)c->end);
    }
    free(buffer);
}

static void finish(void)
{
    cuptiActivityFlushAll(1);
    fclose(out);
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    out = fopen(getenv("GPU_TRACE"), "w");
    cuptiActivityRegisterCallbacks(request, complete);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    atexit(finish);
    return out != NULL;
}
"""


def record(o, folder):
    source, library, trace = (os.path.join(folder, n) for n in ("recorder.c", "recorder.so", "trace"))
    with open(source, "w", encoding="utf-8") as f:
        f.write(RECORDER)
    places = [os.path.join(o.cuda, *p) for p in (("lib64",), ("lib",), ("extras", "CUPTI", "lib64"), ("targets", "x86_64-linux", "lib"))]
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-w", "-I" + os.path.join(o.cuda, "include"), "-I" + os.path.join(o.cuda, "extras/CUPTI/include"),
                    source, "-o", library, *("-L" + p for p in places), "-lcupti", *("-Wl,-rpath," + p for p in places)], check=True)
    subprocess.run([o.program, "run", o.plan, "--trt", "--warm-up", "10", "--iterations", str(o.iterations)], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, CUDA_INJECTION64_PATH=library, GPU_TRACE=trace))
    return trace


def repeated(kernels):
    """The shortest sequence of names that all of `kernels` repeats, run by run."""
    names, count = [k[2] for k in kernels], len(kernels)
    period = next(p for p in range(1, count + 1) if count % p == 0 and names == names[:p] * (count // p))
    return [kernels[i:i + period] for i in range(0, count, period)]


def runs_of(trace):
    """The kernels of each run, by their ends: a run ends with the copy of a result to the host. Where kernels copy results, too, as in a graph, no such
    copy is behind the last kernels, and runs repeat each other. Runs of another number of kernels are left out."""
    runs, now = [], []
    with open(trace, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split(" ", 3) for line in f]
    for kind, start, end, *name in sorted(lines, key=lambda w: int(w[1])):
        if kind == "kernel":
            now.append((int(end), int(start), name[0]))
        elif kind == "back" and now:
            runs.append(sorted(now))
            now = []
    if len(now) > 1:
        runs = [sorted(r) for r in repeated(now)]
    count = collections.Counter(map(len, runs)).most_common(1)
    return [r for r in runs if len(r) == count[0][0]] if count else []


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("plan")
    p.add_argument("--iterations", type=int, default=50)
    p.add_argument("--cuda", default="/usr/local/cuda", help="folder of CUDA (default: /usr/local/cuda)")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = runs_of(record(o, folder))
    if not runs:
        sys.exit("no run was recorded")
    whole = [(r[-1][0] - r[0][1]) / 1e3 for r in runs]
    print(f"{len(runs)} runs of {len(runs[0])} kernels; from the first start to the last end {statistics.median(whole):.1f} us (median)")
    before = 0
    for i, (_, _, name) in enumerate(runs[-1]):
        end = statistics.median((r[i][0] - r[0][1]) / 1e3 for r in runs)
        took = statistics.median((r[i][0] - r[i][1]) / 1e3 for r in runs)
        print(f"{i:4} step {end - before:7.2f} us, whole {took:7.2f} us: {name[:100]}")
        before = end


if __name__ == "__main__":
    main()
