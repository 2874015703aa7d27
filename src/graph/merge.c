/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the type and shape that a rule computed for a value with those that the file declares. Per
 * dimension the more exact of the two is taken. If they contradict each other, the computed one is
 * taken with a warning; strict inference fails instead. */
#include <string.h>

#include "base/log.h"
#include "graph/graph.h"

static const char LOG_PATH[] = "graph/merge.c";

enum { MAX_SMALL_INTS = 4096, MAX_SMALL_FLOATS = 256 };

bool value_is_known(const op_value *v)
{
    if (v->sequence || v->map_key) return true;
    if (v->dtype == PGY_DTYPE_NONE || v->rank < 0) return false;
    for (int32_t i = 0; i < v->rank; i++)
        if (dim_has_unknown(v->dims[i])) return false;
    return true;
}

static pgy_status contradiction(const pgy_node *n, const pgy_value *v, pgy_status kind,
                                const char *computed, const char *declared,
                                const merge_rules *rules, pgy_error *err)
{
    if (rules->strict)
        return node_error(n, err, kind, "output '%s' is %s, but the model declares %s", v->name,
                          computed, declared);
    if (rules->findings)
        finding_add(rules->findings, state_of(v->graph),
                    kind == PGY_E_TYPE ? CHECK_DECLARED_TYPE : CHECK_DECLARED_SHAPE, n,
                    "Output '%s' is %s, but the model declares %s", v->name, computed, declared);
    else if (!rules->quiet)
        LOG(WARNING, "%s '%s': output '%s' is %s, but the model declares %s", n->op_type,
            node_label(n), v->name, computed, declared);
    return PGY_OK;
}

static pgy_status shape_contradiction(const pgy_node *n, const pgy_value *v,
                                      const op_value *computed, const op_value *declared,
                                      const merge_rules *rules, pgy_error *err)
{
    str a = {0}, b = {0};
    op_print_shape(&a, computed->rank, computed->dims);
    op_print_shape(&b, declared->rank, declared->dims);
    const pgy_status st = contradiction(n, v, PGY_E_SHAPE, str_text(&a), str_text(&b), rules, err);
    str_deinit(&a);
    str_deinit(&b);
    return st;
}

/* Does the declared dimension say more than the computed one? */
static bool declared_is_better(dim computed, dim declared)
{
    if (dim_is_const(computed)) return false;
    return dim_is_const(declared) || (dim_has_unknown(computed) && !dim_has_unknown(declared));
}

static pgy_status merge_dims(op_value *known, const pgy_node *n, pgy_value *v,
                             const op_value *declared, const merge_rules *rules, pgy_error *err)
{
    bool better = false;
    for (int32_t i = 0; i < known->rank; i++) {
        if (dim_differ(known->dims[i], declared->dims[i]))
            return shape_contradiction(n, v, known, declared, rules, err);
        better |= declared_is_better(known->dims[i], declared->dims[i]);
    }
    if (!better) return PGY_OK;
    dim *dims = arena_alloc_array(&state_of(v->graph)->memory, (size_t)known->rank, sizeof *dims);
    if (!dims) return graph_no_memory(err);
    for (int32_t i = 0; i < known->rank; i++)
        dims[i] = declared_is_better(known->dims[i], declared->dims[i]) ? declared->dims[i]
                                                                        : known->dims[i];
    known->dims = dims;
    return PGY_OK;
}

static pgy_status merge_shape(op_value *known, const pgy_node *n, pgy_value *v,
                              const op_value *declared, const merge_rules *rules, pgy_error *err)
{
    /* All calls share the body of a function, so a declared dimension there has no single meaning.
     */
    if (declared->rank < 0 || level_of(v->graph)->is_function) return PGY_OK;
    if (known->rank < 0) {
        known->rank = declared->rank;
        known->dims = declared->dims;
        return PGY_OK;
    }
    if (known->rank != declared->rank)
        return shape_contradiction(n, v, known, declared, rules, err);
    return merge_dims(known, n, v, declared, rules, err);
}

static const char *reason_of_inputs(const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] && n->inputs[i]->unknown_why) return n->inputs[i]->unknown_why;
    return NULL;
}

/* Why a size is unknown: the reason of an unknown input of n, else that of the node that first made
 * the unknown size. These differ if the size was passed on as an element of a shape tensor. */
static const char *first_reason(const pgy_node *n, const op_value *known, const char *why)
{
    const char *reason = reason_of_inputs(n);
    for (int32_t i = 0; !reason && i < known->rank; i++) {
        const pgy_node *owner = dim_owner(known->dims[i]);
        if (owner && owner != n) reason = reason_of_inputs(owner);
        if (dim_why(known->dims[i])) why = dim_why(known->dims[i]);
        if (owner && why) n = owner;
        if (why) break;
    }
    if (reason) return reason;
    return arena_printf(&state_of(n->graph)->memory, "%s '%s': %s", n->op_type, node_label(n),
                        why ? why : "the operator's shape rule does not determine it");
}

pgy_status merge_output(pgy_node *n, size_t i, const op_value *computed, const char *why,
                        const merge_rules *rules, pgy_error *err)
{
    pgy_value *v = n->outputs[i];
    if (!v) return PGY_OK;
    value_box *box = box_of(v);
    const op_value *declared = &box->declared;
    op_value known = *computed;
    pgy_status st = PGY_OK;
    if (known.dtype && declared->dtype && known.dtype != declared->dtype)
        st = contradiction(n, v, PGY_E_TYPE, pgy_dtype_name(known.dtype),
                           pgy_dtype_name(declared->dtype), rules, err);
    if (!known.dtype && !known.sequence && !known.map_key) {
        known.dtype = declared->dtype;
        known.sequence = declared->sequence;
        known.optional = declared->optional;
        known.map_key = declared->map_key;
        known.map_value = declared->map_value;
    }
    if (!st && !known.sequence) st = merge_shape(&known, n, v, declared, rules, err);
    if (st) return st;
    box->known = known;
    box->sizes = computed->rank == known.rank ? computed->dims : NULL;
    v->unknown_why = value_is_known(&known) ? NULL : first_reason(n, &known, why);
    return PGY_OK;
}

/* Does the data choose this size, in a node that does not check it at run time? */
static bool is_free(const pgy_node *n, dim computed)
{
    const pgy_node *owner = dim_owner(computed);
    return dim_has_unknown(computed) && domain_is_default((owner ? owner : n)->domain);
}

/* Did the file declare a size of a result of n that its rule could not compute? */
static bool is_only_declared(const pgy_node *n, const value_box *box)
{
    if (box->declared.rank < 0 || box->declared.sequence) return false;
    for (int32_t i = 0; box->sizes && i < box->known.rank; i++)
        if (is_free(n, box->sizes[i])) return true;
    return !box->sizes && domain_is_default(n->domain);
}

bool graph_forget_claims(pgy_graph *g)
{
    bool any = false;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        for (size_t k = 0; k < n->output_count && !n->subgraph_count; k++) {
            value_box *box = n->outputs[k] ? box_of(n->outputs[k]) : NULL;
            if (!box || !is_only_declared(n, box)) continue;
            box->declared.rank = -1;
            box->declared.dims = NULL;
            any = true;
        }
    }
    return any;
}

pgy_status value_read_small(pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err)
{
    value_box *box = box_of(v);
    const bool exact = pgy_dtype_is_integer(v->dtype) || v->dtype == PGY_BOOL;
    pgy_tensor *stored = NULL, *value = NULL;
    size_t count = 1;
    if (box->data_tried || v->dtype == PGY_STRING || v->rank < 0) return PGY_OK;
    box->data_tried = true;
    for (int32_t i = 0; i < v->rank; i++) {
        count *= (size_t)v->dims[i].value;
        if (count > (exact ? MAX_SMALL_INTS : MAX_SMALL_FLOATS)) return PGY_OK;
    }
    pgy_status st = pgy_onnx_tensor_load(&stored, v->graph->model, t, err);
    if (st == PGY_E_NOT_FOUND ||
        st == PGY_E_IO) { /* external data is missing, but the shape is known */
        if (err) err->text[0] = '\0';
        return PGY_OK;
    }
    if (!st) st = op_to_storage(&value, stored, err);
    pgy_tensor_release(stored);
    if (st) return st;
    box->declared.data = box->known.data = value;
    return state_keep_tensor(state_of(v->graph), value, err);
}
