/* SPDX-License-Identifier: Apache-2.0 */
/* For CUDA devices: keys and values that two Concats make of caches and new rows stay apart, as
 * inputs past_key and past_value of Attention, which reads them where they lie. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { Q, K, V, MASK, PAST_K, PAST_V };

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

static bool take_caches(pattern *p, pgy_node *n)
{
    static const char *const ATTRIBUTES[] = {"q_num_heads", "kv_num_heads", "scale", "softcap",
                                             "softmax_precision"};
    if (!pattern_is(n, "Attention") || !has_no_caches(n)) return false;
    const pgy_node *keys = joined(n->inputs[K]), *values = joined(n->inputs[V]);
    if (!keys || !values || !pattern_same_size(keys->inputs[0], 2, values->inputs[0], 2))
        return false;
    pgy_value *inputs[] = {n->inputs[Q],           keys->inputs[1], values->inputs[1],
                           pattern_input(n, MASK), keys->inputs[0], values->inputs[0]};
    pgy_node *made = pattern_put(p, n, "Attention", inputs, PAST_V + 1);
    for (size_t i = 0; i < sizeof ATTRIBUTES / sizeof *ATTRIBUTES; i++)
        pattern_copy(p, made, n, ATTRIBUTES[i]);
    return true;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {take_caches, NULL};
    return pass_is_for_cuda(target) ? pattern_run(g, "read_caches", RULES, changes, err) : PGY_OK;
}

const pass PASS_read_caches = {.name = "read_caches",
                               .summary = "Attention reads caches where they lie, for CUDA devices",
                               .run_for = run};
