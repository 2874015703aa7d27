/* SPDX-License-Identifier: Apache-2.0 */
/* Strips weights. A weight is found from its reader: one of a few operators, directly or through a
 * Q/DQ pair or a Transpose that only such an operator reads. The rules are those of the original,
 * so that both programs strip the same weights. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sized.h"
#include "graph/graph.h"
#include "ops/signature.h"
#include "transform/weights.h"

static const char LOG_PATH[] = "transform/weights_strip.c";
static const char ORIGINAL_PATH[] = "tools/surgeon/subtool/weight_strip.py";

/* ---- Which nodes ---------------------------------------------------------------------------- */

/* Operators whose constant inputs are stripped, if they have a valid number of inputs. Bit i of
 * `behind`: input i may also come from a weight through a Transpose or Q/DQ. */
static const struct {
    const char *op;
    size_t min_inputs, max_inputs;
    unsigned behind;
    size_t threshold; /* weights with fewer elements are kept */
} READERS[] = {
    {"Conv", 2, 3, 1, 1},   {"ConvTranspose", 2, 3, 1, 1}, {"Gemm", 2, 3, 7, 1},
    {"MatMul", 2, 2, 3, 0}, {"Gather", 2, 2, 0, 1024},     {"Slice", 3, 5, 0, 1024},
};
enum { READER_COUNT = sizeof READERS / sizeof *READERS };

static size_t reader_index(const pgy_node *n)
{
    for (size_t i = 0; i < READER_COUNT; i++)
        if (!strcmp(READERS[i].op, n->op_type) && n->input_count >= READERS[i].min_inputs &&
            n->input_count <= READERS[i].max_inputs && n->output_count == 1)
            return i;
    return SIZE_MAX;
}

/* The only consumer of n's output; NULL: several, none, or the value is an output of the graph. */
static const pgy_node *sole_reader(const pgy_node *n)
{
    const pgy_value *v = n->output_count == 1 ? n->outputs[0] : NULL;
    if (!v || v->is_output || !v->consumer_count) return NULL;
    for (size_t i = 1; i < v->consumer_count; i++)
        if (v->consumers[i] != v->consumers[0]) return NULL;
    return v->consumers[0]->graph == n->graph ? v->consumers[0] : NULL;
}

static bool feeds_reader(const pgy_node *n)
{
    const pgy_node *to = sole_reader(n);
    const size_t reader = to ? reader_index(to) : SIZE_MAX;
    if (reader == SIZE_MAX) return false;
    for (size_t i = 0; i < to->input_count; i++)
        if (to->inputs[i] == n->outputs[0] && READERS[reader].behind >> i & 1) return true;
    return false;
}

static bool is_one(const pgy_node *n, const char *op, size_t min_inputs, size_t max_inputs)
{
    return !strcmp(n->op_type, op) && n->input_count >= min_inputs && n->input_count <= max_inputs;
}

static bool starts_quantised(const pgy_node *n)
{
    if (!is_one(n, "QuantizeLinear", 2, 3)) return false;
    const pgy_node *back = sole_reader(n);
    return back && is_one(back, "DequantizeLinear", 2, 3) && back->inputs[0] == n->outputs[0] &&
           feeds_reader(back);
}

static bool is_plugin(const pgy_node *n)
{
    return !op_signature_find("", n->op_type, INT64_MAX);
}

static bool is_stripped_node(const pgy_node *n)
{
    return reader_index(n) != SIZE_MAX || starts_quantised(n) ||
           (is_one(n, "Transpose", 1, 1) && feeds_reader(n)) || is_plugin(n);
}

static bool only_first_input(const pgy_node *n)
{
    return !strcmp(n->op_type, "QuantizeLinear") || !strcmp(n->op_type, "Slice");
}

static size_t threshold_of(const pgy_node *n)
{
    for (size_t i = 0; i < READER_COUNT; i++)
        if (!strcmp(READERS[i].op, n->op_type)) return READERS[i].threshold;
    return 0;
}

/* ---- Which weights -------------------------------------------------------------------------- */

typedef struct stripper {
    strmap chosen; /* names of weights to strip */
    strmap sparse;
    strmap exclude; /* names of weights to keep; non-NULL once such a weight was found */
} stripper;

static pgy_status visit_input(stripper *s, const pgy_node *n, const pgy_value *v, pgy_error *err)
{
    size_t count = 0;
    if (!v || !v->initializer || v->dtype == PGY_U8) return PGY_OK;
    strmap_entry *excluded = strmap_find(&s->exclude, v->name);
    if (excluded) {
        excluded->value = s;
        return PGY_OK;
    }
    const pgy_onnx_tensor *t = v->initializer;
    pgy_status st = pgy_shape_count(&count, t->dim_count, t->dims, err);
    if (st) return pgy_error_prefix(err, PGY_E_FORMAT, "weight '%s': ", v->name);
    if (count < threshold_of(n)) return PGY_OK;
    return strmap_put(&s->chosen, v->name, s) ? PGY_OK : graph_no_memory(err);
}

static pgy_status choose(stripper *s, const pgy_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        if (!is_stripped_node(n)) continue;
        const size_t count = only_first_input(n) && n->input_count ? 1 : n->input_count;
        for (size_t k = 0; !st && k < count; k++) st = visit_input(s, n, n->inputs[k], err);
    }
    return st;
}

static void warn_unknown(const stripper *s)
{
    str list = {0};
    for (size_t i = 0; i < s->exclude.count; i++)
        if (!s->exclude.entries[i].value)
            str_printf(&list, "%s'%s'", list.size ? ", " : "", s->exclude.entries[i].key);
    if (list.size)
        LOG(WARNING, "The exclude list has names of no weight that would be stripped: {%s}",
            str_text(&list));
    str_deinit(&list);
}

/* ---- Stripping ------------------------------------------------------------------------------ */

static pgy_status strip(weight_edit *e, size_t i, const stripper *s, pgy_error *err)
{
    const pgy_onnx_tensor *t = e->initializers[i];
    char doc[64];
    snprintf(doc, sizeof doc, "%s/%s", STRIPPED_MARK,
             strmap_has(&s->sparse, t->name) ? "SPARSE_2_4" : "");
    LOG_ORIGINAL(VERBOSE, "Stripping initializer %s", t->name);
    pgy_onnx_tensor *empty = NULL;
    pgy_status st = pgy_model_empty_tensor(&empty, e->model, t, err);
    if (st) return st;
    e->initializers[i] = weight_with_doc(e->model, empty, doc);
    return e->initializers[i] ? PGY_OK : graph_no_memory(err);
}

static pgy_status strip_all(size_t *stripped, weight_edit *e, const stripper *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *stripped = 0;
    for (size_t i = 0; !st && i < e->from->graph->initializer_count; i++) {
        const pgy_onnx_tensor *t = e->initializers[i];
        if (weight_is_stripped(t) || !strmap_has(&s->chosen, t->name)) continue;
        st = strip(e, i, s, err);
        ++*stripped;
    }
    return st;
}

/* Finishes the model; its doc string gets the mark appended. */
static pgy_status finish(pgy_model **out, weight_edit *e, size_t stripped, pgy_error *err)
{
    str doc = {0};
    const char *own = e->from->doc_string;
    str_printf(&doc, "%s%s%s", own, *own ? "-" : "", STRIPPED_MARK);
    const weight_edit_texts texts = {
        .doc_string = stripped && !strstr(own, STRIPPED_MARK) ? str_text(&doc) : NULL};
    const pgy_status st =
        doc.failed ? graph_no_memory(err) : weight_edit_finish(out, e, &texts, err);
    str_deinit(&doc);
    return st;
}

static pgy_status read_exclude(stripper *s, const pgy_strip_options *o, pgy_error *err)
{
    for (size_t i = 0; i < o->exclude_count; i++)
        if (!strmap_put(&s->exclude, o->exclude[i], NULL)) return graph_no_memory(err);
    return PGY_OK;
}

pgy_status pgy_model_strip_weights(pgy_model **out, size_t *stripped, pgy_model *m,
                                   const pgy_strip_options *options, pgy_error *err)
{
    stripper s = {0};
    weight_edit e = {0};
    pgy_graph *graph = NULL;
    size_t count = 0;
    pgy_strip_options o = {.size = sizeof o};
    if (!out || !m) return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'm' must not be NULL");
    pgy_status st = SIZED_TAKE(pgy_strip_options, &o, options, err);
    if (st) return st;
    LOG_ORIGINAL(START, "Beginning weight stripping...");
    LOG(WARNING, "Stripping finds weights among initializers only: fold constants first, so that "
                 "all weights are there");
    st = read_exclude(&s, &o, err);
    if (!st) st = pgy_graph_import(&graph, m, err);
    if (!st) LOG_ORIGINAL(INFO, "Querying Sparse Initializers in the model");
    if (!st) st = sparse_weights_check(&s.sparse, graph, err);
    if (!st) st = choose(&s, graph, err);
    if (!st) st = weight_edit_init(&e, m, err);
    if (!st) st = strip_all(&count, &e, &s, err);
    if (!st) warn_unknown(&s);
    if (!st) st = finish(out, &e, count, err);
    if (!st) LOG_ORIGINAL(FINISH, "Finished stripping %zu weights", count);
    if (!st && stripped) *stripped = count;
    weight_edit_deinit(&e);
    pgy_graph_destroy(graph);
    strmap_deinit(&s.chosen);
    strmap_deinit(&s.sparse);
    strmap_deinit(&s.exclude);
    return st;
}
