/* SPDX-License-Identifier: Apache-2.0 */
/* Route search: knobs (route_knobs.c) make routes and expressions (route_expression.c), which list
 * candidates (route_space.c); each runs in a process (route_run.c), its result goes into the cache
 * (route_cache.c), and the report shows all (route_report.c). */
#ifndef PERF_ROUTE_H
#define PERF_ROUTE_H

#include <polygraphy/route.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

#define ROUTE_PASSES "pass:"
#define ROUTE_LAYERS "layer:"

/* ---- route_knobs.c ---- */
/* A knob by its name without the dash; its row may stand for many names. */
typedef struct route_knob route_knob;
const route_knob *route_knob_find(span name); /* NULL: unknown */
bool route_knob_is_known(const char *name);   /* also which pass */
/* The initial value that a configuration gives a knob. */
void route_knob_get(str *out, const route_knob *k, const char *name, const pgy_build_config *config,
                    const pgy_calibration *calibration);
/* Sets a field. Without `config` and `calibration` it only checks the value. */
pgy_status route_knob_set(const route_knob *k, const char *name, const char *value,
                          pgy_build_config *config, pgy_calibration *calibration, arena *a,
                          pgy_error *err) PGY_MUST_CHECK;
/* Names of passes, each once, in the order of their first run. */
const char *route_pass_at(size_t i); /* NULL: there are fewer */

/* ---- route_help.c ---- */
/* Appends "; did you mean", or the list of knobs. */
void route_knob_suggest(str *out, const char *name);

/* ---- route_expression.c ---- */
typedef struct route_choice {
    const route_knob *knob;
    const char *name;
    const char **values;
    size_t count;
    bool is_list; /* [a|b] */
} route_choice;
typedef struct route_expression {
    route_choice *items;
    size_t count;
} route_expression;
/* Texts are allocated in the arena. Newlines separate knobs, too, and # begins a comment. */
pgy_status route_expression_parse(route_expression *out, span text, arena *a,
                                  pgy_error *err) PGY_MUST_CHECK;

/* ---- route_space.c ---- */
enum { ROUTE_MAX_LIST = 100000 };
struct pgy_route_space {
    arena memory;
    route_expression expression;
    const char **initial; /* of each knob */
    strvec lists[2];      /* PGY_ROUTE_FAST, PGY_ROUTE_FULL; empty: not made yet */
};
/* All combinations of the knobs that `helped`; the others keep their initial values. */
pgy_status route_space_combine(strvec *out, const pgy_route_space *s, const bool *helped,
                               pgy_error *err) PGY_MUST_CHECK;
/* The baseline with another value of one knob. False: that is its initial value. */
bool route_space_variant(str *out, const pgy_route_space *s, size_t knob, size_t value);

/* ---- route_cache.c ---- */
typedef struct route_header {
    const char *version, *algorithm, *strategy, *command_line, *baseline, *expression;
    const char
        *folder;       /* the current folder of the search: paths in arguments are relative to it */
    const char *model; /* absolute path, or "" */
    const char *model_hash;
    bool has_references;
    double atol, rtol, threshold;
    const char **arguments;
    size_t argument_count;
} route_header;
typedef struct route_cache {
    arena memory;
    route_header header;
    pgy_route_result *results;
    size_t count, capacity;
    strmap by_route; /* index of each result */
} route_cache;
/* A last line that is not complete is left out: its writer was killed. */
pgy_status route_cache_parse(route_cache *out, span text, const char *path,
                             pgy_error *err) PGY_MUST_CHECK;
pgy_status route_cache_load(route_cache *out, const char *path, pgy_error *err) PGY_MUST_CHECK;
pgy_status route_cache_text(str *out, const route_cache *c, pgy_error *err) PGY_MUST_CHECK;
pgy_status route_cache_save(const route_cache *c, const char *path, pgy_error *err) PGY_MUST_CHECK;
void route_cache_deinit(route_cache *c);
/* Adds a copy. */
pgy_status route_cache_add(route_cache *c, const pgy_route_result *r,
                           pgy_error *err) PGY_MUST_CHECK;
const pgy_route_result *route_cache_find(const route_cache *c, const char *route);
const char *route_loss_name(pgy_perf_loss_kind kind);
const char *route_strategy_name(pgy_route_strategy strategy);

/* ---- route_answer.c ---- */
/* Fills time, losses and `accuracy_failed`; texts lie in the arena. */
pgy_status route_answer_parse(pgy_route_result *out, span text, const char *path, arena *a,
                              pgy_error *err) PGY_MUST_CHECK;
void route_losses_write(json_writer *w, const pgy_route_loss *losses, size_t count);
pgy_status route_losses_read(pgy_route_result *out, const json_value *object, const char *path,
                             arena *a, pgy_error *err) PGY_MUST_CHECK;
char *route_outputs_path(const char *answer); /* the caller frees it; NULL: out of memory */

/* ---- route_run.c ---- */
typedef struct route_run {
    const pgy_route_options *options;
    pgy_tensor_map *baseline; /* its outputs, to which others are compared; NULL: none yet */
} route_run;
/* Runs one candidate. The plan is at `plan` afterwards, if the candidate passed. A failure of the
 * candidate is a result, not a status. `output` receives what it printed. */
pgy_status route_run_one(pgy_route_result *out, str *output, route_run *run, size_t iteration,
                         const char *route, const char *plan, arena *a,
                         pgy_error *err) PGY_MUST_CHECK;

/* ---- route_report.c ---- */
bool route_passed(const pgy_route_result *r); /* it has a time, and no failure */
void route_mark_front(pgy_route_result *results, size_t count);
const pgy_route_result *route_fastest(const pgy_route_result *results, size_t count);

/* ---- route_search.c ---- */
struct pgy_route_search {
    pgy_route_options options; /* strings belong to the caller */
    pgy_route_space *space;
    route_cache cache;
    route_run run;
    bool repeated; /* the baseline of a search that goes on ran once more */
    int64_t begin_ns;
    size_t left;
};

#endif
