/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the nodes that stay float32 when others become 16-bit. */
#include <stdlib.h>
#include <string.h>

#include "graph/half.h"
#include "ops/signature.h"

/* ---- Nodes that stay ------------------------------------------------------------------------ */

/* Operators that stay float32, as in onnxconverter-common: their sizes, indices or ranges need the
 * precision, or runtimes lack a float16 version. */
static const char *const KEPT[] = {
    "CumSum", "Max",      "Min",  "NonMaxSuppression", "RandomUniformLike", "Range",
    "Resize", "RoiAlign", "TopK", "Upsample",
};

/* Does an entry of options->keep match n by its name, by a wildcard or by its operator? */
bool half_is_named(const halver *h, const pgy_node *n)
{
    bool found = false;
    for (size_t i = 0; i < h->options->keep_count; i++) {
        const char *word = h->options->keep[i];
        if (strcmp(word, n->op_type) != 0 && !str_match_wildcard(word, n->name)) continue;
        h->used[i] = found = true;
    }
    return found;
}

static bool allows(const op_signature *s, const op_parameter *p, const pgy_value *v, int64_t type)
{
    if (v && (v->kind != PGY_VALUE_TENSOR || box_of((pgy_value *)v)->known.sequence))
        return false; /* sequences are not converted */
    return !p || !v || v->dtype != PGY_F32 || (op_parameter_set(s, p)->tensors >> type & 1);
}

/* Does the operator accept the 16-bit type in the node's opset? */
static bool has_narrow(const halver *h, const pgy_node *n)
{
    const op_signature *s = node_box_of(n)->signature;
    for (size_t i = 0; s && i < n->input_count; i++)
        if (!allows(s, op_signature_input(s, i), n->inputs[i], h->type->onnx)) return false;
    for (size_t i = 0; s && i < n->output_count; i++)
        if (!allows(s, op_signature_output(s, i), n->outputs[i], h->type->onnx)) return false;
    return true;
}

static bool has_float32(pgy_value *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] && values[i]->dtype == PGY_F32) return true;
    return false;
}

bool half_is_type_attribute(const char *name)
{
    static const char *const NAMES[] = {"to", "dtype", "output_dtype", "output_datatype"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(name, NAMES[i]) == 0) return true;
    return false;
}

/* The attributes that n will have after the conversion, including defaults that set a type. */
static op_attr *foresee_attributes(size_t *count, const halver *h, const pgy_node *n, arena *memory)
{
    const node_box *box = node_box_of(n);
    const op_attr_def *d = box->def->attrs;
    size_t room = box->attr_count;
    for (const op_attr_def *a = d; a && a->name; a++) room++;
    op_attr *attrs = arena_alloc_array(memory, room + 1, sizeof *attrs);
    if (!attrs) return NULL;
    if (box->attr_count) memcpy(attrs, box->attrs, box->attr_count * sizeof *attrs);
    *count = box->attr_count;
    for (; d && d->name; d++)
        if (d->kind == OP_ATTR_INT && d->fallback && half_is_type_attribute(d->name) &&
            !node_attribute(n, d->name))
            attrs[(*count)++] = (op_attr){
                .name = d->name, .kind = OP_ATTR_INT, .i = strtoll(d->fallback, NULL, 10)};
    for (size_t i = 0; i < *count; i++) {
        op_attr *a = &attrs[i];
        if (a->kind == OP_ATTR_INT && a->i == HALF_ONNX_FLOAT && half_is_type_attribute(a->name))
            a->i = h->type->onnx;
        if (a->kind == OP_ATTR_TENSOR && a->tensor_dtype == PGY_F32)
            a->tensor_dtype = h->type->dtype;
    }
    return attrs;
}

/* Does the operator's type rule accept 16-bit inputs and give 16-bit outputs? If not (a mean that
 * is always float32, bits read as float32), the node stays float32. */
static pgy_status follows(bool *out, const halver *h, pgy_node *n, pgy_error *err)
{
    arena memory = {0};
    pgy_error refused = {0};
    size_t count = 0;
    *out = true;
    /* Constant and ConstantOfShape need no test: half_data.c converts their tensors. */
    if (n->subgraph_count || !node_box_of(n)->def || node_is(n, "Constant") ||
        node_is(n, "ConstantOfShape") ||
        (!has_float32(n->inputs, n->input_count) && !has_float32(n->outputs, n->output_count)))
        return PGY_OK;
    op_attr *attrs = foresee_attributes(&count, h, n, &memory);
    pgy_dtype *types = arena_alloc_array(&memory, n->output_count + 1, sizeof *types);
    pgy_status st = attrs && types ? PGY_OK : graph_no_memory(err);
    if (st) goto done;
    const node_types wanted = {
        .attrs = attrs, .attr_count = count, .from = PGY_F32, .to = h->type->dtype};
    st = graph_foresee_types(types, n, &wanted, &refused);
    if (st == PGY_E_MEMORY) {
        st = graph_no_memory(err);
        goto done;
    }
    *out = st == PGY_OK;
    st = PGY_OK;
    for (size_t i = 0; *out && i < n->output_count; i++)
        if (n->outputs[i] && n->outputs[i]->dtype == PGY_F32) *out = types[i] != PGY_F32;
done:
    arena_deinit(&memory);
    return st;
}

static bool computes_size(const halver *h, const pgy_node *n)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && id_marks_get(h->sizes, value_id(n->outputs[i]))) return true;
    return false;
}

static pgy_status stays(bool *out, const halver *h, pgy_node *n, pgy_error *err)
{
    bool narrow = true;
    *out = half_is_named(h, n) || strcmp(n->domain, "ai.onnx.ml") == 0;
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) *out |= node_is(n, KEPT[i]);
    *out |= node_box_of(n)->function || !has_narrow(h, n);
    *out |= graph_guard_keeps(h->guards, n, h->type->dtype) || computes_size(h, n);
    if (*out) return PGY_OK;
    const pgy_status st = follows(&narrow, h, n, err);
    *out = !narrow;
    return st;
}

pgy_status half_mark_wide(const halver *h, pgy_graph *g, bool inside, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        bool wide = false;
        st = node_prepare(n, err);
        if (!st) st = stays(&wide, h, n, err);
        wide |= inside;
        if (!st && wide && !id_marks_set(h->wide, node_id(n))) st = graph_no_memory(err);
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = half_mark_wide(h, n->subgraphs[k], wide, err);
    }
    return st;
}
