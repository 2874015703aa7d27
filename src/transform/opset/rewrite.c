/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a node for an adapter and changes it in place: attributes, inputs, outputs. New messages
 * live in the graph's model, which exported models keep alive. */
#include "transform/opset/rewrite.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CONSTANT = 1 << 16 };

void rw_refuse(rewrite *r, const char *format, ...)
{
    char text[sizeof r->err->text];
    if (r->status) return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->status = pgy_error_set(r->err, PGY_E_UNSUPPORTED, "%s", text);
}

void rw_no_memory(rewrite *r)
{
    if (!r->status) r->status = graph_no_memory(r->err);
}

void rw_note_rewritten(rewrite *r, const pgy_node *n)
{
    node_origin **entry = r->origins ? node_origins_at(r->origins, node_id(n)) : NULL;
    if (r->origins && !entry) rw_no_memory(r);
    if (!entry) return;
    if (!*entry) *entry = node_origins_get(r->origins, node_id(r->node)); /* n is a new node */
    if (*entry) (*entry)->rewritten = true;
}

/* ---- Reading -------------------------------------------------------------------------------- */

pgy_value *rw_input(const rewrite *r, size_t i)
{
    return i < r->node->input_count ? r->node->inputs[i] : NULL;
}

bool rw_wants(const rewrite *r, size_t i)
{
    const pgy_value *v = i < r->node->output_count ? r->node->outputs[i] : NULL;
    return v && (v->consumer_count || v->is_output);
}

pgy_dtype rw_dtype(const pgy_value *v)
{
    return v ? box_of((pgy_value *)v)->known.dtype : PGY_DTYPE_NONE;
}

int32_t rw_rank(const pgy_value *v)
{
    return v ? box_of((pgy_value *)v)->known.rank : -1;
}

int64_t rw_size(const pgy_value *v, int32_t axis)
{
    const int32_t rank = rw_rank(v);
    const op_value *known = v ? &box_of((pgy_value *)v)->known : NULL;
    if (axis < 0) axis += rank;
    if (rank < 0 || axis < 0 || axis >= rank || !dim_is_const(known->dims[axis])) return -1;
    return known->dims[axis].value;
}

const pgy_onnx_attribute *rw_attr(rewrite *r, const char *name)
{
    const pgy_onnx_attribute *a = node_attribute(r->node, name);
    if (a && a->ref_attr_name && *a->ref_attr_name) {
        rw_refuse(
            r, "attribute '%s' refers to parameter '%s' of the function, so its value is unknown",
            name, a->ref_attr_name);
        return NULL;
    }
    return a;
}

int64_t rw_int(rewrite *r, const char *name, int64_t fallback)
{
    const pgy_onnx_attribute *a = rw_attr(r, name);
    return a ? a->i : fallback;
}

float rw_float(rewrite *r, const char *name, float fallback)
{
    const pgy_onnx_attribute *a = rw_attr(r, name);
    return a ? a->f : fallback;
}

bool rw_is(rewrite *r, const char *name, const char *text, const char *fallback)
{
    const pgy_onnx_attribute *a = rw_attr(r, name);
    if (!a) return strcmp(fallback, text) == 0;
    return span_equals((span){a->s.data ? a->s.data : "", a->s.size}, text);
}

const int64_t *rw_ints(rewrite *r, const char *name, size_t *count)
{
    static const int64_t none[1] = {0};
    const pgy_onnx_attribute *a = rw_attr(r, name);
    *count = a ? a->int_count : 0;
    if (!a) return NULL;
    return a->int_count ? a->ints : none;
}

/* A weight that the caller may replace is not constant. Before IR 4 every weight was declared as an
 * input, so that alone does not count. */
static bool is_fixed(const rewrite *r, const pgy_value *v)
{
    if (!v->initializer && !v->sparse) return v->producer && node_is(v->producer, "Constant");
    return !v->is_input || pgy_model_proto(r->graph->model)->ir_version < 4;
}

static const pgy_tensor *stored_constant(rewrite *r, pgy_value *v)
{
    pgy_tensor *stored = NULL, *value = NULL;
    size_t count = 0;
    if (!is_fixed(r, v)) return NULL;
    if (v->initializer && v->rank >= 0) {
        int64_t shape[PGY_MAX_RANK];
        for (int32_t i = 0; i < v->rank; i++) shape[i] = v->dims[i].value;
        if (pgy_shape_count(&count, (size_t)v->rank, shape, NULL) || count > MAX_CONSTANT)
            return NULL;
    }
    if (pgy_graph_value_data(&stored, v, NULL)) return NULL;
    pgy_status st = op_to_storage(&value, stored, r->err);
    pgy_tensor_release(stored);
    if (!st) st = state_keep_tensor(state_of(r->graph), value, r->err);
    if (!st) return value;
    if (!r->status) r->status = st;
    return NULL;
}

const pgy_tensor *rw_constant(rewrite *r, size_t i)
{
    pgy_value *v = rw_input(r, i);
    if (r->status || !v) return NULL;
    const bool stored =
        v->initializer || v->sparse || (v->producer && node_is(v->producer, "Constant"));
    return stored ? stored_constant(r, v) : box_of(v)->known.data;
}

const int64_t *rw_constant_ints(rewrite *r, size_t i, size_t *count)
{
    const pgy_tensor *t = rw_constant(r, i);
    *count = 0;
    if (t && pgy_tensor_dtype(t) == PGY_I64) {
        *count = pgy_tensor_count(t);
        return op_i64(t);
    }
    if (rw_input(r, i))
        rw_refuse(r, "input %zu '%s' is not constant, but in opset %lld it is an attribute", i,
                  rw_input(r, i)->name, (long long)r->version);
    return NULL;
}

/* ---- Attributes ----------------------------------------------------------------------------- */

static void touch(rewrite *r, pgy_node *n)
{
    node_box *box = node_box_of(n);
    box->changed = true;
    box->prepared = false;
    rw_note_rewritten(r, n);
    graph_mark_changed(r->graph);
}

static void replace(rewrite *r, pgy_node *n, const char *name, const pgy_onnx_attribute *a)
{
    r->status = node_replace_attribute(n, name, a, r->err);
    if (!r->status) rw_note_rewritten(r, n);
}

void rw_drop(rewrite *r, const char *name)
{
    if (!r->status && node_attribute(r->node, name)) replace(r, r->node, name, NULL);
}

static void *keep(rewrite *r, const void *data, size_t count, size_t item_bytes)
{
    void *copy = pgy_model_alloc(r->graph->model, count ? count : 1, item_bytes);
    if (!copy) rw_no_memory(r);
    if (copy && count) memcpy(copy, data, count * item_bytes);
    return copy;
}

static void put(rewrite *r, pgy_node *n, const char *name, pgy_onnx_attribute value)
{
    if (r->status || !n) return;
    pgy_model *m = r->graph->model;
    const char *kept = pgy_model_strdup(m, name);
    const pgy_onnx_attribute *a = kept ? attribute_create(m, kept, &value) : NULL;
    if (a)
        replace(r, n, name, a);
    else
        rw_no_memory(r);
}

void rw_set_int(rewrite *r, pgy_node *n, const char *name, int64_t value)
{
    put(r, n, name, (pgy_onnx_attribute){.type = PGY_ATTR_INT, .i = value});
}

void rw_set_float(rewrite *r, pgy_node *n, const char *name, float value)
{
    put(r, n, name, (pgy_onnx_attribute){.type = PGY_ATTR_FLOAT, .f = value});
}

void rw_set_ints(rewrite *r, pgy_node *n, const char *name, const int64_t *values, size_t count)
{
    if (r->status) return;
    put(r, n, name,
        (pgy_onnx_attribute){.type = PGY_ATTR_INTS,
                             .ints = keep(r, values, count, sizeof *values),
                             .int_count = count});
}

void rw_set_floats(rewrite *r, pgy_node *n, const char *name, const float *values, size_t count)
{
    if (r->status) return;
    put(r, n, name,
        (pgy_onnx_attribute){.type = PGY_ATTR_FLOATS,
                             .floats = keep(r, values, count, sizeof *values),
                             .float_count = count});
}

void rw_set_string(rewrite *r, pgy_node *n, const char *name, const char *text)
{
    if (r->status) return;
    const char *copy = keep(r, text, strlen(text), 1);
    put(r, n, name,
        (pgy_onnx_attribute){.type = PGY_ATTR_STRING, .s = {.data = copy, .size = strlen(text)}});
}

void rw_set_strings(rewrite *r, pgy_node *n, const char *name, const pgy_bytes *values,
                    size_t count)
{
    if (r->status) return;
    put(r, n, name,
        (pgy_onnx_attribute){.type = PGY_ATTR_STRINGS,
                             .strings = keep(r, values, count, sizeof *values),
                             .string_count = count});
}

void rw_set_tensor(rewrite *r, pgy_node *n, const char *name, pgy_tensor *t)
{
    pgy_onnx_tensor *made = NULL;
    if (r->status) return;
    r->status = pgy_model_tensor(&made, r->graph->model, "", t, r->err);
    put(r, n, name, (pgy_onnx_attribute){.type = PGY_ATTR_TENSOR, .t = made});
}

void rw_set_parameter(rewrite *r, pgy_node *n, const char *name, const pgy_onnx_attribute *from)
{
    put(r, n, name,
        (pgy_onnx_attribute){.type = pgy_onnx_attribute_kind(from),
                             .ref_attr_name = from->ref_attr_name});
}

/* ---- Inputs and outputs --------------------------------------------------------------------- */

void rw_set_input(rewrite *r, size_t i, pgy_value *v)
{
    pgy_node *n = r->node;
    if (r->status) return;
    if (i >= n->input_count) {
        pgy_value **list =
            arena_alloc_array(&state_of(r->graph)->memory, i + 1, sizeof *list); /* zeroed */
        if (!list) {
            rw_no_memory(r);
            return;
        }
        if (n->input_count) memcpy(list, n->inputs, n->input_count * sizeof *list);
        n->inputs = list;
        n->input_count = i + 1;
    }
    r->status = node_set_input(n, i, v, r->err);
    touch(r, n);
}

void rw_cut_inputs(rewrite *r, size_t count)
{
    pgy_node *n = r->node;
    if (r->status || n->input_count <= count) return;
    for (size_t i = count; i < n->input_count; i++)
        if (n->inputs[i]) value_remove_consumer(n->inputs[i], n);
    n->input_count = count;
    touch(r, n);
}

void rw_cut_outputs(rewrite *r, size_t count)
{
    pgy_node *n = r->node;
    if (r->status || n->output_count <= count) return;
    for (size_t i = count; i < n->output_count; i++)
        if (n->outputs[i]) n->outputs[i]->producer = NULL;
    n->output_count = count;
    touch(r, n);
}

void rw_rename(rewrite *r, const char *op_type)
{
    if (r->status) return;
    r->node->op_type = op_type;
    touch(r, r->node);
}

void rw_become(rewrite *r, const char *op_type, size_t count, ...)
{
    pgy_node *n = r->node;
    va_list args;
    if (r->status) return;
    rw_cut_inputs(r, 0);
    va_start(args, count);
    for (size_t i = 0; i < count; i++) rw_set_input(r, i, va_arg(args, pgy_value *));
    va_end(args);
    n->attribute_count = 0;
    rw_rename(r, op_type);
}

pgy_value *rw_detach(rewrite *r, size_t i)
{
    char stem[256];
    if (r->status) return NULL;
    pgy_value *old = i < r->node->output_count ? r->node->outputs[i] : NULL;
    if (!old) {
        rw_refuse(r, "output %zu is omitted", i);
        return NULL;
    }
    snprintf(stem, sizeof stem, "%s_%s", old->name, r->node->op_type);
    pgy_value *fresh = value_create_unique(r->graph, stem, r->err);
    if (!fresh) {
        r->status = PGY_E_MEMORY;
        return NULL;
    }
    box_of(fresh)->known.dtype = rw_dtype(old);
    old->producer = NULL;
    node_set_output(r->node, i, fresh);
    touch(r, r->node);
    return old;
}
