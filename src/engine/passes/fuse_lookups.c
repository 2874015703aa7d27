/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces nodes whose results depend on one byte by one table (pgy:Lookup): the product of a byte
 * with a table's result for it, as in quantised x * sigmoid(x); a sum or product with a constant; a
 * table behind a table. A Gelu that is written out has all of these. A table that changes no byte
 * goes. */
#include "engine/passes/pass.h"
#include "evaluate/execute.h"
#include "transform/pattern.h"

static const char LOOKUP[] = "pgy:Lookup";

enum { VALUES = 256, A = 0, B = 3, INPUTS = 8 };

/* A constant as definitions read it; false: a failure. */
static bool read_constant(pattern *p, pgy_value *v, op_tensor *out)
{
    pgy_tensor *stored = NULL;
    const bool fine = fold_constant(&stored, &p->f, v, NULL) == PGY_OK && stored &&
                      op_to_storage(&out->value, stored, NULL) == PGY_OK;
    out->dtype = pattern_dtype(v);
    pgy_tensor_release(stored);
    return fine;
}

/* All bytes of a type, in the order of a table. */
static bool list_bytes(op_tensor *out, pgy_dtype dtype)
{
    static const int64_t SHAPE[1] = {VALUES};
    out->dtype = dtype;
    if (pgy_tensor_create(&out->value, PGY_I64, 1, SHAPE, NULL)) return false;
    int64_t *bytes = op_i64(out->value);
    for (int i = 0; i < VALUES; i++) bytes[i] = dtype == PGY_I8 ? (int8_t)i : i;
    return true;
}

/* Computes n for all bytes of input `plain`; the other operand is `other`, one number, or one for
 * each byte. */
static bool fill_table(pattern *p, pgy_node *n, size_t plain, pgy_value *other, double *table)
{
    const execute_limits limits = {0};
    op_tensor in[INPUTS] = {{0}}, out = {0};
    bool fine = list_bytes(&in[plain], pattern_dtype(n->inputs[plain])) &&
                read_constant(p, other, &in[A + B - plain]);
    for (size_t i = 0; fine && i < n->input_count; i++)
        if (i != A && i != B && n->inputs[i]) fine = read_constant(p, n->inputs[i], &in[i]);
    fine = fine && execute_node(n, in, NULL, &out, true, &limits, NULL) == PGY_OK && out.value &&
           pgy_tensor_count(out.value) == VALUES;
    for (int i = 0; fine && i < VALUES; i++) table[i] = (double)op_i64(out.value)[i];
    for (size_t i = 0; i < INPUTS; i++) op_tensor_release(&in[i]);
    op_tensor_release(&out);
    return fine;
}

static bool put_table(pattern *p, pgy_node *n, pgy_value *x, const double *table)
{
    static const int64_t SHAPE[1] = {VALUES};
    pgy_value *inputs[2] = {
        x, pattern_weight(p, n->graph, "table", pattern_dtype(n->outputs[0]), 1, SHAPE, table)};
    return inputs[1] && pattern_put(p, n, LOOKUP, inputs, 2);
}

/* The constant on which, with input `plain`, n depends: the table whose results are the other
 * operand, or the other operand; NULL: there is none. */
static pgy_value *find_other(pattern *p, const pgy_node *n, size_t plain)
{
    pgy_value *other = n->inputs[A + B - plain];
    const pgy_node *lookup = pattern_from(other, LOOKUP);
    if (lookup && lookup->inputs[0] == n->inputs[plain])
        return pattern_is_constant(p, lookup->inputs[1]) ? lookup->inputs[1] : NULL;
    const bool one = pattern_is_constant(p, other) && pattern_has_at_most(other, 1) &&
                     pattern_same_shape(n->inputs[plain], n->outputs[0]);
    return one ? other : NULL;
}

static bool join_operands(pattern *p, pgy_node *n)
{
    double table[VALUES];
    if (!pattern_is(n, "com.microsoft:QLinearMul") && !pattern_is(n, "com.microsoft:QLinearAdd"))
        return false;
    if (n->input_count < B + 1 || n->input_count > INPUTS) return false;
    for (size_t i = 0; i < n->input_count; i++)
        if (i != A && i != B && n->inputs[i] && !pattern_is_constant(p, n->inputs[i])) return false;
    for (size_t plain = A; plain <= B; plain += B) {
        pgy_value *other = find_other(p, n, plain);
        if (!other || pattern_is_constant(p, n->inputs[plain])) continue;
        return fill_table(p, n, plain, other, table) && put_table(p, n, n->inputs[plain], table);
    }
    return false;
}

static bool join_tables(pattern *p, pgy_node *n)
{
    double table[VALUES];
    const pgy_node *first = pattern_is(n, LOOKUP) ? pattern_from(n->inputs[0], LOOKUP) : NULL;
    if (!first || !pattern_is_constant(p, first->inputs[1]) ||
        !pattern_is_constant(p, n->inputs[1]))
        return false;
    op_tensor inner = {0}, outer = {0};
    const bool fine =
        read_constant(p, first->inputs[1], &inner) && read_constant(p, n->inputs[1], &outer);
    for (int i = 0; fine && i < VALUES; i++)
        table[i] = (double)op_i64(outer.value)[(uint64_t)op_i64(inner.value)[i] & (VALUES - 1)];
    op_tensor_release(&inner);
    op_tensor_release(&outer);
    return fine && put_table(p, n, first->inputs[0], table);
}

/* A table that leaves each byte as it is, as that of a factor which also scales the grid. */
static bool drop_identity(pattern *p, pgy_node *n)
{
    op_tensor table = {0};
    if (!pattern_is(n, LOOKUP) || pattern_dtype(n->inputs[0]) != pattern_dtype(n->inputs[1]) ||
        !pattern_is_constant(p, n->inputs[1]))
        return false;
    bool same = read_constant(p, n->inputs[1], &table);
    for (int64_t i = 0; same && i < VALUES; i++)
        same = ((op_i64(table.value)[i] - i) & (VALUES - 1)) == 0;
    op_tensor_release(&table);
    return same && pattern_put(p, n, "Identity", n->inputs, 1) != NULL;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {join_operands, join_tables, drop_identity, NULL};
    return pattern_run(g, "fuse_lookups", RULES, changes, err);
}

const pass PASS_fuse_lookups = {.name = "fuse_lookups",
                                .summary = "sums, products and tables of one byte, as one table",
                                .run = run};
