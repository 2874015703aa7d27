/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the outputs of Constant nodes into constants. A tensor attribute becomes the initializer,
 * without reading its elements. A Constant whose value is a parameter of the enclosing function
 * stays a node. */
#include <string.h>

#include "base/cancel.h"
#include "base/log.h"
#include "gs/fold/fold.h"
#include "gs/graph/type.h"

static const char LOG_PATH[] = "gs/fold/lower.c";

typedef struct constant_form {
    const char *name;
    pgy_onnx_attribute_type kind;
    pgy_dtype dtype;
    bool list;
} constant_form;

static const constant_form FORMS[] = {
    {"value", PGY_ATTR_TENSOR, PGY_DTYPE_NONE, false},
    {"sparse_value", PGY_ATTR_SPARSE_TENSOR, PGY_DTYPE_NONE, false},
    {"value_float", PGY_ATTR_FLOAT, PGY_F32, false},
    {"value_floats", PGY_ATTR_FLOATS, PGY_F32, true},
    {"value_int", PGY_ATTR_INT, PGY_I64, false},
    {"value_ints", PGY_ATTR_INTS, PGY_I64, true},
    {"value_string", PGY_ATTR_STRING, PGY_STRING, false},
    {"value_strings", PGY_ATTR_STRINGS, PGY_STRING, true},
};

static const constant_form *find_form(const pgy_gs_attribute *a)
{
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (a->value && strcmp(FORMS[i].name, a->name) == 0 &&
            pgy_onnx_attribute_kind(a->value) == FORMS[i].kind)
            return &FORMS[i];
    return NULL;
}

static size_t item_count(const pgy_onnx_attribute *a, const constant_form *form)
{
    if (!form->list) return 1;
    return form->dtype == PGY_F32   ? a->float_count
           : form->dtype == PGY_I64 ? a->int_count
                                    : a->string_count;
}

static pgy_status fill(pgy_tensor *t, const pgy_onnx_attribute *a, const constant_form *form,
                       pgy_error *err)
{
    const size_t count = pgy_tensor_count(t);
    pgy_status st = PGY_OK;
    if (form->dtype == PGY_STRING) {
        const pgy_bytes *items = form->list ? a->strings : &a->s;
        for (size_t i = 0; !st && i < count; i++)
            st = pgy_tensor_set_string(t, i, items[i].data, items[i].size, err);
    } else if (form->dtype == PGY_F32) {
        if (count) memcpy(pgy_tensor_data(t), form->list ? a->floats : &a->f, count * sizeof a->f);
    } else if (count) {
        memcpy(pgy_tensor_data(t), form->list ? a->ints : &a->i, count * sizeof a->i);
    }
    return st;
}

static pgy_status set_items(pgy_gs_tensor *t, const pgy_onnx_attribute *a,
                            const constant_form *form, pgy_error *err)
{
    const int64_t count = (int64_t)item_count(a, form);
    pgy_tensor *values = NULL;
    pgy_status st = pgy_tensor_create(&values, form->dtype, form->list ? 1 : 0, &count, err);
    if (!st) st = fill(values, a, form, err);
    if (!st) st = pgy_gs_to_constant(t, values, err);
    pgy_tensor_release(values);
    return st;
}

static pgy_status set_sparse(pgy_gs_tensor *t, const pgy_onnx_sparse_tensor *sparse, pgy_error *err)
{
    const pgy_gs_tensor before = *t;
    if (!sparse->values)
        return pgy_error_set(err, PGY_E_FORMAT, "its attribute sparse_value has no values");
    t->kind = PGY_GS_CONSTANT;
    t->stored = NULL;
    t->sparse = sparse;
    const pgy_status st = gs_type_of_stored(t, err);
    if (st)
        *t = before;
    else
        tensor_box(t)->info_changed = true;
    return st;
}

static pgy_status set_value(pgy_gs_tensor *t, const pgy_onnx_attribute *a,
                            const constant_form *form, pgy_error *err)
{
    if (form->kind == PGY_ATTR_TENSOR && a->t) return gs_set_stored(t, a->t, err);
    if (form->kind == PGY_ATTR_SPARSE_TENSOR && a->sparse_tensor)
        return set_sparse(t, a->sparse_tensor, err);
    if (form->dtype != PGY_DTYPE_NONE) return set_items(t, a, form, err);
    return pgy_error_set(err, PGY_E_FORMAT, "its attribute '%s' is empty", form->name);
}

static void warn(const pgy_gs_node *n, const char *text)
{
    str line = {0};
    LOG(WARNING, "%s", gs_fold_describe(&line, n, text));
    str_deinit(&line);
}

static pgy_status lower_node(pgy_gs_node *n, pgy_error *err)
{
    pgy_error why = {0};
    const pgy_gs_attribute *a = n->attributes;
    if (n->attribute_count != 1) {
        warn(n, "a Constant needs exactly one attribute; the node is kept");
        return PGY_OK;
    }
    if (a->value && *a->value->ref_attr_name) return PGY_OK;
    const constant_form *form = find_form(a);
    if (!form) {
        pgy_error_set(&why, PGY_E_FORMAT,
                      "attribute '%s' does not hold a Constant's value; the node is kept", a->name);
        warn(n, why.text);
        return PGY_OK;
    }
    const pgy_status st = set_value(n->outputs[0], a->value, form, &why);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        warn(n, why.text);
        return PGY_OK;
    }
    return gs_fold_drop_outputs(n, err);
}

pgy_status gs_fold_lower(gs_folder *f, pgy_gs_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_gs_node *n = g->nodes[i];
        if (gs_fold_is(n, "Constant") && n->output_count == 1 &&
            gs_fold_makes(f, n, n->outputs[0]) && !gs_fold_is_excluded(f, n))
            st = lower_node(n, err);
    }
    return st;
}
