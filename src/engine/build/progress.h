/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the progress of a build to the monitor of the configuration and to the process
 * (base/progress.h). */
#ifndef ENGINE_BUILD_PROGRESS_H
#define ENGINE_BUILD_PROGRESS_H

#include <polygraphy/build_config.h>
#include <polygraphy/graph.h>

/* `parent` NULL: a top-level phase. Call progress_finish for every phase, also after a failure. */
void progress_start(const pgy_build_config *c, const char *phase, const char *parent,
                    size_t step_count);
/* Reports that step `step` is done. PGY_E_CANCELLED: the monitor wants the build to end. */
pgy_status progress_step(const pgy_build_config *c, const char *phase, size_t step,
                         pgy_error *err) PGY_MUST_CHECK;
void progress_finish(const pgy_build_config *c, const char *phase);

/* The seconds that each phase of a build is expected to take; progress_expect turns them into
 * shares of the whole. `measuring_ns`: the time left for measuring kernels. */
typedef struct build_costs {
    double passes, kernels, times, packing, writing;
} build_costs;
build_costs build_expect_costs(const pgy_graph *g, int64_t measuring_ns);
/* Announces a phase of cost `next`, with phases of total cost `later` after it. */
void progress_expect_costs(double next, double later);

/* The phases. */
#define PROGRESS_ENGINE "Building an engine"   /* contains all below; not reported to monitors */
#define PROGRESS_PASSES "Rewriting the graph"  /* a step for each pass */
#define PROGRESS_PROGRAM "Building a program"  /* kernels, debug tensors, memory */
#define PROGRESS_KERNELS "Looking for kernels" /* of a program; a step for each node */
#define PROGRESS_TIMES "Measuring kernels"     /* likewise */
#define PROGRESS_PACKING "Packing weights"     /* likewise */
#define PROGRESS_WRITING "Writing the plan"    /* not reported to monitors */
#define PROGRESS_CALIBRATION                                             \
    "Calibrating" /* a step for each input; their number is not known: 0 \
                   */

#endif
