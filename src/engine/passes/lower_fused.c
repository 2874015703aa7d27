/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that ONNX Runtime's optimiser makes of others, and old names: they become what they
 * stand for, which has kernels and can be fused anew. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

/* ---- FusedGemm ------------------------------------------------------------------------------ */

static const struct {
    const char *name, *second; /* attribute of the second parameter */
} ACTIVATIONS[] = {{"Relu", NULL},          {"Tanh", NULL},     {"Sigmoid", NULL},
                   {"LeakyRelu", NULL},     {"Elu", NULL},      {"Celu", NULL},
                   {"Softplus", NULL},      {"Softsign", NULL}, {"ThresholdedRelu", NULL},
                   {"HardSigmoid", "beta"}, {"Selu", "gamma"}};

/* Its index in the list; -1: another one, or none. */
static int activation_of(const pgy_node *n)
{
    for (int i = 0; i < (int)(sizeof ACTIVATIONS / sizeof *ACTIVATIONS); i++)
        if (pattern_text_is(n, "activation", ACTIVATIONS[i].name, "")) return i;
    return -1;
}

/* Its parameters have attributes activation_alpha, activation_beta and activation_gamma here. */
static void copy_parameters(pattern *p, pgy_node *made, const pgy_node *n, const char *second)
{
    pattern_copy_as(p, made, "alpha", n, "activation_alpha");
    if (second)
        pattern_copy_as(p, made, second, n,
                        *second == 'g' ? "activation_gamma" : "activation_beta");
}

static bool lower_gemm(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"alpha", "beta", "transA", "transB"};
    if (!pattern_is(n, "com.microsoft:FusedGemm") || !pattern_is_float(n->outputs[0])) return false;
    const int activation = activation_of(n);
    pgy_value *y =
        activation < 0 ? NULL : pattern_make(p, n, NULL, "Gemm", n->inputs, n->input_count);
    if (!y) return false;
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++)
        pattern_copy(p, y->producer, n, KEPT[i]);
    pgy_node *made = pattern_put(p, n, ACTIVATIONS[activation].name, &y, 1);
    if (made) copy_parameters(p, made, n, ACTIVATIONS[activation].second);
    return made != NULL;
}

/* ---- FusedMatMul ---------------------------------------------------------------------------- */

/* The matrices of v with their axes exchanged. */
static pgy_value *turn_matrices(pattern *p, pgy_node *n, pgy_value *v)
{
    int64_t order[PGY_MAX_RANK];
    const int32_t rank = pattern_rank(v);
    for (int32_t d = 0; d < rank; d++) order[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
    pgy_value *y = pattern_make(p, n, NULL, "Transpose", &v, 1);
    if (y) pattern_set_ints(p, y->producer, "perm", order, (size_t)rank);
    return y;
}

/* MatMul of what is transposed, times alpha. Passes then see the scores of an attention, and
 * weights that take in what follows; fuse_matmul fuses anew what is left. In 16 bits, the result
 * would round twice if it is not. */
static bool lower_fused_product(pattern *p, pgy_node *n)
{
    static const char *const TURNS[] = {"transA", "transB"};
    if (!pattern_is(n, "com.microsoft:FusedMatMul") || n->input_count != 2 ||
        pattern_dtype(n->outputs[0]) != PGY_F32 || pattern_int(n, "transBatchA", 0) ||
        pattern_int(n, "transBatchB", 0))
        return false;
    const double alpha = pattern_float(n, "alpha", 1);
    pgy_value *operands[2];
    for (size_t i = 0; i < 2; i++)
        if (pattern_rank(n->inputs[i]) < 2) return false;
    for (size_t i = 0; i < 2; i++) {
        operands[i] = n->inputs[i];
        if (pattern_int(n, TURNS[i], 0)) operands[i] = turn_matrices(p, n, operands[i]);
        if (!operands[i]) return false;
    }
    if (alpha == 1) return pattern_put(p, n, "MatMul", operands, 2);
    pgy_value *const scaled[] = {
        pattern_make(p, n, NULL, "MatMul", operands, 2),
        pattern_weight(p, n->graph, n->outputs[0]->name, PGY_F32, 0, NULL, &alpha)};
    return scaled[0] && scaled[1] && pattern_put(p, n, "Mul", scaled, 2);
}

/* ---- Other names ---------------------------------------------------------------------------- */

static bool lower_product(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"alpha", "transA", "transB"};
    if (!pattern_is(n, "com.microsoft:TransposeMatMul") || n->input_count != 2) return false;
    pgy_node *made = pattern_put(p, n, "com.microsoft:FusedMatMul", n->inputs, 2);
    for (size_t i = 0; made && i < sizeof KEPT / sizeof *KEPT; i++)
        pattern_copy(p, made, n, KEPT[i]);
    return made != NULL;
}

static bool lower_new_axis(pattern *p, pgy_node *n)
{
    const int64_t *axis;
    size_t count;
    if (!pattern_is(n, "com.microsoft:ExpandDims") || n->input_count != 2 ||
        !pattern_is_constant(p, n->inputs[1]))
        return false;
    if (!pattern_ints(p, n->inputs[1], &axis, &count) || count != 1) return false;
    pgy_value *const inputs[] = {n->inputs[0], pattern_list(p, n, NULL, axis, 1)};
    return inputs[1] && pattern_put(p, n, "Unsqueeze", inputs, 2);
}

/* ---- Attention for one token ---------------------------------------------------------------- */

enum { QUERY, KEY, VALUE, MASK, SCORES, PAST_K, PAST_V, PAST_LENGTH, BEAMS = 9, BIAS };

static bool is_shared(const pgy_node *n)
{
    return pattern_input(n, PAST_K) && pattern_int(n, "past_present_share_buffer", 0);
}

/* With caches that grow, it is MultiHeadAttention with its inputs in another order. */
static bool lower_step(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"mask_filter_value", "num_heads", "scale"};
    if (!pattern_is(n, "com.microsoft:DecoderMaskedMultiHeadAttention") || pattern_input(n, BEAMS))
        return false;
    if (is_shared(n)) return false;
    pgy_value *const inputs[] = {pattern_input(n, 0),      pattern_input(n, 1),
                                 pattern_input(n, 2),      pattern_input(n, BIAS),
                                 pattern_input(n, MASK),   pattern_input(n, SCORES),
                                 pattern_input(n, PAST_K), pattern_input(n, PAST_V)};
    pgy_node *made = pattern_put_outputs(p, n, "com.microsoft:MultiHeadAttention", inputs, 8,
                                         n->outputs, n->output_count);
    for (size_t i = 0; made && i < sizeof KEPT / sizeof *KEPT; i++)
        pattern_copy(p, made, n, KEPT[i]);
    return made != NULL;
}

/* May lower_shared_step take it? */
static bool can_share(const pgy_node *n)
{
    const pgy_value *q = n->inputs[QUERY], *key = pattern_input(n, KEY),
                    *value = pattern_input(n, VALUE), *bias = pattern_input(n, BIAS);
    const int64_t width = pattern_size(q, 2);
    if (!pattern_input(n, PAST_V) || !pattern_input(n, PAST_LENGTH) || pattern_rank(q) != 3 ||
        pattern_size(q, 1) != 1 || pattern_size(q, 0) < 0 || width <= 0 || n->output_count > 3 ||
        !key != !value || pattern_dtype(q) == PGY_F64)
        return false;
    if (!key) return !bias || pattern_size(bias, 0) == width;
    return pattern_rank(key) == 3 && pattern_rank(value) == 3 && pattern_size(key, 2) == width &&
           pattern_size(value, 2) == width && (!bias || pattern_size(bias, 0) == 3 * width);
}

static pgy_value *make_two(pattern *p, pgy_node *n, const char *op, pgy_value *a, pgy_value *b)
{
    return pattern_make(p, n, NULL, op, (pgy_value *const[]){a, b}, 2);
}

/* Adds part `part` of the bias, all of it if there is one tensor. */
static pgy_value *add_bias(pattern *p, pgy_node *n, pgy_value *x, int64_t part)
{
    pgy_value *bias = pattern_input(n, BIAS);
    const int64_t width = x ? pattern_size(x, 2) : 0, from = part * width, to = from + width;
    if (!x || !bias) return x;
    if (pattern_size(bias, 0) != width) {
        pgy_value *const inputs[] = {bias, pattern_list(p, n, NULL, &from, 1),
                                     pattern_list(p, n, NULL, &to, 1)};
        bias = pattern_make(p, n, NULL, "Slice", inputs, 3);
    }
    return make_two(p, n, "Add", x, bias);
}

static pgy_value *make_number(pattern *p, pgy_node *n, pgy_dtype dtype, double value)
{
    const int64_t shape[] = {1};
    return pattern_weight(p, n->graph, n->outputs[0]->name, dtype, 1, shape, &value);
}

/* What the mask and the bias of scores add: [batch, heads or 1, 1, keys]; NULL: nothing. */
static pgy_value *make_scores(pattern *p, pgy_node *n)
{
    static const int64_t AXES[] = {1, 2};
    pgy_value *mask = pattern_input(n, MASK), *scores = pattern_input(n, SCORES);
    if (!mask) return scores;
    const pgy_dtype dtype = pattern_dtype(n->inputs[QUERY]);
    const double filter = pattern_float(n, "mask_filter_value", -10000);
    pgy_value *const choice[] = {make_two(p, n, "Equal", mask, make_number(p, n, PGY_I32, 0)),
                                 make_number(p, n, dtype, filter), make_number(p, n, dtype, 0)};
    pgy_value *y = pattern_make(p, n, NULL, "Where", choice, 3);
    y = make_two(p, n, "Unsqueeze", y, pattern_list(p, n, NULL, AXES, 2));
    return scores ? make_two(p, n, "Add", y, scores) : y;
}

/* With caches of fixed length it is GroupQueryAttention, where all sequences have one length: bias
 * and mask are added before. */
static bool lower_shared_step(pattern *p, pgy_node *n)
{
    const int64_t one = 1;
    if (!pattern_is(n, "com.microsoft:DecoderMaskedMultiHeadAttention") ||
        pattern_input(n, BEAMS) || !is_shared(n) || !can_share(n))
        return false;
    const int64_t batch = pattern_size(n->inputs[QUERY], 0);
    const int64_t heads = pattern_int(n, "num_heads", 0);
    pgy_value *past =
        make_two(p, n, "Reshape", n->inputs[PAST_LENGTH], pattern_list(p, n, NULL, &one, 1));
    pgy_value *scores = make_scores(p, n);
    pgy_value *const inputs[] = {
        add_bias(p, n, n->inputs[QUERY], 0),
        add_bias(p, n, pattern_input(n, KEY), 1),
        add_bias(p, n, pattern_input(n, VALUE), 2),
        pattern_input(n, PAST_K),
        pattern_input(n, PAST_V),
        make_two(p, n, "Expand", past, pattern_list(p, n, NULL, &batch, 1)),
        make_two(p, n, "Add", past, make_number(p, n, PGY_I32, 1)),
        NULL,
        NULL,
        NULL,
        scores,
    };
    if (p->status) return false;
    pgy_node *made = pattern_put_outputs(p, n, "pgy:GroupQueryAttention", inputs, scores ? 11 : 7,
                                         n->outputs, n->output_count);
    pattern_set_int(p, made, "num_heads", heads);
    pattern_set_int(p, made, "kv_num_heads", heads);
    pattern_copy(p, made, n, "scale");
    return made != NULL;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {
        lower_gemm,        lower_product, lower_fused_product, lower_new_axis, lower_step,
        lower_shared_step, NULL};
    return pattern_run(g, "lower_fused", RULES, changes, err);
}

const pass PASS_lower_fused = {.name = "lower_fused",
                               .summary = "operators that ONNX Runtime's optimiser makes, as those "
                                          "that they stand for",
                               .run = run};
