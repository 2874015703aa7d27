/* SPDX-License-Identifier: Apache-2.0 */
/* A product or sum of bytes with a table's results for the same bytes, as quantised x * sigmoid(x)
 * is, depends on one byte only: it becomes a table, too. */
#include "engine/passes/pass.h"
#include "evaluate/execute.h"
#include "transform/pattern.h"

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

/* Computes n for all bytes of input `plain`, where the other operand is `lookup` of them. */
static bool fill_table(pattern *p, pgy_node *n, size_t plain, const pgy_node *lookup, double *table)
{
    const execute_limits limits = {0};
    op_tensor in[INPUTS] = {{0}}, out = {0};
    bool fine = list_bytes(&in[plain], pattern_dtype(n->inputs[plain])) &&
                read_constant(p, lookup->inputs[1], &in[A + B - plain]);
    for (size_t i = 0; fine && i < n->input_count; i++)
        if (i != A && i != B && n->inputs[i]) fine = read_constant(p, n->inputs[i], &in[i]);
    fine = fine && execute_node(n, in, NULL, &out, true, &limits, NULL) == PGY_OK && out.value &&
           pgy_tensor_count(out.value) == VALUES;
    for (int i = 0; fine && i < VALUES; i++) table[i] = (double)op_i64(out.value)[i];
    for (size_t i = 0; i < INPUTS; i++) op_tensor_release(&in[i]);
    op_tensor_release(&out);
    return fine;
}

static bool join(pattern *p, pgy_node *n)
{
    static const int64_t SHAPE[1] = {VALUES};
    double table[VALUES];
    if (!pattern_is(n, "com.microsoft:QLinearMul") && !pattern_is(n, "com.microsoft:QLinearAdd"))
        return false;
    if (n->input_count < B + 1 || n->input_count > INPUTS) return false;
    for (size_t i = 0; i < n->input_count; i++)
        if (i != A && i != B && n->inputs[i] && !pattern_is_constant(p, n->inputs[i])) return false;
    for (size_t plain = A; plain <= B; plain += B) {
        const pgy_node *lookup = pattern_from(n->inputs[A + B - plain], "pgy:Lookup");
        if (!lookup || lookup->inputs[0] != n->inputs[plain]) continue;
        if (!pattern_is_constant(p, lookup->inputs[1]) || !fill_table(p, n, plain, lookup, table))
            return false;
        pgy_value *inputs[2] = {
            n->inputs[plain],
            pattern_weight(p, n->graph, "table", pattern_dtype(n->outputs[0]), 1, SHAPE, table)};
        return inputs[1] && pattern_put(p, n, "pgy:Lookup", inputs, 2);
    }
    return false;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {join, NULL};
    return pattern_run(g, "fuse_lookups", RULES, changes, err);
}

const pass PASS_fuse_lookups = {.name = "fuse_lookups",
                                .summary = "products of bytes and a table of them, as tables",
                                .run = run};
