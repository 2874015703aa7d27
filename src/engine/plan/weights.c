/* SPDX-License-Identifier: Apache-2.0 */
/* A weight stored outside the model is a TensorProto without elements. An entry of its metadata
 * tells where they are, as section, offset and bytes ("constants 4096 640", "weights 0 12"), or
 * gives the hash of a stripped weight ("none <hash>"). */
#include "engine/plan/weights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/plan/packed_note.h"
#include "onnx/elements.h"
#include "onnx/model.h"

static const char KEY[] = "pgy.plan";

enum {
    INLINE_BYTES = 64,   /* bytes: weights up to this size stay in the model */
    SMALL_FLOATS = 256,  /* shape inference reads float weights of up to this many elements */
    SMALL_OTHERS = 4096, /* the same for other types */
    RAW_DATA_FIELD = 9
};

typedef struct detacher {
    pgy_model *to, *from;
    const area_pools *constants;
    packed_notes packed;
    plan_pool *weights;
    plan_weights_rule rule;
    uint64_t read_bytes; /* since pages were given back */
} detacher;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing the plan");
}

/* ---- Writing: weights leave the model -------------------------------------------------------- */

/* Makes a tensor of the same type and shape with a note in place of elements. */
static pgy_onnx_tensor *make_note(detacher *d, const pgy_onnx_tensor *from, const char *note)
{
    pgy_onnx_tensor *made = pgy_model_alloc(d->to, 1, sizeof *made);
    pgy_onnx_string_entry *entry = pgy_model_alloc(d->to, 1, sizeof *entry);
    pgy_onnx_string_entry **list = pgy_model_alloc(d->to, 1, sizeof *list);
    const char *text = pgy_model_strdup(d->to, note);
    if (!made || !entry || !list || !text) return NULL;
    *entry = (pgy_onnx_string_entry){.key = KEY, .value = text};
    list[0] = entry;
    *made = (pgy_onnx_tensor){.name = from->name,
                              .doc_string = "",
                              .dims = from->dims,
                              .dim_count = from->dim_count,
                              .data_type = from->data_type,
                              .metadata_props = list,
                              .metadata_prop_count = 1};
    return made;
}

/* Keeps the elements of t as they are. */
static pgy_status keep(str *note, detacher *d, pgy_tensor *t, pgy_error *err)
{
    const void *data = pgy_tensor_data(t);
    const uint64_t bytes = pgy_tensor_size_bytes(t);
    const char *section = "constants";
    pgy_status st = PGY_OK;
    uint64_t offset = 0;
    if (!area_pools_find(&offset, d->constants, data, bytes)) {
        section = "weights";
        st = pgy_model_keep_tensor(d->to, t, err); /* the pool borrows its elements */
        if (!st && !plan_pool_add(&offset, d->weights, data, bytes)) st = no_memory(err);
    }
    str_printf(note, "%s %llu %llu", section, (unsigned long long)offset,
               (unsigned long long)bytes);
    return st;
}

static bool is_small(pgy_dtype dtype, size_t size_bytes)
{
    const size_t most = pgy_dtype_is_float(dtype) ? SMALL_FLOATS : SMALL_OTHERS;
    return size_bytes * 8 <= most * pgy_dtype_describe(dtype)->bits;
}

static bool stays(const detacher *d, pgy_dtype dtype, size_t size_bytes)
{
    if (dtype == PGY_STRING || !dtype) return true;
    return d->rule == PLAN_WEIGHTS_ALL ? size_bytes <= INLINE_BYTES : is_small(dtype, size_bytes);
}

static pgy_status describe_place(str *note, detacher *d, const pgy_onnx_tensor *from,
                                 pgy_error *err)
{
    pgy_tensor *t = NULL;
    if (d->rule == PLAN_WEIGHTS_SMALL) {
        str_append(note, "none 0");
        return PGY_OK;
    }
    if (d->rule == PLAN_WEIGHTS_ALL && packed_notes_write(note, &d->packed, from)) return PGY_OK;
    pgy_status st = onnx_tensor_load_anywhere(&t, d->from, from, err);
    if (st) return st;
    if (d->rule == PLAN_WEIGHTS_STRIP)
        str_printf(note, "none %016llx",
                   (unsigned long long)hash_xxh64(pgy_tensor_data(t), pgy_tensor_size_bytes(t), 0));
    else
        st = keep(note, d, t, err);
    pgy_tensor_release(t);
    return st;
}

static pgy_status detach(pgy_onnx_tensor **out, detacher *d, pgy_onnx_tensor *from, pgy_error *err)
{
    size_t size_bytes = 0;
    uint64_t unused;
    str note = {0};
    *out = from;
    if (plan_weight_is_left_out(from, &unused)) return PGY_OK;
    const pgy_dtype dtype = pgy_dtype_from_onnx(from->data_type);
    pgy_status st = dtype == PGY_STRING ? PGY_OK : tensor_needs_bytes(&size_bytes, from, err);
    if (st || stays(d, dtype, size_bytes)) return st;
    st = describe_place(&note, d, from, err);
    if (!st) *out = note.failed ? NULL : make_note(d, from, str_text(&note));
    if (!st && !*out) st = no_memory(err);
    str_deinit(&note);
    return st;
}

/* Gives back the pages of the model's file, so that they are not held beside the plan's weights. */
static void give_back(detacher *d, const pgy_onnx_tensor *t)
{
    enum { TURN_BYTES = 64 << 20 };
    size_t size_bytes = 0;
    if (tensor_needs_bytes(&size_bytes, t, NULL)) return;
    d->read_bytes += size_bytes;
    if (d->read_bytes < TURN_BYTES) return;
    d->read_bytes = 0;
    model_forget_pages(d->from);
}

static pgy_status detach_all(pgy_onnx_model *model, detacher *d, pgy_error *err)
{
    pgy_onnx_graph *graph = pgy_model_alloc(d->to, 1, sizeof *graph);
    if (!graph) return no_memory(err);
    *graph = *model->graph;
    pgy_onnx_tensor **list = pgy_model_alloc(d->to, graph->initializer_count + 1, sizeof *list);
    if (!list) return no_memory(err);
    for (size_t i = 0; i < graph->initializer_count; i++) {
        const pgy_status st = detach(&list[i], d, graph->initializers[i], err);
        if (st) return st;
        give_back(d, graph->initializers[i]);
    }
    graph->initializers = list;
    graph->message.raw = (pgy_bytes){0};
    model->graph = graph;
    return PGY_OK;
}

pgy_status plan_weights_detach(pgy_model **out, pgy_model *model, const area_pools *constants,
                               packed_table *packed, plan_pool *weights, plan_weights_rule rule,
                               pgy_error *err)
{
    detacher d = {.from = model, .constants = constants, .weights = weights, .rule = rule};
    pgy_status st = pgy_model_create(&d.to, err);
    if (st) return st;
    st = pgy_model_keep(d.to, model, err);
    pgy_onnx_model *proto = pgy_model_alloc(d.to, 1, sizeof *proto);
    if (!st && !proto) st = no_memory(err);
    if (!st) {
        *proto = *pgy_model_proto(model);
        proto->message.raw = (pgy_bytes){0};
        st = packed_notes_find(&d.packed, constants, packed, proto->graph, err);
        if (!st) st = detach_all(proto, &d, err);
    }
    packed_notes_deinit(&d.packed);
    if (st) {
        pgy_model_destroy(d.to);
        return st;
    }
    pgy_model_set_proto(d.to, proto);
    *out = d.to;
    return PGY_OK;
}

/* ---- Reading: weights return to the model ---------------------------------------------------- */

static const char *note_of(const pgy_onnx_tensor *t)
{
    for (size_t i = 0; i < t->metadata_prop_count; i++)
        if (strcmp(t->metadata_props[i]->key, KEY) == 0) return t->metadata_props[i]->value;
    return NULL;
}

bool plan_weight_is_left_out(const pgy_onnx_tensor *t, uint64_t *hash)
{
    const char *note = note_of(t);
    *hash = 0;
    if (!note || !str_starts_with(note, "none ")) return false;
    *hash = strtoull(note + 5, NULL, 16);
    return true;
}

/* Reads a note "<section> <offset> <bytes>". */
static bool read_note(pgy_bytes *out, const char *note, const plan_weights_bytes *bytes)
{
    const bool constant = str_starts_with(note, "constants ");
    if (!constant && !str_starts_with(note, "weights ")) return false;
    char *end = NULL;
    errno = 0;
    const unsigned long long offset = strtoull(strchr(note, ' ') + 1, &end, 10);
    if (errno || *end != ' ') return false;
    const unsigned long long length = strtoull(end + 1, &end, 10);
    if (errno || *end) return false;
    const area_bytes weights = {.at = {bytes->weights}};
    const area_bytes *section = constant ? &bytes->constants : &weights;
    if (!area_bytes_hold(section, offset, length)) return false;
    *out = (pgy_bytes){.data = area_bytes_at(section, offset), .size = length};
    return true;
}

pgy_status plan_weights_attach(pgy_model *model, const plan_weights_bytes *bytes,
                               packed_table *packed, pgy_error *err)
{
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    for (size_t i = 0; g && i < g->initializer_count; i++) {
        pgy_onnx_tensor *t = g->initializers[i];
        const char *note = note_of(t);
        if (!note || str_starts_with(note, "none ") || str_starts_with(note, "packed ")) continue;
        pgy_bytes at;
        if (!read_note(&at, note, bytes))
            return pgy_error_set(err, PGY_E_FORMAT, "weight '%s' exceeds the plan", t->name);
        t->raw_data = at;
        t->message.raw = (pgy_bytes){0};
        t->message.present |= (uint64_t)1 << RAW_DATA_FIELD;
        t->metadata_prop_count = 0;
    }
    return packed_notes_read(model, note_of, &bytes->constants, packed, err);
}
