/* SPDX-License-Identifier: Apache-2.0 */
/* Values of tensors for the server. */
#include "viewer/serve/values.h"

#include <string.h>

#include "base/printable.h"
#include "viewer/page_files.h"
#include "viewer/sources/output_file.h"
#include "viewer/sources/source.h"

enum { PIECE_LIMIT = 1 << 16, WHOLE_CAST_LIMIT = 64 << 20 };

void page_values_deinit(page_values *v)
{
    for (size_t i = 0; i < VIEW_GRAPH_LIMIT; i++) pgy_model_destroy(v->models[i]);
    pgy_tensor_release(v->last);
    *v = (page_values){0};
}

/* ---- Weights -------------------------------------------------------------------------------- */

pgy_status page_values_model(pgy_model **out, page_values *v, uint32_t graph, pgy_error *err)
{
    const view_graph *g = v->page->graphs[graph];
    if (!g->model) return pgy_error_set(err, PGY_E_UNSUPPORTED, "'%s' is no ONNX model", g->name);
    if (!v->models[graph] && *pgy_model_path(g->model)) {
        pgy_status st = pgy_model_load(&v->models[graph], pgy_model_path(g->model), NULL, err);
        if (st) return st;
    } else if (!v->models[graph]) {
        v->models[graph] = pgy_model_retain(g->model);
    }
    *out = v->models[graph];
    return PGY_OK;
}

static const pgy_onnx_tensor *find_in(const pgy_onnx_graph *g, const char *name)
{
    for (size_t i = 0; i < g->initializer_count; i++)
        if (!strcmp(g->initializers[i]->name, name)) return g->initializers[i];
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_onnx_node *n = g->nodes[i];
        if (strcmp(n->op_type, "Constant") != 0 || !n->output_count ||
            strcmp(n->outputs[0], name) != 0)
            continue;
        for (size_t k = 0; k < n->attribute_count; k++)
            if (n->attributes[k]->t) return n->attributes[k]->t;
    }
    return NULL;
}

static pgy_status find_weight(pgy_tensor **out, page_values *v, uint32_t graph, const char *name,
                              pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_status st = page_values_model(&model, v, graph, err);
    if (st) return st;
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    const pgy_onnx_tensor *t = g ? find_in(g, name) : NULL;
    if (!t)
        return pgy_error_set(err, PGY_E_NOT_FOUND, "the main graph has no weight '%s'",
                             printable_name(name));
    return pgy_onnx_tensor_load(out, model, t, err);
}

/* ---- Outputs -------------------------------------------------------------------------------- */

/* Looks into one file. *side counts the runners that files before it had, and those of this one. */
static pgy_status find_in_file(pgy_tensor **out, const char *path, const char *name, int *side,
                               pgy_error *err)
{
    pgy_results *r = NULL;
    pgy_results_reader *reader = NULL;
    pgy_status st = output_file_open(&reader, &r, path, err);
    pgy_results_reader_close(reader);
    if (st) return st;
    const size_t count = pgy_results_runner_count(r);
    if ((size_t)*side < count && pgy_results_iteration_count(r, (size_t)*side)) {
        const pgy_iteration *first = pgy_results_at(r, (size_t)*side, 0);
        pgy_tensor *t = pgy_tensor_map_find(first->outputs, name);
        if (t) *out = pgy_tensor_retain(t);
    }
    *side -= (int)count;
    pgy_results_destroy(r);
    return PGY_OK;
}

static pgy_status find_output(pgy_tensor **out, const pgy_page *p, uint32_t graph, const char *name,
                              int side, pgy_error *err)
{
    pgy_status st = PGY_OK;
    int left = side;
    for (size_t i = 0; i < p->file_count && !st && !*out && left >= 0; i++)
        if (!strcmp(p->files[i].source->name, "outputs") &&
            page_file_graph(p, &p->files[i]) == graph)
            st = find_in_file(out, p->files[i].path, name, &left, err);
    if (!st && !*out)
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "no file of outputs has '%s' of runner %c",
                           printable_name(name), 'A' + side);
    return st;
}

pgy_status page_values_get(pgy_tensor **out, page_values *v, uint32_t graph, uint32_t tensor,
                           int side, pgy_error *err)
{
    const view_tensor *t = &v->page->graphs[graph]->tensors[tensor];
    const bool is_weight = t->kind == VIEW_WEIGHT || t->kind == VIEW_NODE_CONSTANT;
    pgy_tensor *found = NULL;
    if (is_weight) side = 0;
    if (v->last && v->last_graph == graph && v->last_tensor == tensor && v->last_side == side) {
        *out = v->last;
        return PGY_OK;
    }
    pgy_status st = is_weight ? find_weight(&found, v, graph, t->name, err)
                              : find_output(&found, v->page, graph, t->name, side, err);
    if (st) return st;
    pgy_tensor_release(v->last);
    v->last = found;
    v->last_graph = graph;
    v->last_tensor = tensor;
    v->last_side = side;
    *out = found;
    return PGY_OK;
}

/* ---- Pieces --------------------------------------------------------------------------------- */

/* Size of the plane; a vector is one row, a scalar one number. */
static void plane_size(const pgy_tensor *t, int64_t *rows, int64_t *columns)
{
    const size_t rank = pgy_tensor_rank(t);
    *rows = rank >= 2 ? pgy_tensor_shape(t)[rank - 2] : 1;
    *columns = rank >= 1 ? pgy_tensor_shape(t)[rank - 1] : 1;
}

/* Cuts the piece to the plane, and gives the place of its first row in the tensor. */
static pgy_status place(int64_t *first, value_piece *piece, const pgy_tensor *t, pgy_error *err)
{
    const size_t rank = pgy_tensor_rank(t), outer = rank > 2 ? rank - 2 : 0;
    int64_t rows, columns, at = 0;
    plane_size(t, &rows, &columns);
    if (piece->at_count != outer)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'at' has %zu indices; expected %zu",
                             piece->at_count, outer);
    for (size_t i = 0; i < outer; i++) {
        if (piece->at[i] < 0 || piece->at[i] >= pgy_tensor_shape(t)[i])
            return pgy_error_set(err, PGY_E_ARGUMENT, "index %zu of 'at' is not in [0, %lld)", i,
                                 (long long)pgy_tensor_shape(t)[i]);
        at = at * pgy_tensor_shape(t)[i] + piece->at[i];
    }
    if (piece->row >= rows || piece->column >= columns || piece->rows < 1 || piece->columns < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the piece is outside the plane of %lldx%lld",
                             (long long)rows, (long long)columns);
    if (piece->rows > rows - piece->row) piece->rows = rows - piece->row;
    if (piece->columns > columns - piece->column) piece->columns = columns - piece->column;
    if (piece->columns > PIECE_LIMIT || piece->rows > PIECE_LIMIT / piece->columns)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the piece has more than %d numbers",
                             PIECE_LIMIT);
    *first = (at * rows + piece->row) * columns;
    return PGY_OK;
}

/* Converts `count` elements from `first` on. Elements under 8 bits do not begin at bytes, so their
 * tensors are converted whole. */
static pgy_status convert(pgy_tensor **out, size_t *skipped, const pgy_tensor *t, int64_t first,
                          int64_t count, pgy_error *err)
{
    pgy_view v = pgy_tensor_view(t);
    size_t bytes = 0;
    *skipped = 0;
    if (v.dtype == PGY_STRING)
        return pgy_error_set(err, PGY_E_TYPE, "the tensor has texts, not numbers");
    if (pgy_dtype_describe(v.dtype)->bits < 8) {
        if (pgy_view_count(v) > WHOLE_CAST_LIMIT)
            return pgy_error_set(err, PGY_E_UNSUPPORTED, "the tensor is too large to be shown");
        *skipped = (size_t)first;
        return pgy_tensor_cast(out, v, PGY_F64, err);
    }
    pgy_status st = pgy_dtype_size_bytes(&bytes, v.dtype, (size_t)first, err);
    if (st) return st;
    pgy_view part = pgy_view_of((char *)v.data + v.byte_offset + bytes, v.dtype, 1, &count);
    return pgy_tensor_cast(out, part, PGY_F64, err);
}

static void write_piece(json_writer *w, const pgy_tensor *t, const value_piece *p,
                        const double *rows, int64_t width)
{
    json_begin_object(w);
    json_put_ints(w, "shape", pgy_tensor_shape(t), pgy_tensor_rank(t));
    json_put_ints(w, "at", p->at, p->at_count);
    json_put_int(w, "row", p->row);
    json_put_int(w, "column", p->column);
    json_put_int(w, "rows", p->rows);
    json_put_int(w, "columns", p->columns);
    json_key(w, "values");
    json_begin_array(w);
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t k = 0; k < p->columns; k++) json_real(w, rows[i * width + p->column + k]);
    json_end_array(w);
    json_end_object(w);
}

pgy_status page_values_write(str *out, const pgy_tensor *t, value_piece piece, pgy_error *err)
{
    int64_t first = 0, height, width;
    pgy_tensor *numbers = NULL;
    json_writer *w = NULL;
    size_t skipped = 0;
    pgy_status st = place(&first, &piece, t, err);
    if (st) return st;
    plane_size(t, &height, &width);
    st = convert(&numbers, &skipped, t, first, piece.rows * width, err);
    if (!st) st = json_writer_create_str(&w, out, err);
    if (!st) {
        json_for_html(w);
        write_piece(w, t, &piece, (const double *)pgy_tensor_data(numbers) + skipped, width);
        st = json_writer_finish(w, err);
    }
    json_writer_destroy(w);
    pgy_tensor_release(numbers);
    return st;
}
