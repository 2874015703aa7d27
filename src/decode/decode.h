/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that decode: what each input is for (plan), a runner with its caches (lane),
 * the judge, and the report. */
#ifndef DECODE_DECODE_H
#define DECODE_DECODE_H

#include <polygraphy/decode.h>

#include "base/arena.h"
#include "base/str.h"
#include "where/where.h"

/* ---- pattern.c: pairs of names ----------------------------------------------------------------
 */

/* Matches `name` with `from`, and puts what its `*` stand for into those of `to`. False: `name`
 * does not match; then *out is empty. Both patterns have the same number of `*`, at most 8. */
bool pattern_map(str *out, const char *name, const char *from, const char *to);
/* Splits "input=output" into two patterns, owned by the arena. */
pgy_status pattern_split(const char **from, const char **to, const char *text, arena *a,
                         pgy_error *err) PGY_MUST_CHECK;

/* ---- roles.c: what inputs are for, by their names ---------------------------------------------
 */

typedef enum decode_role {
    ROLE_CONSTANT, /* the same values in each step */
    ROLE_TOKENS,
    ROLE_POSITIONS,
    ROLE_MASK, /* 1 for each token so far; of rank 4 causal */
    ROLE_PAST_LENGTH,
    ROLE_TOTAL_LENGTH,
    ROLE_LAST_INDEX,
    ROLE_USE_CACHE,
    ROLE_ONES, /* mask of the encoder's tokens, number of logits to keep */
    ROLE_ZEROS,
    ROLE_CACHE,
    ROLE_LOGITS /* of an output */
} decode_role;
/* The role that the name and type tell; ROLE_CONSTANT: none. */
decode_role role_of_input(const pgy_tensor_info *info);
bool role_is_cache_name(const char *name); /* "past", "cache" and so on */
/* PGY_E_ARGUMENT lists the roles. */
pgy_status role_from_name(decode_role *out, const char *role, pgy_error *err) PGY_MUST_CHECK;

/* ---- plan.c: the inputs and outputs of a decoder ----------------------------------------------
 */

typedef struct decode_input {
    const pgy_tensor_info *info; /* borrowed from the runner */
    decode_role role;
    size_t cache; /* ROLE_CACHE: index in `caches` */
} decode_input;

typedef struct decode_cache {
    size_t input;       /* index in `inputs` */
    const char *output; /* borrowed from the runner */
    /* Dynamic dimensions: that of the batch, and the one that grows by a step's tokens. -1: none */
    int axis, batch_axis;
    bool is_unclear; /* more dimensions are dynamic */
    bool once;       /* of cross attention: filled by the prefill, then constant */
} decode_cache;

typedef struct decode_plan {
    arena memory;
    decode_input *inputs;
    size_t input_count;
    decode_cache *caches;
    size_t cache_count;
    const pgy_tensor_info *tokens, *logits;
    const char *batch_name; /* name of the batch dimension; NULL: unknown */
    strvec patterns;        /* pairs of names that were used, for the log */
} decode_plan;
pgy_status decode_plan_create(decode_plan *out, const pgy_metadata *inputs,
                              const pgy_metadata *outputs, const pgy_decode_options *options,
                              pgy_error *err) PGY_MUST_CHECK;
void decode_plan_deinit(decode_plan *p);
const decode_input *decode_plan_find(const decode_plan *p, const char *name); /* NULL if absent */

/* ---- pairs.c: which output feeds which cache --------------------------------------------------
 */

pgy_status pairs_find(decode_plan *p, const pgy_metadata *outputs,
                      const pgy_decode_options *options, pgy_error *err) PGY_MUST_CHECK;

/* ---- feed.c: inputs of a step -----------------------------------------------------------------
 */

/* The tokens of a step: `ids` is [batch, length]. */
typedef struct step_input {
    size_t batch;
    const int64_t *ids;
    int64_t past, length;
    bool prefill;
} step_input;
/* Makes the tensor of an input that is neither constant nor a cache. */
pgy_status feed_make(pgy_tensor **out, const decode_input *input, const step_input *step,
                     pgy_error *err) PGY_MUST_CHECK;

/* ---- given.c: what the caller gives for inputs -------------------------------------------------
 */

/* The shape that the options give an input; NULL: none. */
const pgy_tensor_info *options_shape(const pgy_decode_options *o, const char *name);
/* Warns of shapes and ranges of the options that fit no input. */
void given_warn(const pgy_decode_options *o, const pgy_metadata *inputs);
/* PGY_E_ARGUMENT if nothing of `data` (may be NULL) is ids, a first cache or a constant. */
pgy_status given_check_data(const pgy_tensor_map *data, const decode_plan *p,
                            pgy_error *err) PGY_MUST_CHECK;
/* Generates inputs. The options may also name inputs that are not among them. */
pgy_status given_generate(pgy_tensor_map **out, const pgy_metadata *inputs,
                          const pgy_decode_options *o, pgy_error *err) PGY_MUST_CHECK;

/* ---- ids.c ------------------------------------------------------------------------------------
 */

/* As int64 [batch, count]: integers of rank 1 or 2. `what`: whose they are, for errors. */
pgy_status ids_cast(pgy_tensor **out, pgy_view given, const char *what,
                    pgy_error *err) PGY_MUST_CHECK;

/* ---- prompt.c: token ids ----------------------------------------------------------------------
 */

/* Token ids of all rows, and how many the prefill reads. */
typedef struct decode_prompt {
    pgy_tensor *ids; /* int64 [batch, count] */
    size_t batch, length, count;
} decode_prompt;
/* Takes the ids of the options, of `data` (may be NULL), or random ones, and checks them. */
pgy_status prompt_create(decode_prompt *out, const decode_plan *p, const pgy_decode_options *o,
                         const pgy_tensor_map *data, pgy_error *err) PGY_MUST_CHECK;
void prompt_deinit(decode_prompt *p);
const int64_t *prompt_row(const decode_prompt *p, size_t row);
/* The size of the vocabulary; 0: unknown. */
int64_t decode_plan_vocabulary(const decode_plan *p);

/* ---- constants.c: inputs that do not change ---------------------------------------------------
 */

/* Makes the constant inputs: from `data` (may be NULL), else generated. */
pgy_status constants_make(pgy_tensor_map **out, const decode_plan *p, const pgy_decode_options *o,
                          const pgy_tensor_map *data, size_t batch, pgy_error *err) PGY_MUST_CHECK;

/* ---- caches.c: the caches of a runner ---------------------------------------------------------
 */

typedef struct cache_state {
    /* Of the next step. In a buffer it has the shape alone: rows of a head lie apart there. */
    pgy_tensor *value;
    bool fixed;         /* its length stays */
    pgy_tensor *buffer; /* [batch, heads, rows, size]; NULL: each step makes a tensor of its own */
    int64_t length;     /* rows in the buffer after the last step; < 0: the step did not use it */
} cache_state;
/* Makes the initial caches, as many as the plan has, and tells how many tokens they hold. */
pgy_status caches_create(cache_state **out, int64_t *past, const decode_plan *p,
                         const pgy_decode_options *o, const pgy_tensor_map *data, size_t batch,
                         pgy_error *err) PGY_MUST_CHECK;
void caches_destroy(cache_state *caches, const decode_plan *p);
/* Takes the outputs of a step as the caches of the next. `total`: tokens that they must hold. */
pgy_status caches_advance(cache_state *caches, const decode_plan *p, const pgy_tensor_map *outputs,
                          int64_t total, bool prefill, pgy_error *err) PGY_MUST_CHECK;
/* Gives caches that can stay in place a buffer with room for `total` tokens. */
pgy_status caches_make_buffers(cache_state *caches, const decode_plan *p, int64_t total,
                               pgy_error *err) PGY_MUST_CHECK;
/* The caches that have a buffer, for a run, and what the run has told of them. */
size_t caches_list(pgy_kept_cache *out, const cache_state *caches, const decode_plan *p);
void caches_note(cache_state *caches, const decode_plan *p, const pgy_kept_cache *kept);
size_t caches_count_kept(const cache_state *caches, const decode_plan *p);
/* A copy of the rows of a buffer that the next step reads (`now`), or that the last one made. */
pgy_status caches_copy(pgy_tensor **out, const cache_state *cache, bool now,
                       pgy_error *err) PGY_MUST_CHECK;
/* PGY_E_ARGUMENT if buffers of fixed length have no room for `total` tokens. */
pgy_status caches_check_room(const cache_state *caches, const decode_plan *p, int64_t total,
                             pgy_error *err) PGY_MUST_CHECK;

/* ---- top.c: the largest logits ----------------------------------------------------------------
 */

enum { TOP_COUNT = 5 };
/* The ids of the largest logits, the largest first; equal ones by id. `count`: fewer than TOP_COUNT
 * in a small vocabulary. */
typedef struct top_ids {
    int64_t ids[TOP_COUNT];
    size_t count;
    bool has_nan;
} top_ids;
void top_find(top_ids *out, const pgy_tensor *logits, size_t row);
/* Rows of the logits: all but the last dimension. */
size_t top_rows(const pgy_tensor *logits);

/* ---- lane.c: a runner with its caches ---------------------------------------------------------
 */

typedef struct decode_lane {
    pgy_runner *runner;         /* of stored outputs: the one whose model tells names and shapes */
    bool activated;             /* by the lane */
    pgy_results_reader *stored; /* NULL: the runner computes */
    pgy_results *ahead;         /* the next stored iteration */
    const char *path;           /* of the stored outputs */
    char *name;                 /* of the runner that made them */
    const pgy_metadata *outputs_info;
    decode_plan plan;
    pgy_tensor_map *constants;
    cache_state *caches;
    pgy_kept_cache *kept; /* [cache_count]: those in buffers, in a run */
    bool is_watched;      /* others look at its feeds and outputs: they have copies of the caches */
    int64_t past;         /* tokens in the caches */
    int64_t *text;        /* [batch, capacity]: tokens read so far */
    size_t capacity, text_count;
    pgy_tensor_map *feed, *outputs; /* of the last step */
    int64_t *chosen;                /* [batch]: ids with the largest logit after the last step */
    int64_t time_ns;                /* of the last step */
    int64_t preparation_ns;         /* of it, for new shapes; -1: unknown */
    bool has_parted;                /* its text differs from the reference's */
    bool has_differed;              /* a step differed */
    bool has_nan;                   /* in the last step's rows that choose */
} decode_lane;
pgy_status lane_open(decode_lane *lane, pgy_runner *runner, const pgy_decode_options *o,
                     pgy_error *err) PGY_MUST_CHECK;
/* Opens stored outputs of a decoder that `like` runs. */
pgy_status lane_open_stored(decode_lane *lane, const char *path, const decode_lane *like,
                            const pgy_decode_options *o, pgy_error *err) PGY_MUST_CHECK;
const char *lane_name(const decode_lane *lane);
/* Makes constants and caches. `capacity`: tokens of one row over all steps. */
pgy_status lane_prepare(decode_lane *lane, const pgy_decode_options *o, const pgy_tensor_map *data,
                        size_t batch, size_t capacity, pgy_error *err) PGY_MUST_CHECK;
/* Runs a step: `ids` is [batch, length]. Sets feed, outputs, chosen and time_ns. */
pgy_status lane_step(decode_lane *lane, const int64_t *ids, size_t batch, size_t length,
                     bool prefill, pgy_error *err) PGY_MUST_CHECK;
/* Makes the outputs of the last step the caches of the next. */
pgy_status lane_advance(decode_lane *lane, size_t length, bool prefill,
                        pgy_error *err) PGY_MUST_CHECK;
/* Runs the last step again with the caches that `from` read in it. */
pgy_status lane_repeat(pgy_tensor_map **outputs, decode_lane *lane, const decode_lane *from,
                       pgy_error *err) PGY_MUST_CHECK;
void lane_close(decode_lane *lane);

/* ---- judge.c ----------------------------------------------------------------------------------
 */

typedef struct decode_judge {
    const where_judge *rule;
    const pgy_decode_options *options;
    pgy_floor *floor; /* NULL: none */
    double floor_times;
} decode_judge;
pgy_status judge_open(decode_judge *j, const pgy_decode_options *o, pgy_error *err) PGY_MUST_CHECK;
void judge_close(decode_judge *j);
/* Measures the noise floor of a step, if the rule needs it. */
pgy_status judge_begin_step(decode_judge *j, const pgy_tensor_map *feed,
                            pgy_error *err) PGY_MUST_CHECK;
/* True if a step is judged by its outputs with the reference's caches: judge_made must follow. */
bool judge_needs_repeat(const decode_judge *j);
/* Compares the last step of two lanes. */
pgy_status judge_compare(pgy_decode_comparison *io, strvec *failures, const decode_judge *j,
                         const decode_lane *a, const decode_lane *b, pgy_error *err) PGY_MUST_CHECK;
/* Finds the largest error of `outputs`, which lane b made of the caches of lane a. */
pgy_status judge_made(pgy_decode_comparison *io, const decode_judge *j, const decode_lane *a,
                      const pgy_tensor_map *outputs, pgy_error *err) PGY_MUST_CHECK;

/* ---- report.c ---------------------------------------------------------------------------------
 */

struct pgy_decode_report {
    arena memory;
    strvec names;    /* of runners */
    strmap tensors;  /* names of tensors */
    strvec patterns; /* pairs of names that fed the caches */
    strvec failures;
    str reason;
    size_t batch, step_count, step_limit, cache_count;
    bool free_running;
    decode_prompt prompt;
    pgy_decode_step *steps;
    pgy_decode_comparison *comparisons; /* [pair, step_limit] */
    int64_t *choices;                   /* [runner, step_limit, batch] */
    int64_t *times_ns;                  /* [runner, step_limit] */
    int64_t *preparations_ns;           /* [runner, step_limit]; -1: unknown */
    size_t *kept_counts;                /* [runner]: caches in place in the last step */
    bool failed;
    const char *judge;
};
/* A copy of a tensor's name that lives as long as the report; NULL: out of memory. */
const char *decode_report_keep(pgy_decode_report *r, const char *name);
/* Forms the verdict after the last step. */
pgy_status decode_report_conclude(pgy_decode_report *r, pgy_error *err) PGY_MUST_CHECK;
/* Percentiles of a runner's single-token steps; sorts a copy. */
pgy_status latency_compute(pgy_decode_latency *out, const int64_t *times_ns, size_t count,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
