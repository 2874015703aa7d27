/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: the prefill, then one token per step, in all runners side by side. Each step is
 * compared before the next begins, so memory holds one step of each runner. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/sized.h"
#include "compare/results.h"
#include "decode/decode.h"

static const char LOG_PATH[] = "decode/decode.c";

enum { DEFAULT_STEPS = 64, MAX_STEPS = 1 << 20 };

typedef struct decoding {
    pgy_decode_options options;
    pgy_random_options random; /* options.random points here */
    decode_lane *lanes;
    size_t count;
    pgy_tensor_map *data; /* the first map of options.data */
    decode_judge judge;
    pgy_decode_report *report;
    pgy_feed_writer *inputs;
    pgy_results_writer *outputs;
    int64_t *ids; /* of the next step, for each lane [batch, length] */
} decoding;

pgy_decode_options pgy_decode_options_default(void)
{
    return (pgy_decode_options){
        .size = sizeof(pgy_decode_options), .steps = DEFAULT_STEPS, .floor_times = NAN};
}

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status check_cancelled(const pgy_decode_options *o, pgy_error *err)
{
    if (!o->cancelled || !o->cancelled(o->user)) return cancel_check(err);
    return pgy_error_set(err, PGY_E_CANCELLED, "cancelled");
}

/* ---- Before the first step --------------------------------------------------------------------
 */

static pgy_status take_options(decoding *d, const pgy_decode_options *given, size_t runner_count,
                               pgy_error *err)
{
    pgy_decode_options *o = &d->options;
    *o = pgy_decode_options_default();
    d->random = pgy_random_options_default();
    pgy_status st = SIZED_TAKE(pgy_decode_options, o, given, err);
    if (!st) st = SIZED_TAKE(pgy_random_options, &d->random, o->random, err);
    o->random = &d->random;
    if (st) return st;
    if (!runner_count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "decoding needs at least one runner");
    if (o->steps < 1 || o->steps > MAX_STEPS)
        return pgy_error_set(err, PGY_E_ARGUMENT, "decode.steps is %zu; expected 1 to %d", o->steps,
                             MAX_STEPS);
    if (!isnan(o->floor_times) && !(o->floor_times > 0))
        return pgy_error_set(err, PGY_E_ARGUMENT, "decode.floor_times is %g; expected more than 0",
                             o->floor_times);
    return PGY_OK;
}

/* The runner of a file has the inputs' types; a loader gets them to match its data by name. */
static pgy_status load_data(decoding *d, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, d->lanes[0].runner, err);
    if (!st) given_warn(&d->options, inputs);
    if (st || !d->options.data) return st;
    st = pgy_data_loader_set_metadata(d->options.data, inputs, err);
    if (!st) st = pgy_data_loader_next(&d->data, d->options.data, err);
    if (!st && !d->data) st = pgy_error_set(err, PGY_E_ARGUMENT, "the data loader gave no inputs");
    return st ? st : given_check_data(d->data, &d->lanes[0].plan, err);
}

/* A model without caches reads its whole text again: right, but slow, and caches that were missed
 * would stay unnoticed. */
static void log_caches(const decode_plan *p)
{
    str text = {0};
    for (size_t i = 0; i < p->patterns.count && i < 4; i++)
        str_printf(&text, "%s%s", i ? ", " : "", p->patterns.items[i]);
    if (p->patterns.count > 4) str_printf(&text, ", and %zu more", p->patterns.count - 4);
    if (p->cache_count)
        LOG(INFO, "Caches: %zu inputs are fed by outputs of the step before: %s", p->cache_count,
            str_text(&text));
    else
        LOG(WARNING, "No caches were found: each step reads the whole text again");
    str_deinit(&text);
}

static pgy_status open_files(decoding *d, pgy_error *err)
{
    const pgy_decode_options *o = &d->options;
    pgy_status st = PGY_OK;
    if (o->save_inputs) st = pgy_feed_writer_create(&d->inputs, o->save_inputs, err);
    if (!st && o->save_outputs) st = pgy_results_writer_create(&d->outputs, o->save_outputs, err);
    return st;
}

static pgy_status alloc_report(decoding *d, pgy_error *err)
{
    pgy_decode_report *r = d->report;
    const size_t steps = r->step_limit, pairs = d->count - 1;
    size_t cells, choices;
    if (!size_mul(&cells, d->count, steps) || !size_mul(&choices, cells, r->batch))
        return out_of_memory(err);
    r->steps = mem_calloc(steps, sizeof *r->steps);
    r->comparisons = mem_calloc(pairs * steps, sizeof *r->comparisons);
    r->choices = mem_calloc(choices, sizeof *r->choices);
    r->times_ns = mem_calloc(cells, sizeof *r->times_ns);
    r->preparations_ns = mem_calloc(cells, sizeof *r->preparations_ns);
    r->kept_counts = mem_calloc(d->count, sizeof *r->kept_counts);
    const size_t width = r->prompt.length;
    d->ids = mem_calloc(d->count * r->batch, width * sizeof *d->ids);
    if (!r->steps || !r->comparisons || !r->choices || !r->times_ns || !r->preparations_ns ||
        !r->kept_counts || !d->ids)
        return out_of_memory(err);
    for (size_t i = 0; i < d->count; i++)
        if (!strvec_push(&r->names, lane_name(&d->lanes[i]))) return out_of_memory(err);
    const strvec *patterns = &d->lanes[0].plan.patterns;
    for (size_t i = 0; i < patterns->count; i++)
        if (!strvec_push(&r->patterns, patterns->items[i])) return out_of_memory(err);
    return PGY_OK;
}

/* The constants of the reference go to the other runners, whose inputs may have narrower types. */
static pgy_status share_constants(decoding *d, pgy_error *err)
{
    const pgy_tensor_map *made = d->lanes[0].constants;
    pgy_status st = d->data ? PGY_OK : pgy_tensor_map_create(&d->data, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(made); i++)
        st = pgy_tensor_map_set(d->data, pgy_tensor_map_name(made, i), pgy_tensor_map_at(made, i),
                                err);
    return st;
}

static pgy_status prepare_lanes(decoding *d, size_t capacity, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const pgy_decode_options *o = &d->options;
    for (size_t i = 0; !st && i < d->count; i++) {
        d->lanes[i].is_watched = d->count > 1 || o->save_inputs || o->save_outputs;
        st = lane_prepare(&d->lanes[i], &d->options, d->data, d->report->batch, capacity, err);
        if (!st && !i && d->count > 1) st = share_constants(d, err);
    }
    return st;
}

/* Stored outputs come first, and need the names and shapes that a runner tells. */
static pgy_status open_lanes(decoding *d, pgy_runner *const *runners, pgy_error *err)
{
    const char *stored = d->options.load_outputs;
    const size_t first = stored != NULL;
    pgy_status st = PGY_OK;
    for (size_t i = first; !st && i < d->count; i++)
        st = lane_open(&d->lanes[i], runners[i - first], &d->options, err);
    if (!st && stored) st = lane_open_stored(&d->lanes[0], stored, &d->lanes[1], &d->options, err);
    return st;
}

static pgy_status prepare(decoding *d, pgy_runner *const *runners, pgy_error *err)
{
    pgy_decode_report *r = d->report;
    pgy_status st = judge_open(&d->judge, &d->options, err);
    if (!st) st = open_lanes(d, runners, err);
    if (!st) st = load_data(d, err);
    if (!st) st = prompt_create(&r->prompt, &d->lanes[0].plan, &d->options, d->data, err);
    if (st) return st;
    r->batch = r->prompt.batch;
    /* ids of the prompt that a model of one token per step reads after the first */
    const size_t rest = d->options.prompt_length ? d->options.prompt_length : r->prompt.count;
    r->step_limit = 1 + (rest - r->prompt.length) + d->options.steps;
    r->free_running = d->options.free_running;
    r->judge = d->judge.rule->name;
    r->cache_count = d->lanes[0].plan.cache_count;
    const size_t capacity = r->prompt.length + r->step_limit - 1;
    st = prepare_lanes(d, capacity, err);
    if (!st) st = alloc_report(d, err);
    if (!st) st = open_files(d, err);
    if (st) return st;
    log_caches(&d->lanes[0].plan);
    LOG(INFO, "Decoding: a prompt of %zu token%s, then %zu step%s of one token%s; batch %zu",
        r->prompt.length, r->prompt.length == 1 ? "" : "s", r->step_limit - 1,
        r->step_limit == 2 ? "" : "s", r->free_running ? ", each runner by its own choice" : "",
        r->batch);
    return PGY_OK;
}

/* ---- Tokens -----------------------------------------------------------------------------------
 */

/* The ids of lane `lane` in step `step`, row by row. */
static void ids_of(int64_t *out, const decoding *d, size_t lane, size_t step)
{
    const pgy_decode_report *r = d->report;
    const decode_prompt *p = &r->prompt;
    const size_t length = step ? 1 : p->length;
    const decode_lane *source = &d->lanes[r->free_running ? lane : 0];
    for (size_t row = 0; row < r->batch; row++)
        for (size_t i = 0; i < length; i++) {
            const size_t at = step ? p->length + step - 1 : i;
            out[row * length + i] = at < p->count ? prompt_row(p, row)[at] : source->chosen[row];
        }
}

/* True if the last `length` ids of all texts are the same. */
static bool same_end(const decode_lane *a, const decode_lane *b, size_t batch, size_t length)
{
    for (size_t row = 0; row < batch; row++)
        if (memcmp(a->text + row * a->capacity + a->text_count - length,
                   b->text + row * b->capacity + b->text_count - length, length * sizeof *a->text))
            return false;
    return true;
}

/* ---- A step -----------------------------------------------------------------------------------
 */

/* Some exports cannot read empty caches. */
static void append_hint(pgy_error *err)
{
    static const char HINT[] = "; the caches are empty in this step: if the model needs tokens in "
                               "them, load first caches as input data";
    const size_t used = err ? strlen(err->text) : 0;
    if (err && used + sizeof HINT <= sizeof err->text) memcpy(err->text + used, HINT, sizeof HINT);
}

static pgy_status run_lane(decoding *d, size_t i, size_t step, pgy_error *err)
{
    pgy_decode_report *r = d->report;
    decode_lane *lane = &d->lanes[i];
    const size_t length = step ? 1 : r->prompt.length;
    const int64_t *ids = d->ids + i * r->batch * r->prompt.length;
    pgy_status st = check_cancelled(&d->options, err);
    if (!st) st = lane_step(lane, ids, r->batch, length, step == 0, err);
    if (st && !status_ends_all(st) && !step && !lane->past && lane->plan.cache_count)
        append_hint(err);
    if (st) return pgy_error_prefix(err, st, "%s, step %zu: ", lane_name(lane), step);
    r->times_ns[i * r->step_limit + step] = lane->time_ns;
    r->preparations_ns[i * r->step_limit + step] = lane->preparation_ns;
    r->kept_counts[i] = caches_count_kept(lane->caches, &lane->plan);
    memcpy(r->choices + (i * r->step_limit + step) * r->batch, lane->chosen,
           r->batch * sizeof *lane->chosen);
    return PGY_OK;
}

/* Names of a step live until the next. */
static pgy_status keep_name(const char **name, pgy_decode_report *r, pgy_error *err)
{
    if (!*name) return PGY_OK;
    *name = decode_report_keep(r, *name);
    return *name ? PGY_OK : out_of_memory(err);
}

static pgy_status keep_names(pgy_decode_comparison *c, pgy_decode_report *r, pgy_error *err)
{
    const char **names[] = {&c->logits.tensor, &c->caches.tensor, &c->others.tensor,
                            &c->made_tensor};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < 4; i++) {
        if (st)
            *names[i] = NULL;
        else
            st = keep_name(names[i], r, err);
    }
    return st;
}

/* Runs the step again with the reference's caches: so an error that it makes is told from one that
 * it was handed. In the prefill, and without caches, it read the same. */
static pgy_status measure_made(pgy_decode_comparison *c, const decoding *d, decode_lane *lane,
                               pgy_error *err)
{
    pgy_tensor_map *outputs = NULL;
    if (!c->step || !lane->plan.cache_count || lane->stored)
        return judge_made(c, &d->judge, &d->lanes[0], lane->outputs, err);
    pgy_status st = lane_repeat(&outputs, lane, &d->lanes[0], err);
    if (!st) st = judge_made(c, &d->judge, &d->lanes[0], outputs, err);
    pgy_tensor_map_destroy(outputs);
    return st ? pgy_error_prefix(
                    err, st, "%s, step %zu with the reference's caches: ", lane_name(lane), c->step)
              : PGY_OK;
}

static pgy_status compare_lane(decoding *d, size_t pair, size_t step, pgy_error *err)
{
    pgy_decode_report *r = d->report;
    decode_lane *lane = &d->lanes[pair + 1];
    pgy_decode_comparison *c = &r->comparisons[pair * r->step_limit + step];
    *c = (pgy_decode_comparison){.step = step, .made = NAN};
    c->logits.floor_times = c->caches.floor_times = c->others.floor_times = NAN;
    const size_t length = (size_t)r->steps[step].length;
    lane->has_parted = lane->has_parted || !same_end(&d->lanes[0], lane, r->batch, length);
    if (lane->has_parted) return PGY_OK;
    pgy_status st = judge_compare(c, &r->failures, &d->judge, &d->lanes[0], lane, err);
    const bool first = c->differs && !lane->has_differed;
    lane->has_differed = lane->has_differed || c->differs;
    if (!st && (first || judge_needs_repeat(&d->judge))) st = measure_made(c, d, lane, err);
    return st ? st : keep_names(c, r, err);
}

static pgy_status note_nan(decoding *d, size_t step, pgy_error *err)
{
    for (size_t i = 0; i < d->count; i++) {
        str text = {0};
        if (!d->lanes[i].has_nan) continue;
        str_printf(&text, "The logits of %s have NaN", lane_name(&d->lanes[i]));
        const bool known = strvec_contains(&d->report->failures, str_text(&text));
        if (!known) LOG(ERROR, "%s in step %zu", str_text(&text), step);
        const bool kept =
            known || (!text.failed && strvec_push(&d->report->failures, str_text(&text)));
        str_deinit(&text);
        if (!kept) return out_of_memory(err);
    }
    return PGY_OK;
}

static pgy_status save_step(decoding *d, pgy_error *err)
{
    pgy_results *all = NULL;
    pgy_status st = d->inputs ? pgy_feed_writer_add(d->inputs, d->lanes[0].feed, err) : PGY_OK;
    if (st || !d->outputs) return st;
    st = pgy_results_create(&all, err);
    for (size_t i = 0; !st && i < d->count; i++) {
        size_t at = 0;
        st = pgy_results_add_runner(all, lane_name(&d->lanes[i]), &at, err);
        if (!st)
            st = pgy_results_add(all, at, d->lanes[i].outputs, (double)d->lanes[i].time_ns / 1e9,
                                 err);
    }
    if (!st) st = pgy_results_writer_add(d->outputs, all, err);
    pgy_results_destroy(all);
    return st;
}

static pgy_status run_step(decoding *d, size_t step, pgy_error *err)
{
    pgy_decode_report *r = d->report;
    const size_t length = step ? 1 : r->prompt.length;
    pgy_status st = PGY_OK;
    r->steps[step] =
        (pgy_decode_step){.step = step, .past = d->lanes[0].past, .length = (int64_t)length};
    /* all ids before any step, since a step changes what its runner has chosen */
    for (size_t i = 0; i < d->count; i++)
        ids_of(d->ids + i * r->batch * r->prompt.length, d, i, step);
    for (size_t i = 0; !st && i < d->count; i++) st = run_lane(d, i, step, err);
    if (!st) st = note_nan(d, step, err);
    if (!st && d->count > 1) st = judge_begin_step(&d->judge, d->lanes[0].feed, err);
    for (size_t i = 0; !st && i + 1 < d->count; i++) st = compare_lane(d, i, step, err);
    if (st) return st;
    r->step_count = step + 1;
    st = save_step(d, err);
    for (size_t i = 0; !st && i < d->count; i++) {
        st = lane_advance(&d->lanes[i], length, step == 0, err);
        if (st) pgy_error_prefix(err, st, "%s, step %zu: ", lane_name(&d->lanes[i]), step);
    }
    return st;
}

static pgy_status run_steps(decoding *d, pgy_error *err)
{
    pgy_status st = PGY_OK;
    progress_begin("Decoding steps", d->report->step_limit);
    for (size_t i = 0; !st && i < d->report->step_limit; i++) {
        st = run_step(d, i, err);
        progress_advance(i + 1);
    }
    progress_end();
    if (!st && d->inputs) st = pgy_feed_writer_finish(d->inputs, err);
    if (!st && d->outputs) st = pgy_results_writer_finish(d->outputs, err);
    return st;
}

static void close_all(decoding *d)
{
    for (size_t i = 0; d->lanes && i < d->count; i++) lane_close(&d->lanes[i]);
    mem_free(d->lanes);
    mem_free(d->ids);
    pgy_tensor_map_destroy(d->data);
    pgy_feed_writer_destroy(d->inputs);
    pgy_results_writer_destroy(d->outputs);
    judge_close(&d->judge);
}

pgy_status pgy_decode(pgy_decode_report **out, pgy_runner *const *runners, size_t runner_count,
                      const pgy_decode_options *options, pgy_error *err)
{
    decoding d = {0};
    pgy_status st = take_options(&d, options, runner_count, err);
    if (st) return st;
    d.count = runner_count + (d.options.load_outputs != NULL);
    d.lanes = mem_calloc(d.count, sizeof *d.lanes);
    d.report = mem_calloc(1, sizeof *d.report);
    st = d.lanes && d.report ? prepare(&d, runners, err) : out_of_memory(err);
    if (!st) st = run_steps(&d, err);
    if (!st) st = decode_report_conclude(d.report, err);
    close_all(&d);
    if (st)
        pgy_decode_report_destroy(d.report);
    else
        *out = d.report;
    return st;
}
