/* SPDX-License-Identifier: Apache-2.0 */
/* Caches that Attention reads where they lie. For CUDA devices: keys and values that two Concats
 * make of caches and new rows stay apart, as inputs past_key and past_value of Attention. On the
 * host, where kernels compute in float32 anyway: caches that are in float32 outside of an Attention
 * in 16 bits are not converted, because that copies all of the past. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS, INPUTS };
static const char OWN[] = "pgy:Attention";

/* The Concat of two tensors [batch, heads, length, size] along the lengths that makes v, or NULL.
 */
static pgy_node *joined(const pgy_value *v)
{
    pgy_node *n = pattern_rank(v) == 4 ? pattern_inner(v, "Concat") : NULL;
    const int64_t axis = n ? pattern_int(n, "axis", 0) : 0;
    if (!n || n->input_count != 2 || (axis != 2 && axis != -2)) return NULL;
    for (int32_t d = 0; d < 4; d++)
        if (d != 2 && !pattern_same_size(n->inputs[0], d, n->inputs[1], d)) return NULL;
    return n;
}

/* A causal Attention counts the rows of queries from the end of the caches. */
static bool has_no_caches(const pgy_node *n)
{
    for (size_t i = PAST_K; i < n->input_count; i++)
        if (n->inputs[i]) return false;
    return n->output_count == 1 && n->input_count > V && pattern_int(n, "is_causal", 0) == 0 &&
           pattern_int(n, "left_window_size", -1) < 0 &&
           pattern_int(n, "right_window_size", -1) < 0;
}

static void copy_attributes(pattern *p, pgy_node *to, const pgy_node *from)
{
    static const char *const NAMES[] = {"q_num_heads",      "kv_num_heads",      "scale",
                                        "softcap",          "softmax_precision", "is_causal",
                                        "left_window_size", "right_window_size"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) pattern_copy(p, to, from, NAMES[i]);
}

static bool take_caches(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "Attention") || !has_no_caches(n)) return false;
    const pgy_node *keys = joined(n->inputs[K]), *values = joined(n->inputs[V]);
    if (!keys || !values || !pattern_same_size(keys->inputs[0], 2, values->inputs[0], 2))
        return false;
    pgy_value *inputs[] = {n->inputs[Q],           keys->inputs[1], values->inputs[1],
                           pattern_input(n, MASK), keys->inputs[0], values->inputs[0]};
    copy_attributes(p, pattern_put(p, n, "Attention", inputs, PAST_V + 1), n);
    return true;
}

/* ---- Caches in float32 ----------------------------------------------------------------------- */

static bool is_cast(const pgy_node *n, pgy_dtype from, pgy_dtype to)
{
    return n && pattern_is(n, "Cast") && pattern_dtype(n->inputs[0]) == from &&
           pattern_dtype(n->outputs[0]) == to;
}

/* The Cast that makes a cache of 16 bits, or NULL. */
static pgy_node *narrowed(const pgy_node *n, size_t input, pgy_dtype t)
{
    const pgy_value *v = pattern_input(n, input);
    return v && is_cast(v->producer, PGY_F32, t) ? v->producer : NULL;
}

/* The Cast to float32 that alone reads a new cache, or NULL. */
static pgy_node *widened(const pgy_node *n, size_t output, pgy_dtype t)
{
    const pgy_value *v = output < n->output_count ? n->outputs[output] : NULL;
    return v && !v->is_output && v->consumer_count == 1 && is_cast(v->consumers[0], t, PGY_F32)
               ? v->consumers[0]
               : NULL;
}

static pgy_value *widen(pattern *p, pgy_node *before, pgy_value *v)
{
    pgy_value *made = pattern_make(p, before, v->name, "Cast", &v, 1);
    if (made) pattern_set_int(p, made->producer, "to", pgy_dtype_describe(PGY_F32)->onnx);
    return made;
}

/* Puts an Attention in float32 in the place of n, between Casts of the new rows and the result. */
static bool put_wide(pattern *p, pgy_node *n, pgy_node *const *before, pgy_node *const *behind)
{
    const pgy_dtype t = pattern_dtype(n->inputs[Q]);
    pgy_value *y = pattern_value(p, n->graph, n->outputs[0]->name);
    pgy_value *inputs[INPUTS] = {NULL};
    pgy_value *outputs[] = {y, behind[0]->outputs[0], behind[1]->outputs[0]};
    for (size_t i = 0; i < n->input_count; i++) {
        inputs[i] = i == PAST_K || i == PAST_V ? before[i - PAST_K]->inputs[0] : n->inputs[i];
        if (!inputs[i] || pattern_dtype(inputs[i]) != t) continue;
        inputs[i] = widen(p, n, inputs[i]);
        if (!inputs[i]) return false;
    }
    pgy_node *made = y ? pattern_add_outputs(p, n, pattern_is(n, OWN) ? OWN : "Attention", inputs,
                                             n->input_count, outputs, 3)
                       : NULL;
    if (!made) return false;
    copy_attributes(p, made, n);
    for (size_t i = 0; i < 2; i++) pattern_drop(p, behind[i]);
    pattern_set_int(p, pattern_put(p, n, "Cast", &y, 1), "to", pgy_dtype_describe(t)->onnx);
    return true;
}

static bool widen_caches(pattern *p, pgy_node *n)
{
    pgy_node *before[2], *behind[2];
    if ((!pattern_is(n, "Attention") && !pattern_is(n, OWN)) || n->input_count <= PAST_V ||
        n->input_count > INPUTS || n->output_count != 3)
        return false;
    const pgy_dtype t = pattern_dtype(n->inputs[Q]);
    if (t != PGY_F16 && t != PGY_BF16) return false;
    for (size_t i = 0; i < 2; i++) {
        before[i] = narrowed(n, PAST_K + i, t);
        behind[i] = widened(n, 1 + i, t);
        if (!before[i] || !behind[i]) return false;
    }
    return put_wide(p, n, before, behind);
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule APART[] = {take_caches, NULL}, WIDE[] = {widen_caches, NULL};
    return pattern_run(g, "read_caches", pass_is_for_cuda(target) ? APART : WIDE, changes, err);
}

const pass PASS_read_caches = {
    .name = "read_caches", .summary = "Attention reads caches where they lie", .run_for = run};
