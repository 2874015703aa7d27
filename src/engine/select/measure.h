/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how long kernels take for one problem. */
#ifndef ENGINE_SELECT_MEASURE_H
#define ENGINE_SELECT_MEASURE_H

#include "kernels/kernel.h"

/* A kernel with a problem that it has accepted. */
typedef struct measure_candidate {
    const kernel *kernel;
    const kernel_problem *problem;
    double estimate_ns;
    double time_ns; /* out; negative: not measured, MEASURE_FAILED: it cannot run. A candidate that
                     * is clearly slower than the best is dropped early, so its time is rough */
    device *device; /* the device whose clock times it; NULL: the host */
} measure_candidate;

/* Runs the candidates in turn on random data and keeps the shortest time of each: at least five
 * runs after two warm-up runs. Several copies of the tensors take turns, so that data come from a
 * distant cache, as in a model. The time is that of `threads` threads. Measuring stops at `until`
 * (clock_ns); candidates without a time by then keep time_ns negative. False: out of memory or
 * time, nothing was measured. */
bool measure_kernels(measure_candidate *candidates, size_t count, size_t threads, int64_t until);
enum { MEASURE_FAILED = -2 };
/* The shortest time of a device's kernel; negative: it could not be measured, MEASURE_FAILED: not
 * even prepared. */
double measure_on_device(const measure_candidate *c, int64_t until);
/* Fills an operand with random data that every kernel can take. */
void measure_fill(void *to, pgy_dtype dtype, size_t size_bytes);

#endif
