/* SPDX-License-Identifier: Apache-2.0 */
/* Passes: rewrites of the graph before selection. One file src/engine/passes/<name>.c each, ending
 * in `const pass PASS_<name>`, and one line in passes.def; its place is its order. */
#ifndef ENGINE_PASSES_PASS_H
#define ENGINE_PASSES_PASS_H

#include <polygraphy/build_config.h>

#include "graph/graph.h"

struct calibration_runner;

/* What is built for. */
typedef struct pass_target {
    const pgy_build_config *config;          /* NULL: defaults */
    const struct calibration_runner *runner; /* precision/calibrate.h; NULL: none */
} pass_target;

typedef struct pass {
    const char *name, *summary;
    /* Rewrites g; *changes counts what it did. The graph's meaning stays. */
    pgy_status (*run)(pgy_graph *g, size_t *changes, pgy_error *err);
    /* In place of `run`, for passes that depend on what is built for. */
    pgy_status (*run_for)(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err);
} pass;

#define PASS(name) extern const pass PASS_##name;
#include "engine/passes/passes.def"
#undef PASS

/* All passes in order, except those switched off by POLYGRAPHY_PASSES ("-fuse_gelu,-fold"; "none"),
 * each followed by a line in the log at VERBOSE. */
pgy_status passes_run(pgy_graph *g, const pass_target *target, pgy_error *err) PGY_MUST_CHECK;

#endif
