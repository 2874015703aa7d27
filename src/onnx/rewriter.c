/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf allows the fields of a message in any order. A weight is known by its bytes in a mapped
 * file of the whole model, which stay where they are as long as the rewriter lives. */
#include "onnx/rewriter.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/reused_file.h"
#include "onnx/computed.h"
#include "onnx/saving.h"

/* Other programs cannot read larger files, so the weights move out, which this cannot do. */
static const uint64_t ONE_FILE_LIMIT = 2000000000;

struct model_rewriter {
    pgy_model *whole;
    reused_file *file;
    uint64_t min_bytes;
    const void **order; /* the bytes of weights, as the last part had them */
    size_t count;
};

pgy_status model_rewriter_create(model_rewriter **out, pgy_model *whole, const char *path,
                                 uint64_t min_bytes, pgy_error *err)
{
    model_rewriter *w = mem_calloc(1, sizeof *w);
    if (!w) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing '%s'", path);
    w->whole = pgy_model_retain(whole);
    w->min_bytes = min_bytes;
    const pgy_status st = reused_file_create(&w->file, path, err);
    if (st)
        model_rewriter_destroy(w);
    else
        *out = w;
    return st;
}

void model_rewriter_destroy(model_rewriter *w)
{
    if (!w) return;
    reused_file_destroy(w->file);
    pgy_model_destroy(w->whole);
    mem_free(w->order);
    mem_free(w);
}

bool model_rewriter_hide(model_rewriter *w)
{
    return reused_file_hide(w->file);
}

uint64_t model_rewriter_written(const model_rewriter *w)
{
    return reused_file_written(w->file);
}

/* ---- The order of weights ------------------------------------------------------------------- */

typedef struct weight {
    const void *bytes;
    size_t at; /* in the part's list */
} weight;

static int compare_bytes(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const weight *)a)->bytes;
    const uintptr_t y = (uintptr_t)((const weight *)b)->bytes;
    return (x > y) - (x < y);
}

/* Orders the weights of this part so that the file begins as the last one did: first those of the
 * last part, in its order, until one is missing here; then all others. `taken` is zeroed. */
static void arrange(pgy_onnx_tensor **out, const model_rewriter *w, const pgy_onnx_graph *g,
                    weight *sorted, bool *taken)
{
    const size_t count = g->initializer_count;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (weight){g->initializers[i]->message.raw.data, i};
    qsort(sorted, count, sizeof *sorted, compare_bytes);
    for (size_t i = 0; i < w->count && w->order[i]; i++) {
        const weight key = {.bytes = w->order[i]};
        const weight *found = bsearch(&key, sorted, count, sizeof *sorted, compare_bytes);
        if (!found || taken[found->at]) break;
        taken[found->at] = true;
        out[n++] = g->initializers[found->at];
    }
    for (int made_here = 0; made_here < 2; made_here++) /* those without stored bytes come last */
        for (size_t i = 0; i < count; i++)
            if (!taken[i] && (g->initializers[i]->message.raw.data == NULL) == made_here)
                out[n++] = g->initializers[i];
}

static pgy_status remember(model_rewriter *w, pgy_onnx_tensor *const *order, size_t count,
                           pgy_error *err)
{
    const void **list = mem_realloc(w->order, (count + 1) * sizeof *list);
    if (!list) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while saving");
    for (size_t i = 0; i < count; i++) list[i] = order[i]->message.raw.data;
    w->order = list;
    w->count = count;
    return PGY_OK;
}

static pgy_status order_weights(pgy_onnx_tensor ***out, model_rewriter *w, const pgy_onnx_graph *g,
                                pgy_error *err)
{
    const size_t count = g->initializer_count;
    pgy_onnx_tensor **order = mem_calloc(count + 1, sizeof *order);
    weight *sorted = mem_calloc(count + 1, sizeof *sorted);
    bool *taken = mem_calloc(count + 1, sizeof *taken);
    pgy_status st = PGY_OK;
    if (order && sorted && taken) {
        arrange(order, w, g, sorted, taken);
        st = remember(w, order, count, err);
    } else {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while saving");
    }
    mem_free(sorted);
    mem_free(taken);
    if (st)
        mem_free(order);
    else
        *out = order;
    return st;
}

/* ---- Writing -------------------------------------------------------------------------------- */

typedef struct target {
    model_rewriter *w;
    pgy_model *part;
} target;

static pgy_status put_made(void *user, const void *data, size_t size_bytes, pgy_error *err)
{
    return reused_file_put(((target *)user)->w->file, data, size_bytes, err);
}

static pgy_status put(void *user, const void *data, size_t size_bytes, pgy_error *err)
{
    target *to = user;
    size_t offset = 0;
    bool sent;
    const file_map *map = model_find_map(to->w->whole, data, size_bytes, &offset);
    if (map) return reused_file_put_map(to->w->file, map, offset, size_bytes, err);
    const pgy_status st =
        computed_tensor_send(&sent, to->part, (pgy_bytes){data, size_bytes}, put_made, user, err);
    return st || sent ? st : put_made(user, data, size_bytes, err);
}

static pgy_status write(bool *saved, model_rewriter *w, pgy_model *part, encoder *e, pgy_error *err)
{
    target to = {w, part};
    const size_t size = encoder_size_bytes(e);
    if (size < w->min_bytes || size >= ONE_FILE_LIMIT || !reused_file_begin(w->file)) return PGY_OK;
    pgy_status st = encoder_write(e, put, &to, err);
    if (!st) st = reused_file_show(w->file, err);
    *saved = !st;
    return st;
}

pgy_status model_rewriter_save(bool *saved, model_rewriter *w, pgy_model *part, pgy_error *err)
{
    placement place = {.m = part};
    pgy_onnx_tensor **order = NULL;
    encoder *e = NULL;
    *saved = false;
    const pgy_onnx_model *proto = pgy_model_proto(part);
    if (!proto || !proto->graph || pgy_model_size_bytes(part) < w->min_bytes) return PGY_OK;
    pgy_status st = order_weights(&order, w, proto->graph, err);
    if (st) return st;
    pgy_onnx_graph graph = *proto->graph;
    pgy_onnx_model model = *proto;
    graph.message.raw = model.message.raw = (pgy_bytes){0};
    graph.initializers = order;
    model.graph = &graph;
    encode_options options = saving_options(&place);
    options.weights_first = true;
    st = encoder_create(&e, &model, &options, err);
    if (!st) st = write(saved, w, part, e, err);
    encoder_destroy(e);
    placement_deinit(&place);
    mem_free(order);
    return st;
}
