/* SPDX-License-Identifier: Apache-2.0 */
/* Some exporters compute shapes in floats: Cast to float, Mul, Cast back. This pass lets the node
 * compute with the integers themselves, where only rounding errors change: every input must be such
 * a Cast or a constant of whole numbers, and every consumer must cast back to the same integer
 * type. The result of a comparison is bool either way, so Casts after it stay. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "gs/fold/fold.h"

typedef struct exact_op {
    const char *op;
    int64_t since; /* first opset in which the operator takes integers */
    bool compares;
} exact_op;

static const exact_op OPS[] = {
    {"Add", 6, false},    {"Sub", 6, false},  {"Mul", 6, false},    {"Div", 6, false},
    {"Max", 12, false},   {"Min", 12, false}, {"Concat", 4, false}, {"Equal", 1, true},
    {"Greater", 9, true}, {"Less", 9, true},
};

/* The planned change of one node. */
typedef struct elision {
    pgy_gs_node *node;
    const exact_op *op;
    pgy_dtype dtype; /* integer type in which the node will compute */
} elision;

static const exact_op *find_op(const pgy_gs_node *n, int64_t opset)
{
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (gs_fold_is(n, OPS[i].op)) return opset >= OPS[i].since ? &OPS[i] : NULL;
    return NULL;
}

static pgy_dtype cast_target(const pgy_gs_node *n)
{
    const bool is_cast = gs_fold_is(n, "Cast") && n->input_count == 1 && n->output_count == 1;
    return is_cast ? pgy_dtype_from_onnx((int)pgy_gs_attr_as_int(n, "to", 0)) : PGY_DTYPE_NONE;
}

/* The Cast to float32 that makes t; NULL: t is made otherwise. */
static const pgy_gs_node *cast_of(const pgy_gs_tensor *t)
{
    const pgy_gs_node *n = t->producer_count == 1 ? t->producers[0] : NULL;
    return n && cast_target(n) == PGY_F32 ? n : NULL;
}

/* ---- Checks that integers give the same result ----------------------------------------------- */

static bool readers_cast_back(const gs_folder *f, const pgy_gs_node *n, pgy_dtype *dtype)
{
    const pgy_gs_tensor *r = n->output_count == 1 ? n->outputs[0] : NULL;
    if (!r || !gs_fold_makes(f, n, r) || r->consumer_count == 0 || gs_fold_is_output(f, r))
        return false;
    *dtype = cast_target(r->consumers[0]);
    if (*dtype != PGY_I32 && *dtype != PGY_I64) return false;
    for (size_t i = 0; i < r->consumer_count; i++) {
        const pgy_gs_node *c = r->consumers[i];
        if (c->graph != n->graph || cast_target(c) != *dtype || !gs_fold_makes(f, c, c->outputs[0]))
            return false;
    }
    return true;
}

static bool is_whole(float x, pgy_dtype dtype, bool divides)
{
    const float limit = dtype == PGY_I32 ? 0x1p31f : 0x1p63f;
    if (!(x >= -limit && x < limit) || x != truncf(x)) return false;
    return !divides ||
           (x != 0 && x != -1); /* -1: the smallest integer has no positive counterpart */
}

static bool constant_is_whole(pgy_gs_tensor *t, pgy_dtype dtype, bool divides)
{
    pgy_tensor *values = NULL;
    if (!gs_fold_is_constant(t) || t->dtype != PGY_F32 || pgy_gs_values(&values, t, NULL))
        return false;
    const float *x = pgy_tensor_data(values);
    bool whole = true;
    for (size_t i = 0; whole && i < pgy_tensor_count(values); i++) {
        float item;
        memcpy(&item, x + i, sizeof item);
        whole = is_whole(item, dtype, divides);
    }
    pgy_tensor_release(values);
    return whole;
}

static bool inputs_are_exact(const elision *e)
{
    const bool divides = strcmp(e->op->op, "Div") == 0;
    size_t casts = 0;
    for (size_t i = 0; i < e->node->input_count; i++) {
        pgy_gs_tensor *t = e->node->inputs[i];
        const pgy_gs_node *cast = t->kind == PGY_GS_CONSTANT ? NULL : cast_of(t);
        if (cast) {
            if (cast->inputs[0]->dtype != e->dtype || (divides && i == 1)) return false;
            casts++;
        } else if (!constant_is_whole(t, e->dtype, divides && i == 1)) {
            return false;
        }
    }
    return casts > 0;
}

/* ---- Rewiring -------------------------------------------------------------------------------- */

/* Makes a constant with a name that no tensor of the document has. */
static pgy_status make_constant(pgy_gs_tensor **out, pgy_gs_graph *g, const pgy_gs_tensor *like,
                                pgy_tensor *values, pgy_error *err)
{
    str name = {0};
    str_printf(&name, "%s_%s", like->name, pgy_dtype_name(pgy_tensor_dtype(values)));
    gs_fold_free_name(&name, g);
    pgy_status st =
        name.failed ? gs_no_memory(err) : pgy_gs_constant(out, g, str_text(&name), values, err);
    str_deinit(&name);
    return st;
}

/* Converts constant input i to integers: the constant itself if nothing else reads it, else a copy.
 */
static pgy_status convert_constant(const gs_folder *f, const elision *e, size_t i, pgy_error *err)
{
    pgy_gs_tensor *t = e->node->inputs[i], *made = NULL;
    pgy_tensor *values = NULL, *whole = NULL;
    bool shared = gs_fold_is_output(f, t);
    for (size_t k = 0; k < t->consumer_count; k++) shared |= t->consumers[k] != e->node;
    pgy_status st = pgy_gs_values(&values, t, err);
    if (!st) st = pgy_tensor_cast(&whole, pgy_tensor_view(values), e->dtype, err);
    if (!st && !shared) st = pgy_gs_to_constant(t, whole, err);
    if (!st && shared) st = make_constant(&made, e->node->graph, t, whole, err);
    if (!st && shared) st = pgy_gs_set_input(e->node, i, made, err);
    pgy_tensor_release(values);
    pgy_tensor_release(whole);
    return st;
}

static pgy_status bypass_inputs(const gs_folder *f, const elision *e, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < e->node->input_count; i++) {
        const pgy_gs_tensor *t = e->node->inputs[i];
        if (t->kind == PGY_GS_CONSTANT) {
            if (t->dtype == PGY_F32) st = convert_constant(f, e, i, err);
        } else {
            st = pgy_gs_set_input(e->node, i, cast_of(t)->inputs[0], err);
        }
    }
    return st;
}

/* Lets the node compute the output of one of its Casts directly; what read the other Casts' outputs
 * reads that. A Cast that makes a graph output stays, but now casts to the type that it reads. */
static pgy_status bypass_outputs(const gs_folder *f, const elision *e, pgy_error *err)
{
    pgy_gs_tensor *r = e->node->outputs[0];
    size_t first = 0;
    for (size_t i = r->consumer_count; i-- > 0;)
        if (gs_fold_is_output(f, r->consumers[i]->outputs[0])) first = i;
    pgy_gs_tensor *result = r->consumers[first]->outputs[0];
    pgy_status st = pgy_gs_set_outputs(r->consumers[first], NULL, 0, err);
    if (!st) st = pgy_gs_set_output(e->node, 0, result, err);
    for (size_t i = 0; !st && i < r->consumer_count;) {
        pgy_gs_node *cast = r->consumers[i];
        pgy_gs_tensor *other = cast->output_count ? cast->outputs[0] : NULL;
        if (other && gs_fold_is_output(f, other)) {
            st = pgy_gs_set_input(cast, 0, result, err); /* removes the Cast from r->consumers */
            continue;
        }
        if (other) st = pgy_gs_replace_uses(other, result, err);
        if (other && !st) st = pgy_gs_set_outputs(cast, NULL, 0, err);
        i++;
    }
    return st;
}

pgy_status gs_fold_casts(gs_folder *f, pgy_gs_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        elision e = {.node = g->nodes[i]};
        e.op = find_op(e.node, g->opset);
        if (!e.op || !readers_cast_back(f, e.node, &e.dtype) || !inputs_are_exact(&e) ||
            gs_fold_is_excluded(f, e.node))
            continue;
        st = bypass_inputs(f, &e, err);
        if (!st && !e.op->compares) st = bypass_outputs(f, &e, err);
    }
    return st;
}
