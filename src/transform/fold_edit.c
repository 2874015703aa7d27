/* SPDX-License-Identifier: Apache-2.0 */
/* The edits of folding: they redirect uses, remove nodes, and turn values into weights. New
 * messages live in the graph's model, because exported models outlive the graph. */
#include <string.h>

#include "base/alloc.h"
#include "onnx/elements.h"
#include "onnx/model.h"
#include "tensor/tensor.h"
#include "transform/fold.h"

/* ---- Constants ------------------------------------------------------------------------------ */

bool fold_is_constant(const folder *f, const pgy_value *v)
{
    if (v->initializer || v->sparse) return !v->is_input || f->weak_names;
    return v->producer && level_of(v->graph)->is_function && fold_is_constant_node(f, v->producer);
}

bool fold_is_constant_node(const folder *f, const pgy_node *n)
{
    if (!node_is(n, "Constant") || n->input_count || n->output_count != 1 || !n->outputs[0] ||
        n->attribute_count != 1 || node_box_of(n)->function || fold_refusal(f, n))
        return false;
    const char *refers = n->attributes[0]->ref_attr_name;
    return !refers || !*refers;
}

pgy_status fold_constant(pgy_tensor **out, const folder *f, pgy_value *v, pgy_error *err)
{
    *out = NULL;
    return v && fold_is_constant(f, v) ? pgy_graph_value_data(out, v, err) : PGY_OK;
}

bool fold_ints(folder *f, pgy_value *v, const int64_t **out, size_t *count)
{
    pgy_tensor *stored = NULL, *wide = NULL;
    int64_t *values = NULL;
    if (!v || v->rank > 1 || !pgy_dtype_is_integer(v->dtype) || v->dtype == PGY_U64) return false;
    if (fold_constant(&stored, f, v, NULL) == PGY_OK && stored &&
        op_to_storage(&wide, stored, NULL) == PGY_OK) {
        *count = pgy_tensor_count(wide);
        values = arena_alloc_array(&f->memory, *count + 1, sizeof *values);
        if (values && *count) memcpy(values, op_i64(wide), *count * sizeof *values);
        *out = values;
    }
    pgy_tensor_release(wide);
    pgy_tensor_release(stored);
    return values != NULL;
}

const op_value *fold_known(const pgy_value *v)
{
    static const op_value nothing = {.rank = -1};
    return level_of(v->graph)->is_function ? &nothing : &box_of((pgy_value *)v)->known;
}

void fold_release(pgy_tensor *t, pgy_model *m)
{
    enum { LARGE = 1 << 16 };
    const size_t bytes = pgy_tensor_size_bytes(t);
    size_t offset;
    const file_map *map =
        bytes >= LARGE ? model_find_map(m, pgy_tensor_data(t), bytes, &offset) : NULL;
    if (map) file_map_forget(map, offset, bytes);
    pgy_tensor_release(t);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

void fold_drop_node(folder *f, pgy_node *n)
{
    node_unlink(n);
    f->changes++;
}

pgy_status fold_bypass(folder *f, pgy_node *n, size_t input, bool *done, pgy_error *err)
{
    pgy_value *x = n->inputs[input], *y = n->outputs[0];
    pgy_status st;
    *done = false;
    if (!x || !y || x->kind != y->kind) return PGY_OK;
    for (size_t i = 1; i < n->output_count; i++)
        if (n->outputs[i] && (n->outputs[i]->is_output || n->outputs[i]->consumer_count))
            return PGY_OK;
    if (!y->is_output) {
        st = value_replace_uses(y, x, err);
        if (!st) fold_drop_node(f, n);
    } else if (x->producer && x->graph == n->graph && !x->is_output) {
        fold_drop_node(f, n);
        st = value_take_over(x, y, err);
    } else {
        return PGY_OK;
    }
    *done = !st;
    return st;
}

static bool is_among(const pgy_value *v, pgy_value *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == v) return true;
    return false;
}

pgy_status fold_rewrite(folder *f, pgy_node *n, const char *op_type, pgy_value *const *inputs,
                        size_t input_count, const pgy_onnx_attribute *attribute, pgy_error *err)
{
    arena *memory = &f->state->memory;
    node_box *box = node_box_of(n);
    pgy_value **ins = arena_alloc_array(memory, input_count, sizeof *ins);
    const pgy_onnx_attribute **attributes = arena_alloc(memory, sizeof *attributes);
    if (!ins || !attributes) return graph_no_memory(err);
    memcpy(ins, inputs, input_count * sizeof *ins);
    for (size_t i = 0; i < input_count; i++) {
        const pgy_status st = ins[i] ? value_add_consumer(ins[i], n, err) : PGY_OK;
        if (st) return st;
    }
    for (size_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] && is_among(n->inputs[i], ins, input_count))
            value_remove_consumer(n->inputs[i], n);
        else if (n->inputs[i])
            value_drop_consumer(n->inputs[i], n);
    }
    attributes[0] = attribute;
    n->op_type = op_type;
    n->domain = n->overload = "";
    n->inputs = ins;
    n->input_count = input_count;
    n->attributes = attributes;
    n->attribute_count = attribute != NULL;
    box->changed = true;
    box->prepared = box->has_refs = false;
    graph_mark_changed(n->graph);
    f->changes++;
    return node_prepare(n, err);
}
