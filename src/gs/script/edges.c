/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs on edges and tensors: inputs and outputs of nodes, declarations, types, values. */
#include <string.h>

#include "gs/script/script.h"

/* ---- Slots ----------------------------------------------------------------------------------- */

typedef struct slot_args {
    pgy_gs_node *node;
    size_t slot;
    pgy_gs_tensor *tensor;
} slot_args;

static pgy_status read_slot(slot_args *out, pgy_gs_script *s, const call *c, bool with_tensor,
                            pgy_error *err)
{
    int64_t slot;
    const piece *tensor = call_get(c, "tensor");
    pgy_status st = ref_node_arg(&out->node, s, c, "node", err);
    if (!st) st = call_int(&slot, c, "slot", 0, INT32_MAX, 0, err);
    if (!st && with_tensor) st = ref_tensor(&out->tensor, s, *tensor, out->node, c->memory, err);
    if (!st) out->slot = (size_t)slot;
    return st;
}

pgy_status verb_set_input(pgy_gs_script *s, const call *c, pgy_error *err)
{
    slot_args x;
    const pgy_status st = read_slot(&x, s, c, true, err);
    return st ? st : pgy_gs_set_input(x.node, x.slot, x.tensor, err);
}

pgy_status verb_set_output(pgy_gs_script *s, const call *c, pgy_error *err)
{
    slot_args x;
    const pgy_status st = read_slot(&x, s, c, true, err);
    return st ? st : pgy_gs_set_output(x.node, x.slot, x.tensor, err);
}

pgy_status verb_insert_input(pgy_gs_script *s, const call *c, pgy_error *err)
{
    slot_args x;
    const pgy_status st = read_slot(&x, s, c, true, err);
    return st ? st : pgy_gs_insert_input(x.node, x.slot, x.tensor, err);
}

pgy_status verb_remove_input(pgy_gs_script *s, const call *c, pgy_error *err)
{
    slot_args x;
    const pgy_status st = read_slot(&x, s, c, false, err);
    return st ? st : pgy_gs_remove_input(x.node, x.slot, err);
}

pgy_status verb_remove_output(pgy_gs_script *s, const call *c, pgy_error *err)
{
    slot_args x;
    const pgy_status st = read_slot(&x, s, c, false, err);
    return st ? st : pgy_gs_remove_output(x.node, x.slot, err);
}

static pgy_status read_slots(pgy_gs_node **n, tensor_refs *out, pgy_gs_script *s, const call *c,
                             pgy_error *err)
{
    const pgy_status st = ref_node_arg(n, s, c, "node", err);
    return st ? st : ref_tensors(out, s, *call_get(c, "tensors"), *n, c->memory, err);
}

pgy_status verb_set_inputs(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n;
    tensor_refs list;
    const pgy_status st = read_slots(&n, &list, s, c, err);
    return st ? st : pgy_gs_set_inputs(n, list.items, list.count, err);
}

pgy_status verb_set_outputs(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n;
    tensor_refs list;
    const pgy_status st = read_slots(&n, &list, s, c, err);
    return st ? st : pgy_gs_set_outputs(n, list.items, list.count, err);
}

pgy_status verb_replace_uses(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_tensor *from, *to;
    pgy_status st = ref_tensor_arg(&from, s, c, "tensor", err);
    if (!st) st = ref_tensor_arg(&to, s, c, "other", err);
    return st ? st : pgy_gs_replace_uses(from, to, err);
}

/* ---- Declarations ---------------------------------------------------------------------------- */

static pgy_status check_free(const pgy_gs_script *s, const char *name, pgy_error *err)
{
    if (!*name) return pgy_error_set(err, PGY_E_ARGUMENT, "a tensor needs a name");
    if (ref_find_tensor(s, name))
        return pgy_error_set(err, PGY_E_ARGUMENT, "a tensor '%s' already exists", name);
    return PGY_OK;
}

pgy_status verb_variable(pgy_gs_script *s, const call *c, pgy_error *err)
{
    const piece *p = call_get(c, "type");
    type_spec type = {.rank = -1};
    pgy_gs_tensor *made;
    pgy_status st = check_free(s, call_text(c, "name"), err);
    if (!st && p) st = value_type(&type, *p, c->memory, err);
    if (!st)
        st =
            pgy_gs_variable(&made, s->current, call_text(c, "name"), PGY_DTYPE_NONE, -1, NULL, err);
    if (!st && p) st = value_apply_type(made, &type, err);
    return st ? st : gs_list_push(&s->declared, made, err);
}

pgy_status verb_constant(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_tensor *made;
    pgy_tensor *values = NULL;
    bool plain;
    pgy_status st = check_free(s, call_text(c, "name"), err);
    if (!st) st = value_tensor(&values, &plain, *call_get(c, "values"), c->memory, err);
    if (!st) st = pgy_gs_constant(&made, s->current, call_text(c, "name"), values, err);
    pgy_tensor_release(values);
    return st ? st : gs_list_push(&s->declared, made, err);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

pgy_status verb_rename(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_tensor *t;
    const char *name = call_text(c, "name");
    pgy_status st = ref_tensor_arg(&t, s, c, "tensor", err);
    if (st || strcmp(t->name, name) == 0) return st;
    st = check_free(s, name, err);
    return st ? st : pgy_gs_rename(t, name, err);
}

pgy_status verb_set_type(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_tensor *t;
    type_spec type;
    pgy_status st = ref_tensor_arg(&t, s, c, "tensor", err);
    if (!st) st = value_type(&type, *call_get(c, "type"), c->memory, err);
    if (st) return st;
    if (!type.has_shape && !type.depth) {
        type.rank = t->rank;
        type.dims = (pgy_dim *)t->dims;
    }
    if (!type.dtype) type.dtype = t->dtype;
    return value_apply_type(t, &type, err);
}

pgy_status verb_to_constant(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_tensor *t;
    pgy_tensor *values = NULL;
    bool plain;
    pgy_status st = ref_tensor_arg(&t, s, c, "tensor", err);
    if (!st && pgy_gs_is_omitted(t))
        st = pgy_error_set(err, PGY_E_ARGUMENT, "an omitted slot cannot become a weight");
    if (!st) st = value_tensor(&values, &plain, *call_get(c, "values"), c->memory, err);
    if (!st) st = pgy_gs_to_constant(t, values, err);
    pgy_tensor_release(values);
    return st;
}

pgy_status verb_to_variable(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_tensor *t;
    const piece *p = call_get(c, "type");
    type_spec type = {.rank = -1};
    pgy_status st = ref_tensor_arg(&t, s, c, "tensor", err);
    if (!st && p) st = value_type(&type, *p, c->memory, err);
    if (!st && type.depth)
        st = pgy_error_set(err, PGY_E_TYPE,
                           "a weight can only become a tensor, not a sequence or optional");
    return st ? st : pgy_gs_to_variable(t, type.dtype, type.rank, type.dims, err);
}
