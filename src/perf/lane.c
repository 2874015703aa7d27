/* SPDX-License-Identifier: Apache-2.0 */
/* A context with everything that its runs read and write, so that the measured loop only copies and
 * executes. An output whose shape depends on data grows when the engine asks for memory. */
#include <string.h>

#include "base/alloc.h"
#include "perf/perf.h"

enum { ALIGNMENT = 64 };

typedef struct slot {
    const char *name; /* borrowed from the engine's metadata or the feed */
    void *inner;      /* memory of the engine */
    void *outer;      /* memory of the caller; NULL: copied from or to nowhere */
    size_t size_bytes, capacity;
    bool grows;
    pgy_view last; /* output that grows: as the last run gave it */
    int64_t *shape;
} slot;

struct perf_lane {
    pgy_context *context;
    slot *inputs, *outputs;
    size_t input_count, output_count;
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the inputs and outputs of a stream");
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static pgy_status add_input(perf_lane *l, const char *name, pgy_tensor *t, pgy_error *err)
{
    slot *s = &l->inputs[l->input_count];
    const size_t bytes = pgy_tensor_size_bytes(t);
    s->name = name;
    s->inner = mem_alloc_aligned(ALIGNMENT, bytes ? bytes : 1);
    if (!s->inner) return no_memory(err);
    l->input_count++;
    s->outer = pgy_tensor_data(t);
    s->size_bytes = bytes;
    if (bytes) memcpy(s->inner, s->outer, bytes);
    pgy_status st =
        pgy_context_set_input_shape(l->context, name, pgy_tensor_rank(t), pgy_tensor_shape(t), err);
    if (!st) st = pgy_context_set_input(l->context, name, s->inner, bytes, err);
    return st;
}

static pgy_status add_inputs(perf_lane *l, pgy_engine *e, const pgy_tensor_map *feed,
                             pgy_error *err)
{
    const pgy_metadata *inputs = pgy_engine_inputs(e);
    const size_t count = pgy_metadata_count(inputs);
    l->inputs = mem_calloc(count + 1, sizeof *l->inputs);
    if (!l->inputs) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        pgy_tensor *t = pgy_tensor_map_find(feed, info->name);
        if (!t) return pgy_error_set(err, PGY_E_ARGUMENT, "input '%s' has no data", info->name);
        if (info->form != PGY_FORM_TENSOR || pgy_tensor_dtype(t) == PGY_STRING)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "input '%s' is not a tensor of numbers, so it cannot be measured",
                                 info->name);
        if (pgy_tensor_dtype(t) != info->dtype)
            return pgy_error_set(err, PGY_E_TYPE, "input '%s': the data are %s, expected %s",
                                 info->name, pgy_dtype_name(pgy_tensor_dtype(t)),
                                 pgy_dtype_name(info->dtype));
        const pgy_status st = add_input(l, info->name, t, err);
        if (st) return st;
    }
    return PGY_OK;
}

/* ---- Outputs -------------------------------------------------------------------------------- */

static bool reserve(slot *s, size_t bytes)
{
    void *inner = mem_alloc_aligned(ALIGNMENT, bytes ? bytes : 1);
    void *outer = mem_alloc_aligned(ALIGNMENT, bytes ? bytes : 1);
    if (!inner || !outer) {
        mem_free(inner);
        mem_free(outer);
        return false;
    }
    mem_free(s->inner);
    mem_free(s->outer);
    s->inner = inner;
    s->outer = outer;
    s->capacity = bytes;
    return true;
}

static void *grow(void *user, const char *name, size_t size_bytes)
{
    slot *s = user;
    (void)name;
    if (s->capacity < size_bytes && !reserve(s, size_bytes)) return NULL;
    if (!s->inner && !reserve(s, 1)) return NULL;
    return s->inner;
}

static void note_shape(void *user, const char *name, pgy_view value)
{
    slot *s = user;
    (void)name;
    s->last = value;
    s->size_bytes = pgy_view_size_bytes(value);
    for (int32_t i = 0; i < value.rank; i++) s->shape[i] = value.shape[i];
}

static pgy_status add_output(perf_lane *l, const pgy_tensor_info *info, pgy_error *err)
{
    slot *s = &l->outputs[l->output_count++];
    pgy_error ignored = {0};
    s->name = info->name;
    if (info->form != PGY_FORM_TENSOR || info->dtype == PGY_STRING)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "output '%s' is not a tensor of numbers, so it cannot be measured",
                             info->name);
    const pgy_status st =
        pgy_context_output_bytes(&s->size_bytes, l->context, info->name, &ignored);
    if (!st) {
        if (!reserve(s, s->size_bytes)) return no_memory(err);
        return pgy_context_set_output(l->context, info->name, s->inner, s->size_bytes, err);
    }
    if (st != PGY_E_UNSUPPORTED) return pgy_error_set(err, st, "%s", ignored.text);
    const pgy_output_allocator allocator = {
        .size = sizeof allocator, .user = s, .allocate = grow, .filled = note_shape};
    s->grows = true;
    s->shape = mem_calloc(PGY_MAX_RANK, sizeof *s->shape);
    if (!s->shape) return no_memory(err);
    return pgy_context_set_output_allocator(l->context, info->name, &allocator, err);
}

static pgy_status add_outputs(perf_lane *l, pgy_engine *e, pgy_error *err)
{
    const pgy_metadata *outputs = pgy_engine_outputs(e);
    const size_t count = pgy_metadata_count(outputs);
    size_t missing = 0;
    const char *first = NULL;
    pgy_status st = pgy_context_infer_shapes(l->context, &first, 1, &missing, err);
    if (!st && missing)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "input '%s' has no shape", first ? first : "?");
    if (!st) l->outputs = mem_calloc(count + 1, sizeof *l->outputs);
    if (!st && !l->outputs) st = no_memory(err);
    for (size_t i = 0; !st && i < count; i++) st = add_output(l, pgy_metadata_at(outputs, i), err);
    return st;
}

/* ---- The lane ------------------------------------------------------------------------------- */

pgy_status perf_lane_create(perf_lane **out, pgy_engine *engine, const pgy_tensor_map *feed,
                            const pgy_perf_options *o, pgy_error *err)
{
    pgy_context_options options = {.size = sizeof options, .threads = o->threads};
    perf_lane *l = mem_calloc(1, sizeof *l);
    if (!l) return no_memory(err);
    pgy_status st = pgy_context_create(&l->context, engine, &options, err);
    if (!st && o->has_profile) st = pgy_context_set_profile(l->context, o->profile, err);
    if (!st) st = add_inputs(l, engine, feed, err);
    if (!st) st = add_outputs(l, engine, err);
    if (st)
        perf_lane_destroy(l);
    else
        *out = l;
    return st;
}

void perf_lane_destroy(perf_lane *l)
{
    if (!l) return;
    pgy_context_destroy(l->context);
    for (size_t i = 0; i < l->input_count; i++) mem_free(l->inputs[i].inner);
    for (size_t i = 0; i < l->output_count; i++) {
        mem_free(l->outputs[i].inner);
        mem_free(l->outputs[i].outer);
        mem_free(l->outputs[i].shape);
    }
    mem_free(l->inputs);
    mem_free(l->outputs);
    mem_free(l);
}

pgy_context *perf_lane_context(perf_lane *l)
{
    return l->context;
}

void perf_lane_copy_in(perf_lane *l)
{
    for (size_t i = 0; i < l->input_count; i++)
        if (l->inputs[i].size_bytes)
            memcpy(l->inputs[i].inner, l->inputs[i].outer, l->inputs[i].size_bytes);
}

void perf_lane_copy_out(perf_lane *l)
{
    for (size_t i = 0; i < l->output_count; i++)
        if (l->outputs[i].size_bytes)
            memcpy(l->outputs[i].outer, l->outputs[i].inner, l->outputs[i].size_bytes);
}

void perf_lane_bytes(const perf_lane *l, uint64_t *in, uint64_t *out)
{
    *in = *out = 0;
    for (size_t i = 0; i < l->input_count; i++) *in += l->inputs[i].size_bytes;
    for (size_t i = 0; i < l->output_count; i++) *out += l->outputs[i].size_bytes;
}

pgy_status perf_lane_outputs(pgy_tensor_map **out, perf_lane *l, pgy_error *err)
{
    pgy_tensor_map *map = NULL;
    pgy_status st = pgy_tensor_map_create(&map, err);
    for (size_t i = 0; !st && i < l->output_count; i++) {
        const slot *s = &l->outputs[i];
        pgy_tensor *t = NULL;
        pgy_view v = {0};
        if (s->grows) {
            v = pgy_view_of(s->inner, s->last.dtype, (size_t)s->last.rank, s->shape);
        } else {
            const pgy_tensor_info *info = pgy_context_tensor(l->context, s->name);
            v = pgy_view_of(s->inner, info->dtype, (size_t)info->rank, (int64_t *)info->shape);
        }
        st = pgy_tensor_copy(&t, v, err);
        if (!st) st = pgy_tensor_map_adopt(map, s->name, t, err);
    }
    if (st)
        pgy_tensor_map_destroy(map);
    else
        *out = map;
    return st;
}
