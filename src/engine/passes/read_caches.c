/* SPDX-License-Identifier: Apache-2.0 */
/* Caches that Attention reads where they lie. For CUDA devices: keys and values that two Concats
 * make of caches and new rows stay apart, as inputs past_key and past_value of Attention. On the
 * host, where kernels compute in float32 anyway: caches that are in float32 outside of an Attention
 * in 16 bits are not converted, because that copies all of the past. */
#include "engine/passes/pass.h"
#include "transform/fuse/attention.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS, INPUTS };
static const char OWN[] = "pgy:Attention";

/* The Concat of two tensors [batch, heads, length, size] along the lengths that makes v, or NULL.
 */
static pgy_node *join_of(const pgy_value *v)
{
    pgy_node *n = pattern_rank(v) == 4 ? pattern_from(v, "Concat") : NULL;
    const int64_t axis = n ? pattern_int(n, "axis", 0) : 0;
    if (!n || n->input_count != 2 || (axis != 2 && axis != -2)) return NULL;
    for (int32_t d = 0; d < 4; d++)
        if (d != 2 && !pattern_same_size(n->inputs[0], d, n->inputs[1], d)) return NULL;
    return n;
}

static const pgy_node *joined(const pgy_value *v)
{
    return pattern_is_inner(v) ? join_of(v) : NULL;
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

/* A cache in float32 that Attention in 16 bits reads and makes through Casts. */
typedef struct wide_cache {
    pgy_value *past, *rows;
    pgy_node *joined, *behind; /* the Concat, if it is no output of Attention; the last Cast */
} wide_cache;

static bool is_cast(const pgy_node *n, pgy_dtype from, pgy_dtype to)
{
    return n && pattern_is(n, "Cast") && pattern_dtype(n->inputs[0]) == from &&
           pattern_dtype(n->outputs[0]) == to;
}

/* Finds the Cast to float32 behind a new cache, which only that and `reader` read. */
static bool find_behind(wide_cache *c, const pgy_value *v, const pgy_node *reader)
{
    if (!v || v->is_output) return false;
    for (size_t i = 0; i < v->consumer_count; i++) {
        pgy_node *n = v->consumers[i];
        if (n == reader || (reader && pattern_is(n, "Shape") && n->graph == reader->graph))
            continue;
        if (c->behind || !is_cast(n, pattern_dtype(v), PGY_F32)) return false;
        c->behind = n;
    }
    return c->behind != NULL;
}

/* What another node makes of the cache may go into the mask of the Attention that is to make it. */
static bool is_read_for_shapes(const pgy_value *v)
{
    for (size_t i = 0; i < v->consumer_count; i++)
        if (!pattern_is(v->consumers[i], "Shape") || v->consumers[i]->graph != v->producer->graph)
            return false;
    return true;
}

static bool find_cache(wide_cache *c, const pgy_node *n, size_t input)
{
    pgy_value *v = n->inputs[input], *past = pattern_input(n, PAST_K - K + input);
    *c = (wide_cache){.rows = v};
    if (!past) {
        c->joined = join_of(v);
        if (!c->joined) return false;
        past = c->joined->inputs[0];
        c->rows = c->joined->inputs[1];
    } else {
        v = input < n->output_count ? n->outputs[input] : NULL;
    }
    if (!is_cast(past->producer, PGY_F32, pattern_dtype(n->inputs[Q]))) return false;
    c->past = past->producer->inputs[0];
    return find_behind(c, v, c->joined ? n : NULL) &&
           (!c->joined || is_read_for_shapes(c->behind->outputs[0]));
}

static pgy_value *widen(pattern *p, pgy_node *before, pgy_value *v)
{
    pgy_value *made = value_create_unique(before->graph, v->name, p->err);
    pgy_node *cast = made ? pattern_add(p, before, "Cast", &v, 1, made) : NULL;
    pattern_set_int(p, cast, "to", pgy_dtype_describe(PGY_F32)->onnx);
    return made;
}

/* Puts an Attention in float32 in the place of n, between Casts of the new rows and the result. */
static bool put_wide(pattern *p, pgy_node *n, const wide_cache *caches)
{
    const pgy_dtype t = pattern_dtype(n->inputs[Q]);
    pgy_value *y = value_create_unique(n->graph, n->outputs[0]->name, p->err);
    pgy_value *inputs[INPUTS] = {
        n->inputs[Q],   caches[0].rows, caches[1].rows,           pattern_input(n, MASK),
        caches[0].past, caches[1].past, pattern_input(n, LENGTHS)};
    pgy_value *outputs[] = {y, caches[0].behind->outputs[0], caches[1].behind->outputs[0]};
    for (size_t i = 0; i < INPUTS; i++) {
        if (!inputs[i] || pattern_dtype(inputs[i]) != t) continue;
        inputs[i] = widen(p, n, inputs[i]);
        if (!inputs[i]) return false;
    }
    for (size_t i = 0; i < 2 && caches[i].joined; i++) {
        attention_free_shapes(p, caches[i].joined->outputs[0], caches[i].joined);
        attention_free_shapes(p, outputs[1 + i], caches[i].joined);
    }
    pgy_node *made = y ? pattern_add_outputs(p, n, pattern_is(n, OWN) ? OWN : "Attention", inputs,
                                             inputs[LENGTHS] ? INPUTS : LENGTHS, outputs, 3)
                       : NULL;
    if (!made) return false;
    copy_attributes(p, made, n);
    for (size_t i = 0; i < 2; i++) pattern_drop(p, caches[i].behind);
    pattern_set_int(p, pattern_put(p, n, "Cast", &y, 1), "to", pgy_dtype_describe(t)->onnx);
    return true;
}

static bool widen_caches(pattern *p, pgy_node *n)
{
    wide_cache caches[2];
    if ((!pattern_is(n, "Attention") && !pattern_is(n, OWN)) || n->input_count <= V ||
        n->input_count > INPUTS || n->output_count > 3)
        return false;
    const pgy_dtype t = pattern_dtype(n->inputs[Q]);
    if ((t != PGY_F16 && t != PGY_BF16) || (!pattern_input(n, PAST_K) && !has_no_caches(n)) ||
        !find_cache(&caches[0], n, K) || !find_cache(&caches[1], n, V) ||
        !caches[0].joined != !caches[1].joined)
        return false;
    return put_wide(p, n, caches);
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule APART[] = {take_caches, NULL}, WIDE[] = {widen_caches, NULL};
    return pattern_run(g, "read_caches", pass_is_for_cuda(target) ? APART : WIDE, changes, err);
}

const pass PASS_read_caches = {
    .name = "read_caches", .summary = "Attention reads caches where they lie", .run_for = run};
