/* SPDX-License-Identifier: Apache-2.0 */
/* What the monitor of a configuration is told while an engine is built, and what the process
 * reports (base/progress.h). */
#ifndef ENGINE_BUILD_PROGRESS_H
#define ENGINE_BUILD_PROGRESS_H

#include <polygraphy/build_config.h>
#include <polygraphy/graph.h>

/* `parent` NULL: a phase of its own. Every phase that starts is finished, also when it fails. */
void progress_start(const pgy_build_config *c, const char *phase, const char *parent,
                    size_t step_count);
/* Step `step` is done. PGY_E_CANCELLED: the monitor wants the build to end. */
pgy_status progress_step(const pgy_build_config *c, const char *phase, size_t step,
                         pgy_error *err) PGY_MUST_CHECK;
void progress_finish(const pgy_build_config *c, const char *phase);

/* What the phases of a build are expected to take, in seconds: the share that each is told to be of
 * the whole (progress_expect). `measuring_ns`: what is left for measuring. */
typedef struct build_costs {
    double passes, kernels, times, packing, writing;
} build_costs;
build_costs build_expect_costs(const pgy_graph *g, int64_t measuring_ns);
/* A phase of cost `next` begins, before others of cost `later`. */
void progress_expect_costs(double next, double later);

/* The phases. */
#define PROGRESS_ENGINE "Building an engine"   /* of all below; no monitor is told */
#define PROGRESS_PASSES "Rewriting the graph"  /* a step for each pass */
#define PROGRESS_PROGRAM "Building a program"  /* kernels, debug tensors, memory */
#define PROGRESS_KERNELS "Looking for kernels" /* of a program; a step for each node */
#define PROGRESS_TIMES "Measuring kernels"     /* likewise */
#define PROGRESS_PACKING "Packing weights"     /* likewise */
#define PROGRESS_WRITING "Writing the plan"    /* no monitor is told */
#define PROGRESS_CALIBRATION                                             \
    "Calibrating" /* a step for each input; their number is not known: 0 \
                   */

#endif
