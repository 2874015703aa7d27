/* SPDX-License-Identifier: Apache-2.0 */
/* Fills stripped weights with random numbers. Each weight has its own generator, so its numbers
 * depend neither on the order of writing nor on earlier weights. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/sized.h"
#include "graph/graph.h"
#include "onnx/computed.h"
#include "transform/weights.h"

static const char LOG_PATH[] = "tools/surgeon/subtool/weight_reconstruct.py";

static const char SPARSE[] = "SPARSE_2_4";

typedef struct filled_weight {
    const pgy_onnx_tensor *stored;
    uint32_t seed;
    bool is_sparse;
    size_t axis; /* of a 2:4 sparse weight */
    pgy_dtype dtype;
    size_t bits, count;
    quad_layout groups; /* of a 2:4 sparse weight */
} filled_weight;

/* How far the elements have been made, while they are read in order. */
typedef struct filling {
    mt19937 generator;
    size_t next; /* index of the element that the generator makes next */
} filling;

/* ---- Numbers -------------------------------------------------------------------------------- */

/* Normally distributed numbers as NumPy's RandomState gives them: Marsaglia's polar method, the
 * second of a pair first. */
static void fill_normal(double *out, size_t count, mt19937 *g)
{
    for (size_t i = 0; i < count; i += 2) {
        double x, y, r;
        do {
            x = 2.0 * mt19937_double(g) - 1.0;
            y = 2.0 * mt19937_double(g) - 1.0;
            r = x * x + y * y;
        } while (r >= 1.0 || r == 0.0);
        const double f = sqrt(-2.0 * log(r) / r);
        out[i] = f * y;
        if (i + 1 < count) out[i + 1] = f * x;
    }
}

/* Numbers of elements. Steps of 8 end at whole bytes and at whole pairs of random numbers. */
enum { PIECE = 4096, STEP = 8 };

/* Advances the generator to element `first`. */
static void go_to(filling *f, const filled_weight *w, size_t first)
{
    double piece[PIECE];
    if (first && first == f->next) return;
    mt19937_seed(&f->generator, w->seed);
    for (size_t i = 0; i < first; i += PIECE)
        fill_normal(piece, first - i < PIECE ? first - i : PIECE, &f->generator);
}

/* Works in pieces, so that memory never holds all elements as doubles. */
static pgy_status make_filled(const tensor_part *p, void *user, pgy_error *err)
{
    const filled_weight *w = user;
    filling *f = p->memory;
    double piece[PIECE];
    const size_t first = p->offset * 8 / w->bits, room = p->size_bytes * 8 / w->bits;
    const size_t count = room < w->count - first ? room : w->count - first;
    pgy_status st = PGY_OK;
    go_to(f, w, first);
    memset(p->to, 0, p->size_bytes);
    for (size_t i = 0; !st && i < count; i += PIECE) {
        int64_t n = (int64_t)(count - i < PIECE ? count - i : PIECE);
        fill_normal(piece, (size_t)n, &f->generator);
        st = pgy_view_convert(pgy_view_of((char *)p->to + i * w->bits / 8, w->dtype, 1, &n),
                              pgy_view_of(piece, PGY_F64, 1, &n), false, err);
    }
    f->next = first + count;
    if (!st && w->is_sparse) quads_prune(&w->groups, p->to, p->size_bytes);
    return st;
}

static pgy_status make_record(pgy_onnx_tensor **out, pgy_model *m, const pgy_onnx_tensor *like,
                              filled_weight *w, pgy_error *err)
{
    w->dtype = pgy_dtype_from_onnx(like->data_type);
    w->bits = pgy_dtype_describe(w->dtype)->bits;
    pgy_status st = pgy_shape_count(&w->count, like->dim_count, like->dims, err);
    if (!st && w->is_sparse) st = quads_of(&w->groups, like, w->axis, err);
    if (st) return st;
    const parts_maker maker = {.make = make_filled,
                               .user = w,
                               .unit_bytes = w->is_sparse ? w->groups.bytes : STEP * w->bits / 8,
                               .memory_bytes = sizeof(filling)};
    return computed_parts_tensor(out, m, like, &maker, err);
}

/* ---- Which weights -------------------------------------------------------------------------- */

static bool has_elements(const pgy_onnx_tensor *t)
{
    return t->raw_data.size || t->float_data.size || t->double_data.size || t->int32_count ||
           t->int64_count || t->uint64_count || t->string_count || t->external_data_count;
}

static pgy_status check_mark(const pgy_onnx_tensor *t, pgy_error *err)
{
    const size_t size = strlen(STRIPPED_MARK);
    const char *rest = t->doc_string + size + 1;
    if (strncmp(t->doc_string, STRIPPED_MARK, size) || t->doc_string[size] != '/' ||
        (*rest && strcmp(rest, SPARSE)))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "weight '%s' is marked '%s'; expected '%s/' or '%s/%s'", t->name,
                             t->doc_string, STRIPPED_MARK, STRIPPED_MARK, SPARSE);
    if (has_elements(t))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "weight '%s' is marked as stripped ('%s'), but has elements", t->name,
                             t->doc_string);
    const pgy_dtype dtype = pgy_dtype_from_onnx(t->data_type);
    if (dtype == PGY_DTYPE_NONE || dtype == PGY_STRING || dtype == PGY_C64 || dtype == PGY_C128)
        return pgy_error_set(err, PGY_E_TYPE, "cannot reconstruct weight '%s': its type is %s",
                             t->name, pgy_dtype_name(dtype));
    return PGY_OK;
}

static bool is_marked_sparse(const pgy_onnx_tensor *t)
{
    return strstr(t->doc_string, SPARSE) != NULL;
}

typedef struct rebuilder {
    weight_edit edit;
    const pgy_reconstruct_options *options;
    filled_weight **weights; /* for each initializer: its new values; NULL: unchanged */
    strmap dense;            /* names of weights that must not be pruned */
    size_t count;
} rebuilder;

static pgy_status collect(rebuilder *b, pgy_error *err)
{
    const pgy_onnx_graph *g = b->edit.from->graph;
    b->weights = pgy_model_alloc(b->edit.model, g->initializer_count + 1, sizeof *b->weights);
    if (!b->weights) return graph_no_memory(err);
    for (size_t i = 0; i < g->initializer_count; i++) {
        const pgy_onnx_tensor *t = g->initializers[i];
        const bool stripped = weight_is_stripped(t);
        if ((!stripped || !is_marked_sparse(t)) && !strmap_put(&b->dense, t->name, b))
            return graph_no_memory(err);
        if (!stripped) continue;
        pgy_status st = check_mark(t, err);
        if (st) return st;
        filled_weight *w = pgy_model_alloc(b->edit.model, 1, sizeof *w);
        if (!w) return graph_no_memory(err);
        *w = (filled_weight){.stored = t, .seed = b->options->seed + (uint32_t)b->count++};
        b->weights[i] = w;
        LOG(VERBOSE, "Reconstructing weights for the %s initializer", t->name);
    }
    return PGY_OK;
}

static pgy_status find_axes(rebuilder *b, pgy_model *m, pgy_error *err)
{
    const pgy_sparse_weight *sparse = NULL;
    pgy_graph *graph = NULL;
    size_t count = 0;
    LOG(INFO, "Calling Sparsity Pruner to prune selected weights");
    pgy_status st = pgy_graph_import(&graph, m, err);
    if (!st) st = sparse_weights_find(&sparse, &count, graph, &b->dense, err);
    if (!st)
        pgy_log_write(PGY_LOG_START, "tools/sparse.py", __LINE__, "Pruning %zu tensors.", count);
    for (size_t i = 0; !st && i < count; i++) {
        const size_t place = weight_edit_find(&b->edit, sparse[i].value->initializer);
        if (place == SIZE_MAX || !b->weights[place]) continue;
        b->weights[place]->is_sparse = true;
        b->weights[place]->axis = sparse[i].axis;
    }
    for (size_t i = 0; !st && i < b->edit.from->graph->initializer_count; i++) {
        const filled_weight *w = b->weights[i];
        if (w && is_marked_sparse(w->stored) && !w->is_sparse)
            st =
                pgy_error_set(err, PGY_E_SHAPE,
                              "weight '%s' is marked %s, but its type, shape or use does not allow "
                              "2:4 sparsity",
                              w->stored->name, SPARSE);
    }
    if (!st) {
        pgy_log_write(PGY_LOG_FINISH, "tools/sparse.py", __LINE__, "Finished pruning %zu tensors. ",
                      count);
        if (count)
            pgy_log_write(PGY_LOG_INFO, "tools/sparse.py", __LINE__,
                          "Replacing weights to build new model object...");
    }
    pgy_graph_destroy(graph);
    return st;
}

/* ---- The model ------------------------------------------------------------------------------ */

static pgy_status fill_all(rebuilder *b, pgy_error *err)
{
    weight_edit *e = &b->edit;
    for (size_t i = 0; i < e->from->graph->initializer_count; i++) {
        pgy_onnx_tensor *made = NULL;
        if (!b->weights[i]) continue;
        const pgy_status st = make_record(&made, e->model, e->initializers[i], b->weights[i], err);
        if (st) return st;
        e->initializers[i] = b->options->keep_marks ? made : weight_with_doc(e->model, made, "");
        if (!e->initializers[i]) return graph_no_memory(err);
    }
    return PGY_OK;
}

/* Appends the text without the mark that stripping added: "text-TRT_WEIGHTLESS" gives "text". */
static void remove_mark(str *out, const char *text)
{
    const char *at = strstr(text, STRIPPED_MARK);
    size_t before = at ? (size_t)(at - text) : strlen(text);
    const char *after = at ? at + strlen(STRIPPED_MARK) : "";
    if (at && before && text[before - 1] == '-')
        before--;
    else if (at && *after == '-')
        after++;
    str_append_n(out, text, before);
    str_append(out, after);
}

static pgy_status finish(pgy_model **out, rebuilder *b, pgy_error *err)
{
    str doc = {0};
    remove_mark(&doc, b->edit.from->doc_string);
    const bool changed = !b->options->keep_marks && strstr(b->edit.from->doc_string, STRIPPED_MARK);
    const weight_edit_texts texts = {.doc_string = changed ? str_text(&doc) : NULL};
    const pgy_status st =
        doc.failed ? graph_no_memory(err) : weight_edit_finish(out, &b->edit, &texts, err);
    str_deinit(&doc);
    return st;
}

pgy_status pgy_model_reconstruct_weights(pgy_model **out, size_t *filled, pgy_model *m,
                                         const pgy_reconstruct_options *options, pgy_error *err)
{
    pgy_reconstruct_options o = {.size = sizeof o, .seed = 1};
    rebuilder b = {.options = &o};
    if (!out || !m) return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'm' must not be NULL");
    pgy_status st = SIZED_TAKE(pgy_reconstruct_options, &o, options, err);
    if (st) return st;
    LOG(START, "Beginning weight reconstruction...");
    st = weight_edit_init(&b.edit, m, err);
    if (!st) st = collect(&b, err);
    if (!st) st = find_axes(&b, m, err);
    if (!st) st = fill_all(&b, err);
    if (!st) st = finish(out, &b, err);
    if (!st) LOG(FINISH, "Finished reconstructing %zu weights", b.count);
    if (!st && filled) *filled = b.count;
    weight_edit_deinit(&b.edit);
    strmap_deinit(&b.dense);
    return st;
}
