/* SPDX-License-Identifier: Apache-2.0 */
/* The table of changes, and the three kinds of changes that need no own function: attributes that
 * became inputs, new attributes, and axes that may count from the end. */
#include "transform/opset/adapters.h"

#include <stdlib.h>
#include <string.h>

#include "transform/opset/convert.h"

typedef enum change_kind { BY_FUNCTION, MOVED, NEW_ATTRIBUTE, AXIS_SIGN } change_kind;

/* Type and rank of the input that replaces an attribute. */
typedef enum input_form {
    FORM_INTS,      /* int64, rank 1 */
    FORM_INTS1,     /* one int, as an int64 tensor of rank 1 */
    FORM_FLOATS,    /* float32, rank 1 */
    FORM_SCALAR,    /* a float of the type of input 0 */
    FORM_SCALAR_F32 /* a float32 */
} input_form;

typedef struct change {
    const char *op;
    int version;
    change_kind kind;
    void (*up)(rewrite *r);
    void (*down)(rewrite *r);
    const char *attribute, *value;
    size_t input;
    input_form form;
} change;

static const change CHANGES[] = {
#define ADAPTER(op, version, up, down) {#op, version, BY_FUNCTION, up, down, NULL, NULL, 0, 0},
#define MOVE(op, version, attribute, input, form) \
    {#op, version, MOVED, NULL, NULL, #attribute, NULL, input, FORM_##form},
#define NEUTRAL(op, version, attribute, value) \
    {#op, version, NEW_ATTRIBUTE, NULL, NULL, #attribute, value, 0, 0},
#define AXIS(op, attribute) {#op, 11, AXIS_SIGN, NULL, NULL, #attribute, NULL, 0, 0},
#include "transform/opset/adapters.def"
#undef ADAPTER
#undef MOVE
#undef NEUTRAL
#undef AXIS
};
enum { CHANGE_COUNT = sizeof CHANGES / sizeof *CHANGES };

void keep(rewrite *r)
{
    (void)r;
}

/* ---- Attributes that became inputs ---------------------------------------------------------- */

/* For an attribute that refers to one of the enclosing function: makes the input by a Constant with
 * the same reference. */
static pgy_value *parameter_input(rewrite *r, const change *c, const pgy_onnx_attribute *a)
{
    static const char *const NAMES[] = {"value_ints", "value_int", "value_floats", "value_float",
                                        "value_float"};
    pgy_value *v = rw_emit(r, "Constant", 0);
    if (!v) return NULL;
    rw_set_parameter(r, v->producer, NAMES[c->form], a);
    if (c->form == FORM_INTS1) v = rw_emit(r, "Reshape", 2, v, rw_vector1(r, 1));
    return c->form == FORM_SCALAR ? rw_cast_like(r, v, rw_input(r, 0)) : v;
}

static pgy_value *attribute_input(rewrite *r, const change *c, const pgy_onnx_attribute *a)
{
    if (a->ref_attr_name && *a->ref_attr_name) return parameter_input(r, c, a);
    switch (c->form) {
    case FORM_INTS: return rw_vector(r, a->ints, a->int_count);
    case FORM_INTS1: return rw_vector1(r, a->i);
    case FORM_FLOATS: return rw_floats(r, a->floats, a->float_count);
    case FORM_SCALAR: return rw_scalar_like(r, (double)a->f, rw_input(r, 0));
    case FORM_SCALAR_F32: return rw_scalar(r, PGY_F32, (double)a->f);
    }
    return NULL;
}

static void move_up(rewrite *r, const change *c)
{
    const pgy_onnx_attribute *a = node_attribute(r->node, c->attribute);
    if (!a || r->status) return;
    rw_set_input(r, c->input, attribute_input(r, c, a));
    rw_drop(r, c->attribute);
}

static void floats_down(rewrite *r, const change *c, const pgy_tensor *t)
{
    if (c->form != FORM_FLOATS) {
        if (pgy_tensor_count(t) != 1)
            rw_refuse(r, "input %zu must be one number", c->input);
        else
            rw_set_float(r, r->node, c->attribute, (float)op_f64(t)[0]);
        return;
    }
    float *values =
        arena_alloc_array(&state_of(r->graph)->memory, pgy_tensor_count(t), sizeof *values);
    if (!values) {
        rw_no_memory(r);
        return;
    }
    for (size_t i = 0; i < pgy_tensor_count(t); i++) values[i] = (float)op_f64(t)[i];
    rw_set_floats(r, r->node, c->attribute, values, pgy_tensor_count(t));
}

static void move_down(rewrite *r, const change *c)
{
    pgy_value *v = rw_input(r, c->input);
    if (r->status) return;
    if (v) {
        const pgy_tensor *t = rw_constant(r, c->input);
        const bool wants_ints = c->form == FORM_INTS || c->form == FORM_INTS1;
        if (!t)
            rw_refuse(r,
                      "input %zu '%s' is not constant, but in opset %lld it is the attribute '%s'",
                      c->input, v->name, (long long)r->version, c->attribute);
        else if (pgy_tensor_dtype(t) != (wants_ints ? PGY_I64 : PGY_F64))
            rw_refuse(r, "input %zu '%s' has a type that attribute '%s' cannot hold", c->input,
                      v->name, c->attribute);
        else if (c->form == FORM_INTS)
            rw_set_ints(r, r->node, c->attribute, op_i64(t), pgy_tensor_count(t));
        else if (c->form == FORM_INTS1 && pgy_tensor_count(t) == 1)
            rw_set_int(r, r->node, c->attribute, op_i64(t)[0]);
        else if (c->form == FORM_INTS1)
            rw_refuse(r, "input %zu must be one number", c->input);
        else
            floats_down(r, c, t);
    }
    rw_cut_inputs(r, c->input);
}

/* ---- New attributes ------------------------------------------------------------------------- */

static bool is_neutral(const pgy_onnx_attribute *a, const char *value)
{
    if (!*value) return true; /* any value is neutral */
    if (a->ref_attr_name && *a->ref_attr_name) return false;
    switch (pgy_onnx_attribute_kind(a)) {
    case PGY_ATTR_INT: return a->i == strtoll(value, NULL, 10);
    case PGY_ATTR_STRING: return span_equals((span){a->s.data ? a->s.data : "", a->s.size}, value);
    case PGY_ATTR_INTS:
        for (size_t i = 0; i < a->int_count; i++)
            if (a->ints[i] != strtoll(value, NULL, 10)) return false;
        return true;
    default: return false;
    }
}

static void new_attribute_down(rewrite *r, const change *c)
{
    const pgy_onnx_attribute *a = node_attribute(r->node, c->attribute);
    if (!a || r->status) return;
    if (!is_neutral(a, c->value))
        rw_refuse(r,
                  "attribute '%s' was introduced in opset %d; without it, only the value %s can be "
                  "expressed",
                  c->attribute, c->version, c->value);
    rw_drop(r, c->attribute);
}

/* ---- Axes ----------------------------------------------------------------------------------- */

static bool all_forward(const int64_t *axes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (axes[i] < 0) return false;
    return true;
}

static void axis_down(rewrite *r, const change *c)
{
    const pgy_onnx_attribute *a = r->status ? NULL : rw_attr(r, c->attribute);
    if (!a) return;
    const bool list = pgy_onnx_attribute_kind(a) == PGY_ATTR_INTS;
    const int64_t *axes = list ? a->ints : &a->i;
    const size_t count = list ? a->int_count : 1;
    int64_t forward[PGY_MAX_RANK * 2];
    if (all_forward(axes, count)) return;
    int32_t rank = rw_rank(rw_input(r, 0));
    if (rank >= 0 && strcmp(c->op, "Unsqueeze") == 0) rank += (int32_t)count;
    if (rank < 0 || count > PGY_MAX_RANK * 2) {
        rw_refuse(r, "a negative value of attribute '%s' needs a known rank below opset 11",
                  c->attribute);
        return;
    }
    for (size_t i = 0; i < count; i++) forward[i] = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (list)
        rw_set_ints(r, r->node, c->attribute, forward, count);
    else
        rw_set_int(r, r->node, c->attribute, forward[0]);
}

/* ---- The table in use ----------------------------------------------------------------------- */

static void apply(rewrite *r, const change *c, bool up)
{
    if (strcmp(c->op, r->node->op_type) != 0) return;
    switch (c->kind) {
    case BY_FUNCTION: (up ? c->up : c->down)(r); break;
    case MOVED: (up ? move_up : move_down)(r, c); break;
    case NEW_ATTRIBUTE:
        if (!up) new_attribute_down(r, c);
        break;
    case AXIS_SIGN:
        if (!up) axis_down(r, c);
        break;
    }
}

bool adapter_exists(const char *op_type, int64_t step)
{
    for (size_t i = 0; i < CHANGE_COUNT; i++)
        if (CHANGES[i].version == step && strcmp(CHANGES[i].op, op_type) == 0) return true;
    return false;
}

void adapter_apply(rewrite *r, int64_t step, bool up)
{
    const char *op = r->node->op_type; /* stop when the node becomes another operator */
    for (size_t i = 0; i < CHANGE_COUNT && r->node->op_type == op; i++) {
        const change *c = &CHANGES[up ? i : CHANGE_COUNT - 1 - i];
        if (c->version == step && !r->status) apply(r, c, up);
    }
}
