/* SPDX-License-Identifier: Apache-2.0 */
/* Passes rewrite the graph before selection. Each has a file src/engine/passes/<name>.c that ends
 * in `const pass PASS_<name>`, and a line in passes.def, whose order is the running order. */
#ifndef ENGINE_PASSES_PASS_H
#define ENGINE_PASSES_PASS_H

#include <polygraphy/build_config.h>

#include "graph/graph.h"

struct calibration_runner;

/* What the engine is built for, as passes with `run_for` need it. */
typedef struct pass_target {
    const pgy_build_config *config; /* NULL: the default configuration */
    /* Runs the model on calibration data (precision/calibrate.h); NULL: such data cannot be run. */
    const struct calibration_runner *runner;
    bool is_part; /* the graph is a part of a body, which nobody watches or saves */
} pass_target;

typedef struct pass {
    const char *name, *summary;
    /* Rewrites g without changing what it computes; *changes counts the rewrites. */
    pgy_status (*run)(pgy_graph *g, size_t *changes, pgy_error *err);
    /* Called instead of `run`, if set: for passes that depend on the target. */
    pgy_status (*run_for)(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err);
} pass;

#define PASS(name) extern const pass PASS_##name;
#include "engine/passes/passes.def"
#undef PASS

/* Passes that a test program adds behind them, to plant faults; ends with NULL. Not linked: NULL.
 */
extern const pass *const PASSES_OF_TEST[] __attribute__((weak));
/* Does the configuration name a CUDA device? */
bool pass_is_for_cuda(const pass_target *t);
/* The pass that runs as number i, or NULL. */
const pass *pass_at(size_t i);
/* 1 if no pass with the name of pass i runs before it, 2 if one does. */
size_t pass_occurrence(size_t i);

/* Runs all passes in order, except those that the configuration or POLYGRAPHY_PASSES leaves out,
 * and logs a line for each at VERBOSE. */
pgy_status passes_run(pgy_graph *g, const pass_target *target, pgy_error *err) PGY_MUST_CHECK;

#endif
