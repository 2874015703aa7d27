/* SPDX-License-Identifier: Apache-2.0 */
/* An average of the results of a pointwise convolution becomes the convolution of an average: both
 * are linear, and the convolution then has fewer pixels. The transitions of DenseNet are exported
 * in this order. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

/* A convolution to fewer channels is cheap, and the pool of its input may have many more. */
enum { LEAST_CHANNELS = 16 };

static bool all_are(const pgy_node *n, const char *name, int64_t value)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    for (size_t i = 0; a && i < a->int_count; i++)
        if (a->ints[i] != value) return false;
    return true;
}

/* A convolution of single pixels, each of which it reads once. */
static bool is_pointwise(const pgy_node *conv)
{
    const pgy_value *w = pattern_input(conv, 1);
    const int32_t rank = pattern_rank(w);
    if (rank < 3 || !pattern_is_float(w) || !all_are(conv, "strides", 1) ||
        !all_are(conv, "pads", 0) || pattern_size(w, 0) < LEAST_CHANNELS)
        return false;
    for (int32_t d = 2; d < rank; d++)
        if (pattern_size(w, d) != 1) return false;
    return true;
}

/* Does the pool have fewer results than pixels, each a true average? Counted padding has no bias,
 * nor has a dilated window that reads nothing but padding. */
static bool averages(const pgy_node *pool)
{
    if (pattern_is(pool, "GlobalAveragePool")) return true;
    const bool adds_zeros =
        pattern_int(pool, "count_include_pad", 0) == 1 || !all_are(pool, "dilations", 1);
    const bool pads = !all_are(pool, "pads", 0) || pattern_int(pool, "ceil_mode", 0) == 1 ||
                      !(pattern_text_is(pool, "auto_pad", "NOTSET", "NOTSET") ||
                        pattern_text_is(pool, "auto_pad", "VALID", "NOTSET"));
    return pattern_is(pool, "AveragePool") && !all_are(pool, "strides", 1) && !(adds_zeros && pads);
}

static bool pool_first(pattern *p, pgy_node *n)
{
    static const char *const POOL[] = {"auto_pad",  "ceil_mode", "count_include_pad",
                                       "dilations", "pads",      "kernel_shape",
                                       "strides"};
    static const char *const CONV[] = {"group", "kernel_shape"};
    const pgy_node *conv = averages(n) ? pattern_inner(pattern_input(n, 0), "Conv") : NULL;
    if (!conv || !is_pointwise(conv)) return false;
    pgy_value *pooled = pattern_make(p, n, NULL, n->op_type, &conv->inputs[0], 1);
    if (!pooled) return false;
    pgy_node *pool = pooled->producer;
    pool->name = n->name;
    for (size_t i = 0; i < sizeof POOL / sizeof *POOL; i++) pattern_copy(p, pool, n, POOL[i]);
    pgy_value *inputs[] = {pooled, pattern_input(conv, 1), pattern_input(conv, 2)};
    pgy_node *made =
        pattern_put(p, n, "Conv", inputs, conv->input_count < 3 ? conv->input_count : 3);
    if (made) made->name = conv->name;
    for (size_t i = 0; i < sizeof CONV / sizeof *CONV; i++) pattern_copy(p, made, conv, CONV[i]);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {pool_first, NULL};
    return pattern_run(g, "pool_before_conv", RULES, changes, err);
}

const pass PASS_pool_before_conv = {
    .name = "pool_before_conv", .summary = "averages before pointwise convolutions", .run = run};
