/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of inference results: the container, and its JSON. */
#ifndef COMPARE_RESULTS_H
#define COMPARE_RESULTS_H

#include <polygraphy/compare.h>

#include "data/feeds.h"

typedef struct runner_results {
    char *name;
    pgy_iteration *iterations;
    size_t count, capacity;
} runner_results;

struct pgy_results {
    runner_results *runners;
    size_t count, capacity;
};

/* Adds an iteration to a runner, and takes ownership of `outputs`, also on failure. `name`: the
 * runner name stored in the iteration. */
pgy_status results_adopt(pgy_results *r, size_t runner, const char *name, pgy_tensor_map *outputs,
                         double runtime_s, pgy_error *err) PGY_MUST_CHECK;

/* JSON: whole files, and one iteration of an open file. */
pgy_status results_json_expect(const json_file *file, pgy_error *err) PGY_MUST_CHECK;
/* Reads a runner's entry of "lst": its name (in the arena of the file) and its array of iterations.
 */
pgy_status results_json_runner(const char **name, const json_value **iterations,
                               const json_value *entry, json_file *file,
                               pgy_error *err) PGY_MUST_CHECK;
pgy_status results_json_iteration(pgy_results *r, size_t runner, const json_value *v,
                                  json_file *file, pgy_error *err) PGY_MUST_CHECK;
/* Write the parts of a file, in this order. Iterations are nested RESULTS_JSON_DEPTH containers
 * deep. */
enum { RESULTS_JSON_DEPTH = 4 };
void results_json_begin(json_writer *w);
void results_json_begin_runner(json_writer *w, const char *name);
pgy_status results_json_write_iteration(json_writer *w, const pgy_iteration *it,
                                        pgy_error *err) PGY_MUST_CHECK;
void results_json_end_runner(json_writer *w);
void results_json_end(json_writer *w);
pgy_status results_json_save(const pgy_results *r, const char *path, pgy_error *err) PGY_MUST_CHECK;
pgy_status results_json_read(pgy_results **out, json_file *file, pgy_error *err) PGY_MUST_CHECK;
pgy_status results_json_load(pgy_results **out, const char *path, pgy_error *err) PGY_MUST_CHECK;

/* Accuracy results of an open file. */
pgy_status accuracy_json_read(pgy_accuracy_results **out, json_file *file,
                              pgy_error *err) PGY_MUST_CHECK;

#endif
