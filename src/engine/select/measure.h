/* SPDX-License-Identifier: Apache-2.0 */
/* How long kernels take for one use of an operator. */
#ifndef ENGINE_SELECT_MEASURE_H
#define ENGINE_SELECT_MEASURE_H

#include "kernels/kernel.h"

/* A kernel with a use that it has accepted. */
typedef struct measure_candidate {
    const kernel *kernel;
    const kernel_problem *use;
    double estimate_ns;
    double time_ns; /* out; negative: not measured. One that is clearly slower than the best is
                       given up early, and has a rough time */
    device *device; /* that times it by its own clock; NULL: the host */
} measure_candidate;

/* Runs the candidates by turns on random data and keeps the shortest time of each: at least five
 * runs after two to warm up, on copies of the tensors that take turns, so that data come from a
 * distant cache, as they do in a model. The time is that of `threads` threads. `until`: by
 * clock_ns; what has no time by then has none. False: there was no memory or time, nothing is
 * measured.
 */
bool measure_kernels(measure_candidate *candidates, size_t count, size_t threads, int64_t until);
/* The shortest time of a kernel of a device; negative: there is none. */
double measure_on_device(const measure_candidate *c, int64_t until);
/* Random data that are good for any operand. */
void measure_fill(void *to, pgy_dtype dtype, size_t size_bytes);

#endif
