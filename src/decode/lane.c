/* SPDX-License-Identifier: Apache-2.0 */
/* A runner that decodes: it keeps its caches and the text that it has read. A model without caches
 * reads the whole text in each step. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/system.h"
#include "decode/decode.h"

static const char LOG_PATH[] = "decode/lane.c";

pgy_status lane_open(decode_lane *lane, pgy_runner *runner, const pgy_decode_options *o,
                     pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_status st = PGY_OK;
    lane->runner = runner;
    if (!pgy_runner_is_active(runner)) {
        LOG(START, "%-35s | Activating and starting decoding", pgy_runner_name(runner));
        st = pgy_runner_activate(runner, err);
        if (st)
            return pgy_error_prefix(err, st, "%s could not be started: ", pgy_runner_name(runner));
        lane->activated = true;
    }
    st = pgy_runner_inputs(&inputs, runner, err);
    if (!st) st = pgy_runner_outputs(&lane->outputs_info, runner, err);
    if (!st && (!inputs || !lane->outputs_info))
        st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                           "the runner does not tell its inputs and outputs, which decoding needs");
    if (!st) st = decode_plan_create(&lane->plan, inputs, lane->outputs_info, o, err);
    return st ? pgy_error_prefix(err, st, "%s: ", pgy_runner_name(runner)) : PGY_OK;
}

const char *lane_name(const decode_lane *lane)
{
    return lane->name ? lane->name : pgy_runner_name(lane->runner);
}

pgy_status lane_open_stored(decode_lane *lane, const char *path, const decode_lane *like,
                            const pgy_decode_options *o, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    lane->runner = like->runner;
    lane->path = path;
    pgy_status st = pgy_results_reader_open(&lane->stored, path, err);
    if (!st) st = pgy_results_reader_next(&lane->ahead, lane->stored, err);
    if (!st && (!lane->ahead || !pgy_results_runner_count(lane->ahead)))
        st = pgy_error_set(err, PGY_E_FORMAT, "%s has no outputs", path);
    if (st) return st;
    lane->name = mem_strdup(pgy_results_runner_name(lane->ahead, 0));
    if (!lane->name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    st = pgy_runner_inputs(&inputs, lane->runner, err);
    return st ? st : decode_plan_create(&lane->plan, inputs, like->outputs_info, o, err);
}

pgy_status lane_prepare(decode_lane *lane, const pgy_decode_options *o, const pgy_tensor_map *data,
                        size_t batch, size_t capacity, pgy_error *err)
{
    size_t tokens = 0;
    pgy_status st = caches_create(&lane->caches, &lane->past, &lane->plan, o, data, batch, err);
    if (!st) st = caches_check_room(lane->caches, &lane->plan, lane->past + (int64_t)capacity, err);
    if (!st && !o->copy_caches && !lane->stored && pgy_runner_keeps_caches(lane->runner))
        st = caches_make_buffers(lane->caches, &lane->plan, lane->past + (int64_t)capacity, err);
    if (!st) st = constants_make(&lane->constants, &lane->plan, o, data, batch, err);
    if (st) return pgy_error_prefix(err, st, "%s: ", lane_name(lane));
    if (!size_mul(&tokens, batch, capacity)) tokens = SIZE_MAX;
    lane->capacity = capacity;
    lane->text = mem_calloc(tokens, sizeof *lane->text);
    lane->chosen = mem_calloc(batch, sizeof *lane->chosen);
    lane->kept = mem_calloc(lane->plan.cache_count + 1, sizeof *lane->kept);
    return lane->text && lane->chosen && lane->kept
               ? PGY_OK
               : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

void lane_close(decode_lane *lane)
{
    caches_destroy(lane->caches, &lane->plan);
    pgy_tensor_map_destroy(lane->constants);
    pgy_tensor_map_destroy(lane->feed);
    pgy_tensor_map_destroy(lane->outputs);
    mem_free(lane->kept);
    mem_free(lane->text);
    mem_free(lane->chosen);
    decode_plan_deinit(&lane->plan);
    pgy_results_destroy(lane->ahead);
    pgy_results_reader_close(lane->stored);
    mem_free(lane->name);
    if (lane->activated) pgy_runner_deactivate(lane->runner);
    *lane = (decode_lane){0};
}

/* ---- A step ---------------------------------------------------------------------------------- */

static pgy_status feed_cache(pgy_tensor_map *m, const decode_lane *lane, const decode_input *in,
                             pgy_error *err)
{
    const cache_state *c = &lane->caches[in->cache];
    pgy_tensor *copy = NULL;
    if (!c->buffer || !lane->is_watched)
        return pgy_tensor_map_set(m, in->info->name, c->value, err);
    const pgy_status st = caches_copy(&copy, c, true, err);
    return st ? st : pgy_tensor_map_adopt(m, in->info->name, copy, err);
}

static pgy_status make_feed(pgy_tensor_map **out, const decode_lane *lane, const step_input *step,
                            pgy_error *err)
{
    pgy_tensor_map *m = NULL;
    pgy_status st = pgy_tensor_map_create(&m, err);
    for (size_t i = 0; !st && i < lane->plan.input_count; i++) {
        const decode_input *in = &lane->plan.inputs[i];
        pgy_tensor *made = NULL;
        if (in->role == ROLE_CACHE) {
            st = feed_cache(m, lane, in, err);
        } else if (in->role == ROLE_CONSTANT || in->role == ROLE_ONES) {
            pgy_tensor *t = pgy_tensor_map_find(lane->constants, in->info->name);
            if (t) st = pgy_tensor_map_set(m, in->info->name, t, err);
        } else {
            st = feed_make(&made, in, step, err);
            if (!st) st = pgy_tensor_map_adopt(m, in->info->name, made, err);
        }
    }
    if (st)
        pgy_tensor_map_destroy(m);
    else
        *out = m;
    return st;
}

/* Adds the ids of a step to the text. */
static void read_on(decode_lane *lane, const int64_t *ids, size_t batch, size_t length)
{
    for (size_t row = 0; row < batch; row++)
        memcpy(lane->text + row * lane->capacity + lane->text_count, ids + row * length,
               length * sizeof *ids);
    lane->text_count += length;
}

/* The tokens that the model reads: those of the step, or without caches all. `whole` is owned. */
static pgy_status tokens_of(step_input *out, int64_t **whole, const decode_lane *lane,
                            const int64_t *ids, size_t batch, size_t length, bool prefill,
                            pgy_error *err)
{
    *out = (step_input){batch, ids, lane->past, (int64_t)length, prefill};
    if (lane->plan.cache_count) return PGY_OK;
    const size_t count = lane->text_count;
    *whole = mem_calloc(batch * count, sizeof **whole);
    if (!*whole) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t row = 0; row < batch; row++)
        memcpy(*whole + row * count, lane->text + row * lane->capacity, count * sizeof **whole);
    *out = (step_input){batch, *whole, 0, (int64_t)count, prefill};
    return PGY_OK;
}

/* Chooses by the last row of each text. */
static pgy_status choose(decode_lane *lane, size_t batch, pgy_error *err)
{
    pgy_tensor *logits = pgy_tensor_map_find(lane->outputs, lane->plan.logits->name);
    if (!logits)
        return pgy_error_set(err, PGY_E_BACKEND, "the runner gave no output '%s'",
                             lane->plan.logits->name);
    const size_t rows = top_rows(logits);
    if (pgy_tensor_rank(logits) < 2 || !rows || rows % batch)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "logits '%s' have %zu rows, which are no multiple of the batch of %zu",
                             lane->plan.logits->name, rows, batch);
    lane->has_nan = false;
    for (size_t i = 0; i < batch; i++) {
        top_ids top;
        top_find(&top, logits, (i + 1) * (rows / batch) - 1);
        lane->chosen[i] = top.ids[0];
        lane->has_nan = lane->has_nan || top.has_nan;
    }
    return PGY_OK;
}

/* An output in the model's order: what the runner gave, or a copy of a cache in its buffer. */
static pgy_status show_output(pgy_tensor_map *out, const decode_lane *lane, const char *name,
                              pgy_error *err)
{
    pgy_tensor *t = pgy_tensor_map_find(lane->outputs, name), *copy = NULL;
    pgy_status st = PGY_OK;
    if (t) return pgy_tensor_map_set(out, name, t, err);
    for (size_t i = 0; i < lane->plan.cache_count && !copy && !st; i++) {
        const cache_state *c = &lane->caches[i];
        if (c->buffer && c->length >= 0 && !strcmp(lane->plan.caches[i].output, name))
            st = caches_copy(&copy, c, false, err);
    }
    return copy ? pgy_tensor_map_adopt(out, name, copy, err) : st;
}

/* Adds caches in buffers to the outputs, for those who compare or save them. */
static pgy_status show_caches(decode_lane *lane, pgy_error *err)
{
    pgy_tensor_map *all = NULL;
    if (!caches_count_kept(lane->caches, &lane->plan)) return PGY_OK;
    pgy_status st = pgy_tensor_map_create(&all, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(lane->outputs_info); i++)
        st = show_output(all, lane, pgy_metadata_at(lane->outputs_info, i)->name, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(lane->outputs); i++)
        st = show_output(all, lane, pgy_tensor_map_name(lane->outputs, i), err);
    if (st) {
        pgy_tensor_map_destroy(all);
        return st;
    }
    pgy_tensor_map_destroy(lane->outputs);
    lane->outputs = all;
    return PGY_OK;
}

static pgy_status infer(decode_lane *lane, pgy_error *err)
{
    const size_t kept = caches_list(lane->kept, lane->caches, &lane->plan);
    const int64_t begin = clock_ns();
    const pgy_status st =
        pgy_runner_infer_keeping(&lane->outputs, lane->runner, lane->feed, lane->kept, kept, err);
    lane->time_ns = clock_ns() - begin;
    lane->preparation_ns = pgy_runner_last_preparation_ns(lane->runner);
    caches_note(lane->caches, &lane->plan, lane->kept);
    return st || !lane->is_watched ? st : show_caches(lane, err);
}

/* Takes the stored outputs of the step, and reads those of the next. */
static pgy_status read_step(decode_lane *lane, pgy_error *err)
{
    if (!lane->ahead || !pgy_results_runner_count(lane->ahead) ||
        !pgy_results_iteration_count(lane->ahead, 0))
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s has no outputs of this step", lane->path);
    const pgy_iteration *it = pgy_results_at(lane->ahead, 0, 0);
    pgy_status st = pgy_tensor_map_copy(&lane->outputs, it->outputs, err);
    lane->time_ns = isnan(it->runtime_s) ? 0 : (int64_t)(it->runtime_s * 1e9);
    lane->preparation_ns = -1;
    if (st) return st;
    pgy_results_destroy(lane->ahead);
    lane->ahead = NULL;
    return pgy_results_reader_next(&lane->ahead, lane->stored, err);
}

pgy_status lane_step(decode_lane *lane, const int64_t *ids, size_t batch, size_t length,
                     bool prefill, pgy_error *err)
{
    step_input step;
    int64_t *whole = NULL;
    pgy_tensor_map_destroy(lane->feed);
    pgy_tensor_map_destroy(lane->outputs);
    lane->feed = lane->outputs = NULL;
    read_on(lane, ids, batch, length);
    pgy_status st = tokens_of(&step, &whole, lane, ids, batch, length, prefill, err);
    if (!st) st = make_feed(&lane->feed, lane, &step, err);
    mem_free(whole);
    if (st) return st;
    st = lane->stored ? read_step(lane, err) : infer(lane, err);
    return st ? st : choose(lane, batch, err);
}

pgy_status lane_advance(decode_lane *lane, size_t length, bool prefill, pgy_error *err)
{
    const int64_t total = lane->past + (int64_t)length;
    const pgy_status st =
        caches_advance(lane->caches, &lane->plan, lane->outputs, total, prefill, err);
    if (!st) lane->past = total;
    if (st == PGY_E_SHAPE && lane->stored)
        return pgy_error_prefix(err, st, "%s has outputs of another prompt: ", lane->path);
    return st;
}

pgy_status lane_repeat(pgy_tensor_map **outputs, decode_lane *lane, const decode_lane *from,
                       pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_tensor_map_copy(&feed, lane->feed, err);
    for (size_t i = 0; !st && i < lane->plan.cache_count; i++) {
        const pgy_tensor_info *info = lane->plan.inputs[lane->plan.caches[i].input].info;
        const pgy_tensor *other = pgy_tensor_map_find(from->feed, info->name);
        pgy_tensor *own = NULL;
        if (!other) continue;
        st = pgy_tensor_cast(&own, pgy_tensor_view(other),
                             info->dtype ? info->dtype : pgy_tensor_dtype(other), err);
        if (!st) st = pgy_tensor_map_adopt(feed, info->name, own, err);
    }
    if (!st) st = pgy_runner_infer(outputs, lane->runner, feed, err);
    pgy_tensor_map_destroy(feed);
    return st;
}
