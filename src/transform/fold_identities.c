/* SPDX-License-Identifier: Apache-2.0 */
/* Removes nodes that change nothing; their consumers read the input. Each operator has a small
 * test, which uses inferred shapes, including equal symbolic sizes. */
#include <string.h>

#include "transform/fold.h"

typedef bool (*identity_test)(folder *f, pgy_node *n, size_t *input);

enum { MOST_ELEMENTS = 1 << 16 };

/* ---- Helpers -------------------------------------------------------------------------------- */

static bool same_shape(const pgy_value *a, const pgy_value *b)
{
    const op_value *x = fold_known(a), *y = fold_known(b);
    if (!x->dtype || x->dtype != y->dtype || x->rank < 0 || x->rank != y->rank) return false;
    for (int32_t i = 0; i < x->rank; i++)
        if (!dim_equal(x->dims[i], y->dims[i])) return false;
    return true;
}

static bool keeps_shape(const pgy_node *n, size_t input)
{
    return input < n->input_count && n->inputs[input] && n->outputs[0] &&
           same_shape(n->inputs[input], n->outputs[0]);
}

static bool is_given(const pgy_node *n, size_t input)
{
    return input < n->input_count && n->inputs[input];
}

static bool holds_only(const pgy_tensor *t, double wanted)
{
    const pgy_dtype held = pgy_tensor_dtype(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        const double x = held == PGY_F64   ? op_f64(t)[i]
                         : held == PGY_I64 ? (double)op_i64(t)[i]
                                           : (double)((const uint64_t *)pgy_tensor_data(t))[i];
        if (x != wanted) return false;
    }
    return true;
}

/* Are all elements of this constant input the number? */
static bool all_are(folder *f, pgy_node *n, size_t input, double wanted)
{
    pgy_tensor *stored = NULL, *held = NULL;
    bool yes = false;
    pgy_value *v = is_given(n, input) ? n->inputs[input] : NULL;
    if (!v || !v->initializer || weight_bytes(v->initializer) > MOST_ELEMENTS * 8) return false;
    if (fold_constant(&stored, f, v, NULL) == PGY_OK && stored &&
        op_to_storage(&held, stored, NULL) == PGY_OK) {
        const pgy_dtype dtype = pgy_tensor_dtype(held);
        yes = pgy_tensor_count(held) > 0 &&
              (dtype == PGY_F64 || dtype == PGY_I64 || dtype == PGY_U64) &&
              holds_only(held, wanted);
    }
    pgy_tensor_release(held);
    pgy_tensor_release(stored);
    return yes;
}

static int64_t int_attribute(const pgy_node *n, const char *name, int64_t fallback)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    return a ? a->i : fallback;
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static bool is_identity(folder *f, pgy_node *n, size_t *input)
{
    (void)f, (void)n, (void)input;
    return true;
}

static bool is_one_input(folder *f, pgy_node *n, size_t *input)
{
    (void)f, (void)input;
    return n->input_count == 1;
}

/* Cast, CastLike, Reshape, Expand, Flatten, Squeeze, Unsqueeze change nothing if input and output
 * have the same type and shape. */
static bool is_same(folder *f, pgy_node *n, size_t *input)
{
    (void)f, (void)input;
    return keeps_shape(n, 0);
}

static bool is_same_type(folder *f, pgy_node *n, size_t *input)
{
    (void)f, (void)input;
    const pgy_dtype from = n->inputs[0] ? fold_known(n->inputs[0])->dtype : PGY_DTYPE_NONE;
    const pgy_onnx_attribute *to = node_attribute(n, "to");
    if (!from) return false;
    if (to) return pgy_dtype_from_onnx((int32_t)to->i) == from;
    return is_given(n, 1) && fold_known(n->inputs[1])->dtype == from;
}

static bool is_plain_dropout(folder *f, pgy_node *n, size_t *input)
{
    (void)f, (void)input;
    return !is_given(n, 2) && int_attribute(n, "is_test", 1) == 1;
}

static bool is_plain_transpose(folder *f, pgy_node *n, size_t *input)
{
    (void)f, (void)input;
    const pgy_onnx_attribute *perm = node_attribute(n, "perm");
    if (!perm)
        return n->inputs[0] && fold_known(n->inputs[0])->rank >= 0 &&
               fold_known(n->inputs[0])->rank <= 1;
    for (size_t i = 0; i < perm->int_count; i++)
        if (perm->ints[i] != (int64_t)i) return false;
    return true;
}

static bool is_whole_slice(folder *f, pgy_node *n, size_t *input)
{
    (void)input;
    return keeps_shape(n, 0) && (!is_given(n, 4) || all_are(f, n, 4, 1));
}

static bool is_no_pad(folder *f, pgy_node *n, size_t *input)
{
    (void)input;
    const pgy_onnx_attribute *pads = node_attribute(n, "pads");
    if (!pads) return all_are(f, n, 1, 0);
    for (size_t i = 0; i < pads->int_count; i++)
        if (pads->ints[i] != 0) return false;
    return true;
}

static bool is_one_tile(folder *f, pgy_node *n, size_t *input)
{
    (void)input;
    return all_are(f, n, 1, 1);
}

/* Does one operand change nothing (0 in an addition, 1 in a multiplication)? *input: the other
 * operand. */
static bool is_neutral(folder *f, pgy_node *n, size_t *input, double number, bool either)
{
    if (n->input_count != 2) return false;
    for (size_t i = 0; i < (either ? 2 : 1); i++) {
        if (!keeps_shape(n, i) || !all_are(f, n, 1 - i, number)) continue;
        *input = i;
        return true;
    }
    return false;
}

static bool is_add_zero(folder *f, pgy_node *n, size_t *input)
{
    return is_neutral(f, n, input, 0, true);
}

static bool is_sub_zero(folder *f, pgy_node *n, size_t *input)
{
    return is_neutral(f, n, input, 0, false);
}

static bool is_mul_one(folder *f, pgy_node *n, size_t *input)
{
    return is_neutral(f, n, input, 1, true);
}

static bool is_div_one(folder *f, pgy_node *n, size_t *input)
{
    return is_neutral(f, n, input, 1, false);
}

/* True for a Where whose condition is constant and the same everywhere. */
static bool is_decided(folder *f, pgy_node *n, size_t *input)
{
    pgy_tensor *condition = NULL;
    size_t set = 0, count = 0;
    if (n->input_count == 3 && fold_constant(&condition, f, n->inputs[0], NULL) == PGY_OK &&
        condition && pgy_tensor_dtype(condition) == PGY_BOOL) {
        const uint8_t *x = pgy_tensor_data(condition);
        count = pgy_tensor_count(condition);
        for (size_t i = 0; i < count; i++) set += x[i] != 0;
    }
    pgy_tensor_release(condition);
    if (count == 0 || (set != 0 && set != count)) return false;
    *input = set ? 1 : 2;
    return keeps_shape(n, *input);
}

static const struct {
    const char *op_type;
    identity_test test;
} TESTS[] = {
    {"Identity", is_identity},  {"Cast", is_same_type},
    {"CastLike", is_same_type}, {"Dropout", is_plain_dropout},
    {"Reshape", is_same},       {"Expand", is_same},
    {"Flatten", is_same},       {"Squeeze", is_same},
    {"Unsqueeze", is_same},     {"Transpose", is_plain_transpose},
    {"Slice", is_whole_slice},  {"Pad", is_no_pad},
    {"Tile", is_one_tile},      {"Concat", is_one_input},
    {"Sum", is_one_input},      {"Max", is_one_input},
    {"Min", is_one_input},      {"Mean", is_one_input},
    {"Split", is_same},         {"Add", is_add_zero},
    {"Sub", is_sub_zero},       {"Mul", is_mul_one},
    {"Div", is_div_one},        {"Where", is_decided},
};

/* ---- The pass ------------------------------------------------------------------------------- */

static pgy_status try_node(folder *f, pgy_node *n, pgy_error *err)
{
    size_t input = 0;
    bool done;
    if (!domain_is_default(n->domain) || n->input_count == 0 || n->output_count == 0) return PGY_OK;
    for (size_t i = 0; i < sizeof TESTS / sizeof *TESTS; i++) {
        if (strcmp(n->op_type, TESTS[i].op_type) != 0) continue;
        const pgy_status st = node_prepare(n, err);
        if (st) return st;
        if (node_box_of(n)->function || node_box_of(n)->has_refs || !TESTS[i].test(f, n, &input))
            return PGY_OK;
        return fold_bypass(f, n, input, &done, err);
    }
    return PGY_OK;
}

pgy_status fold_identities(folder *f, pgy_graph *level, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const size_t before = f->changes;
    for (size_t i = 0; !st && i < level->node_count; i++) st = try_node(f, level->nodes[i], err);
    if (f->changes != before) graph_sweep(level);
    return st;
}
