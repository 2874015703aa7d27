/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of simplification share: its rules, sets of inputs to measure with (samples), the
 * measure of differences, and the nodes that a rewrite replaced (regions). */
#ifndef TRANSFORM_SIMPLIFY_H
#define TRANSFORM_SIMPLIFY_H

#include <polygraphy/simplify.h>

#include "evaluate/execute.h"

/* ---- simplify_rules.c ------------------------------------------------------------------------ */

enum {
#define FUSION(name, opset, kind, text) SIMPLIFY_RULE_##name,
#include "transform/fuse/fusions.def"
#undef FUSION
    SIMPLIFY_RULE_COUNT
};
extern const pgy_simplify_rule simplify_rules[SIMPLIFY_RULE_COUNT];
/* One flag for each rule. PGY_E_NOT_FOUND names a rule that does not exist and some that do. */
pgy_status simplify_choose_rules(bool *wanted, const pgy_simplify_options *o,
                                 pgy_error *err) PGY_MUST_CHECK;

/* ---- simplify_measure.c ---------------------------------------------------------------------- */

/* The largest difference of two tensors in storage type, in units of their declared type; infinite
 * if shapes, integers or the positions of non-finite elements differ. `lenient`: skips elements
 * that are not finite in `before`. */
double simplify_distance(const pgy_tensor *before, const pgy_tensor *after, pgy_dtype declared,
                         bool lenient);

/* ---- simplify_samples.c ---------------------------------------------------------------------- */

typedef struct simplify_sample {
    pgy_tensor_map *feed, *outputs; /* inputs of the sample, and outputs of the original model */
} simplify_sample;

typedef struct simplify_samples {
    simplify_sample *items;
    size_t count, capacity;
    char why[512]; /* why the model cannot run */
} simplify_samples;

/* Runs the model on the inputs that options->sample gives. If the model cannot run, there is no
 * sample and no error, and `why` has the reason. */
pgy_status simplify_samples_take(simplify_samples *out, pgy_model *model,
                                 const pgy_simplify_options *options,
                                 pgy_error *err) PGY_MUST_CHECK;
void simplify_samples_deinit(simplify_samples *s);
/* Runs a model on the inputs of a sample, in float64 or in its own precision. */
pgy_status simplify_run(pgy_tensor_map **out, pgy_model *model, const pgy_tensor_map *feed,
                        bool model_precision, uint64_t max_steps, pgy_error *err) PGY_MUST_CHECK;

/* ---- simplify_regions.c ---------------------------------------------------------------------- */

/* A rewrite in the graph `after`. */
typedef struct simplify_rewrite {
    size_t rule;
    const char *at;    /* name of the output of the node that the rule was tried at */
    pgy_value *output; /* output of the new node */
    size_t replaced;   /* number of nodes that it replaced */
    size_t measured;   /* how often it was measured */
    double error;      /* largest difference of its output so far, in units of simplify_distance */
    bool failed;
    const char *reason; /* why it failed */
} simplify_rewrite;

/* Is the new node still in the graph, not replaced by a later rewrite? */
bool simplify_rewrite_lives(const simplify_rewrite *r);

typedef struct simplify_regions simplify_regions;
/* Finds, for each living rewrite, the nodes of both graphs that compute its output from the same
 * values; `before` is the same model without rewrites. Borrows both graphs and the rewrites. */
pgy_status simplify_regions_create(simplify_regions **out, pgy_graph *before, pgy_graph *after,
                                   simplify_rewrite *rewrites, size_t count, uint64_t max_steps,
                                   pgy_error *err) PGY_MUST_CHECK;
void simplify_regions_destroy(simplify_regions *r);
/* Runs `after` on a feed and measures every rewrite on the values that reach it, the first time
 * also on extreme values. If the run fails, a rewrite is marked as failed and *out is NULL. */
pgy_status simplify_regions_run(pgy_tensor_map **out, simplify_regions *r,
                                const pgy_tensor_map *feed, pgy_error *err) PGY_MUST_CHECK;

#endif
