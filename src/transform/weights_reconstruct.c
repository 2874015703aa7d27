/* SPDX-License-Identifier: Apache-2.0 */
/* Putting numbers in place of weights that were taken out. Weight i has a generator of its own, so
 * that what it gets depends neither on the order of writing nor on the weights before it. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/rand.h"
#include "graph/graph.h"
#include "transform/weights.h"

static const char LOG_PATH[] = "tools/surgeon/subtool/weight_reconstruct.py";

static const char MARK[] = "TRT_WEIGHTLESS", SPARSE[] = "SPARSE_2_4";

typedef struct filled_weight {
    const pgy_onnx_tensor *stored;
    uint32_t seed;
    bool is_sparse;
    size_t axis; /* of a sparse one */
} filled_weight;

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

/* In pieces, so that the doubles are never all there. */
static pgy_status fill(pgy_view to, uint32_t seed, pgy_error *err)
{
    enum { PIECE = 4096 };
    double piece[PIECE];
    mt19937 g;
    mt19937_seed(&g, seed);
    const size_t count = pgy_view_count(to);
    char *data = pgy_view_data(to);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i += PIECE) {
        int64_t n = (int64_t)(count - i < PIECE ? count - i : PIECE);
        size_t offset;
        fill_normal(piece, (size_t)n, &g);
        st = pgy_dtype_size_bytes(&offset, to.dtype, i, err);
        if (!st)
            st = pgy_view_convert(pgy_view_of(data + offset, to.dtype, 1, &n),
                                  pgy_view_of(piece, PGY_F64, 1, &n), false, err);
    }
    return st;
}

static pgy_status make_filled(pgy_tensor **out, void *user, pgy_error *err)
{
    const filled_weight *w = user;
    const pgy_onnx_tensor *t = w->stored;
    pgy_tensor *made = NULL;
    pgy_status st =
        pgy_tensor_create(&made, pgy_dtype_from_onnx(t->data_type), t->dim_count, t->dims, err);
    if (!st) st = fill(pgy_tensor_view(made), w->seed, err);
    if (!st && w->is_sparse) weight_prune(pgy_tensor_view(made), w->axis);
    if (!st) {
        *out = made;
        made = NULL;
    }
    pgy_tensor_release(made);
    return st;
}

/* ---- Which weights -------------------------------------------------------------------------- */

static bool has_elements(const pgy_onnx_tensor *t)
{
    return t->raw_data.size || t->float_data.size || t->double_data.size || t->int32_count ||
           t->int64_count || t->uint64_count || t->string_count || t->external_data_count;
}

static pgy_status check_mark(const pgy_onnx_tensor *t, pgy_error *err)
{
    const size_t size = strlen(MARK);
    const char *rest = t->doc_string + size + 1;
    if (strncmp(t->doc_string, MARK, size) || t->doc_string[size] != '/' ||
        (*rest && strcmp(rest, SPARSE)))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "weight '%s' is marked '%s'; expected '%s/' or '%s/%s'", t->name,
                             t->doc_string, MARK, MARK, SPARSE);
    if (has_elements(t))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "weight '%s' is marked '%s' and has elements, which do not fit "
                             "together",
                             t->name, t->doc_string);
    const pgy_dtype dtype = pgy_dtype_from_onnx(t->data_type);
    if (dtype == PGY_DTYPE_NONE || dtype == PGY_STRING || dtype == PGY_C64 || dtype == PGY_C128)
        return pgy_error_set(err, PGY_E_TYPE,
                             "weight '%s' cannot be filled with numbers: its type is %s", t->name,
                             pgy_dtype_name(dtype));
    return PGY_OK;
}

static bool is_marked_sparse(const pgy_onnx_tensor *t)
{
    return strstr(t->doc_string, SPARSE) != NULL;
}

typedef struct rebuilder {
    weight_edit edit;
    const pgy_reconstruct_options *options;
    filled_weight **weights; /* of each initializer; NULL: it stays */
    strmap dense;            /* names that are not to be pruned */
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
        const pgy_status st = pgy_model_computed_tensor(&made, e->model, e->initializers[i],
                                                        make_filled, b->weights[i], err);
        if (st) return st;
        e->initializers[i] = b->options->keep_marks ? made : weight_with_doc(e->model, made, "");
        if (!e->initializers[i]) return graph_no_memory(err);
    }
    return PGY_OK;
}

/* Takes the mark out of "text-TRT_WEIGHTLESS". */
static void remove_mark(str *out, const char *text)
{
    const char *at = strstr(text, MARK);
    size_t before = at ? (size_t)(at - text) : strlen(text);
    const char *after = at ? at + strlen(MARK) : "";
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
    const bool changed = !b->options->keep_marks && strstr(b->edit.from->doc_string, MARK);
    const weight_edit_texts texts = {.doc_string = changed ? str_text(&doc) : NULL};
    const pgy_status st =
        doc.failed ? graph_no_memory(err) : weight_edit_finish(out, &b->edit, &texts, err);
    str_deinit(&doc);
    return st;
}

pgy_status pgy_model_reconstruct_weights(pgy_model **out, size_t *filled, pgy_model *m,
                                         const pgy_reconstruct_options *options, pgy_error *err)
{
    static const pgy_reconstruct_options DEFAULTS = {.size = sizeof DEFAULTS, .seed = 1};
    rebuilder b = {.options = options ? options : &DEFAULTS};
    if (!out || !m) return pgy_error_set(err, PGY_E_ARGUMENT, "no model to fill");
    LOG(START, "Beginning weight reconstruction...");
    pgy_status st = weight_edit_init(&b.edit, m, err);
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
