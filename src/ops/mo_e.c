/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MoE and QMoE: the k experts with the largest probabilities (softmax of the router's
 * scores) process each token, and the probabilities weight the sum of their results. An expert is
 * two linear layers with an activation between; a third layer, or the second half of the first,
 * gates it. QMoE's weights have 2, 4 or 8 bits and a scale per row or per block of a row. With
 * use_sparse_mixer, which the definition does not explain, the two experts' weights are those of
 * the sparse mixer of Phi-3.5-MoE. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_activation.h"
#include "ops/class_rows.h"

enum { FLOATS, INTEGERS }; /* op_def.user */
enum { X, ROUTER };

#define COMMON                                                                                    \
    {"activation_alpha", OP_ATTR_FLOAT, false, "1"},                                              \
        {"activation_beta", OP_ATTR_FLOAT, false, "0"},                                           \
        {"activation_type", OP_ATTR_STRING, false, "relu"}, {"k", OP_ATTR_INT, false, "1"},       \
        {"normalize_routing_weights", OP_ATTR_INT, false, "0"},                                   \
        {"swiglu_fusion", OP_ATTR_INT, false, "0"}, {"swiglu_limit", OP_ATTR_FLOAT, false, NULL}, \
    {                                                                                             \
        "use_sparse_mixer", OP_ATTR_INT, false, "0"                                               \
    }
static const op_attr_def ATTRS[] = {COMMON, {NULL}};
static const op_attr_def Q_ATTRS[] = {COMMON,
                                      {"accuracy_level", OP_ATTR_INT, false, "0"},
                                      {"block_size", OP_ATTR_INT, false, "0"},
                                      {"expert_weight_bits", OP_ATTR_INT, false, "4"},
                                      {"fc1_expert_weight_bits", OP_ATTR_INT, false, NULL},
                                      {"fc2_expert_weight_bits", OP_ATTR_INT, false, NULL},
                                      {"fc3_expert_weight_bits", OP_ATTR_INT, false, NULL},
                                      {"quant_type", OP_ATTR_STRING, false, "int"},
                                      {"weights_prepacked", OP_ATTR_INT, false, "-1"},
                                      {NULL}};

/* Indices of the node's inputs for one of the (up to three) linear layers. */
typedef struct layer_inputs {
    size_t weights, bias, scales, zeros, router_weights;
} layer_inputs;

static layer_inputs inputs_of(const op_node *n, size_t layer)
{
    if (n->def->user == INTEGERS)
        return (layer_inputs){2 + 3 * layer, 4 + 3 * layer, 3 + 3 * layer, 11 + layer, 14};
    return (layer_inputs){2 + 2 * layer, 3 + 2 * layer, SIZE_MAX, SIZE_MAX, SIZE_MAX};
}

static int64_t bits_of(const op_node *n, size_t layer)
{
    static const char *const NAMES[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                        "fc3_expert_weight_bits"};
    return op_attr_int(n, NAMES[layer], op_attr_int(n, "expert_weight_bits", 4));
}

static pgy_status check_quantised(const op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    for (size_t i = 0; i < 3; i++)
        if (bits_of(n, i) != 2 && bits_of(n, i) != 4 && bits_of(n, i) != 8)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "the weights have %" PRId64 " bits, but must have 2, 4 or 8",
                            bits_of(n, i));
    if (!op_attr_is(n, "quant_type", "int", "int") || op_attr_int(n, "weights_prepacked", -1) == 1)
        return op_error(n, err, PGY_E_UNSUPPORTED,
                        "only integer weights that are not prepacked are supported");
    const int64_t block = op_attr_int(n, "block_size", 0);
    if (block < 0 || block > INT32_MAX)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute block_size is %" PRId64 ", which is out of range", block);
    for (size_t i = 15; i < n->input_count; i++)
        if (op_has_input(c, i))
            return op_error(n, err, PGY_E_UNSUPPORTED, "input %zu is not supported", i);
    return PGY_OK;
}

/* Size d of an input, from the end if d < 0; -1: not known. */
static int64_t size_of(const op_infer *c, size_t input, int32_t d)
{
    if (input >= c->node->input_count || !op_has_input(c, input)) return -1;
    const op_value *v = &c->inputs[input];
    if (v->rank < 1) return -1;
    const dim size = v->dims[d < 0 ? v->rank + d : d];
    return dim_is_const(size) ? size.value : -1;
}

static bool differs(int64_t have, int64_t wanted)
{
    return have >= 0 && wanted >= 0 && have != wanted;
}

/* Do the known sizes of a layer's inputs fit `out` and `in`, if these are known? */
static bool layer_fits(const op_infer *c, size_t layer, int64_t experts, int64_t out, int64_t in)
{
    const op_node *n = c->node;
    const layer_inputs at = inputs_of(n, layer);
    const int64_t per = n->def->user == INTEGERS ? 8 / bits_of(n, layer) : 1;
    return !differs(size_of(c, at.weights, 0), experts) &&
           !differs(size_of(c, at.weights, 1), out) &&
           !(in >= 0 && differs(size_of(c, at.weights, 2), in / per)) &&
           !(in >= 0 && in % per && size_of(c, at.weights, 2) >= 0) &&
           !differs(size_of(c, at.bias, 0), experts) && !differs(size_of(c, at.bias, 1), out) &&
           !differs(size_of(c, at.scales, 0), experts) && !differs(size_of(c, at.scales, 1), out);
}

/* Checks the known sizes against each other, as far as the definition needs them. */
static pgy_status check_sizes(const op_infer *c, int64_t k, int64_t fusion, pgy_error *err)
{
    const op_node *n = c->node;
    const size_t second = inputs_of(n, 1).weights;
    const int64_t experts = size_of(c, ROUTER, 1), hidden = size_of(c, X, -1);
    int64_t inter = size_of(c, second, 2), first;
    if (n->def->user == INTEGERS && inter >= 0 &&
        __builtin_mul_overflow(inter, 8 / bits_of(n, 1), &inter))
        return op_error(n, err, PGY_E_SHAPE, "the weights of layer 2 are too large");
    if (!op_attr_is(n, "activation_type", "swiglu", "relu")) fusion = 0;
    if (experts >= 0 && k > experts)
        return op_error(n, err, PGY_E_SHAPE, "cannot choose %" PRId64 " of %" PRId64 " experts", k,
                        experts);
    if (inter < 0 || __builtin_mul_overflow(inter, fusion ? 2 : 1, &first)) first = -1;
    for (size_t i = 0; i < (fusion ? 2u : 3u); i++) {
        const int64_t out = i == 0 ? first : i == 1 ? hidden : inter, in = i == 1 ? inter : hidden;
        if (!layer_fits(c, i, experts, out, in))
            return op_error(n, err, PGY_E_SHAPE,
                            "the weights or the bias of layer %zu do not have the shape for "
                            "%" PRId64 " experts with %" PRId64 " inputs and %" PRId64 " outputs",
                            i + 1, experts, in, out);
    }
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t k = op_attr_int(n, "k", 1), fusion = op_attr_int(n, "swiglu_fusion", 0);
    pgy_status st = rank_check(c, X, 2, 3, err);
    if (!st) st = rank_check(c, ROUTER, 2, 2, err);
    for (size_t i = 0; !st && i < 3; i++) {
        const layer_inputs in = inputs_of(n, i);
        st = rank_check(c, in.weights, 3, 3, err);
        if (!st) st = rank_check(c, in.bias, 2, 2, err);
        if (!st && n->def->user == INTEGERS) st = rank_check(c, in.scales, 2, 3, err);
    }
    if (!st && n->def->user == INTEGERS) st = check_quantised(c, err);
    if (st) return st;
    if (k < 1 || fusion < 0 || fusion > 2)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute k is %" PRId64 " and swiglu_fusion is %" PRId64
                        "; k must be positive, swiglu_fusion 0 to 2",
                        k, fusion);
    if (op_attr_int(n, "use_sparse_mixer", 0) && k != 2)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute k is %" PRId64 ", but use_sparse_mixer needs 2", k);
    st = check_sizes(c, k, fusion, err);
    if (st) return st;
    op_set_like(c, 0, X);
    return PGY_OK;
}

/* ---- Weights -------------------------------------------------------------------------------- */

typedef struct linear {
    const double *weights, *bias; /* [experts, out, in]; [experts, out] or NULL */
    double *own;                  /* memory of the dequantised weights of QMoE; NULL for MoE */
    size_t out, in;
} linear;

typedef struct experts {
    const op_eval *c;
    size_t tokens, hidden, inter, count, k, fusion;
    bool normalise, gated; /* normalise: weights of the chosen experts sum to 1; gated: the
                              activation is SwiGLU */
    bool mixes;            /* weights are those of the sparse mixer */
    double alpha, beta, limit;
    activation_function apply;
    linear layers[3];
} experts;

static double silu(double x, const double *params)
{
    (void)params;
    return x / (1 + exp(-x));
}
static double relu(double x, const double *params)
{
    (void)params;
    return x < 0 ? 0 : x;
}
static double gelu(double x, const double *params)
{
    (void)params;
    return activation_gelu(x);
}
static double identity(double x, const double *params)
{
    (void)params;
    return x;
}

static pgy_status find_activation(experts *e, pgy_error *err)
{
    static const struct {
        const char *name;
        activation_function run;
    } NAMED[] = {
        {"relu", relu}, {"gelu", gelu}, {"silu", silu}, {"identity", identity}, {"swiglu", silu}};
    for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++)
        if (op_attr_is(e->c->node, "activation_type", NAMED[i].name, "relu"))
            e->apply = NAMED[i].run;
    e->gated = op_attr_is(e->c->node, "activation_type", "swiglu", "relu");
    if (e->apply) return PGY_OK;
    return op_error(e->c->node, err, PGY_E_UNSUPPORTED,
                    "attribute activation_type has an unknown value");
}

static int64_t field(const int64_t *bytes, size_t i, size_t bits)
{
    return bytes[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
}

/* Dequantises `rows` rows of `in` weights, with scales per row or per block. */
static pgy_status dequantise(linear *l, const experts *e, size_t layer, pgy_error *err)
{
    const op_eval *c = e->c;
    const layer_inputs in = inputs_of(c->node, layer);
    const size_t bits = (size_t)bits_of(c->node, layer), per = 8 / bits;
    const size_t block = (size_t)op_attr_int(c->node, "block_size", 0);
    const size_t rows = e->count * l->out, bytes = l->in / per;
    const size_t blocks = block ? (l->in + block - 1) / block : 1;
    const size_t zero_bytes = block ? (blocks * bits + 7) / 8 : 0;
    const size_t zero_plane = (l->out * bits + 7) / 8;
    const int64_t *q = in_i64(c, in.weights), *zeros = in_i64(c, in.zeros);
    const size_t wanted = block ? rows * zero_bytes : e->count * zero_plane;
    if (!in_f64(c, in.scales) || in_count(c, in.scales) != rows * blocks ||
        in_count(c, in.weights) != rows * bytes || (zeros && in_count(c, in.zeros) != wanted))
        return op_error(
            c->node, err, PGY_E_SHAPE,
            "the numbers of weights, scales and zero points of layer %zu do not fit each other",
            layer + 1);
    pgy_status st = workspace_alloc((void **)&l->own, c, rows * l->in, sizeof *l->own, err);
    if (st) return st;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < l->in; i++) {
            const size_t b = block ? i / block : 0;
            double zero = (double)(1 << (bits - 1));
            if (zeros && block) zero = (double)field(zeros + r * zero_bytes, b, bits);
            if (zeros && !block)
                zero = (double)field(zeros + r / l->out * zero_plane, r % l->out, bits);
            l->own[r * l->in + i] = ((double)field(q + r * bytes, i, bits) - zero) *
                                    in_f64(c, in.scales)[r * blocks + b];
        }
    l->weights = l->own;
    return PGY_OK;
}

static pgy_status read_layer(experts *e, size_t layer, size_t out, size_t in, pgy_error *err)
{
    const op_eval *c = e->c;
    const layer_inputs at = inputs_of(c->node, layer);
    const bool quantised = c->node->def->user == INTEGERS;
    const int64_t *s = in_shape(c, at.weights);
    const size_t per = quantised ? 8 / (size_t)bits_of(c->node, layer) : 1;
    linear *l = &e->layers[layer];
    if (!s) return PGY_OK;
    *l = (linear){.bias = in_f64(c, at.bias), .out = out, .in = in};
    if ((size_t)s[0] != e->count || (size_t)s[1] != out || (size_t)s[2] * per != in ||
        (l->bias && in_count(c, at.bias) != e->count * out))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the weights or the bias of layer %zu do not have the shape for %zu "
                        "experts with %zu inputs and %zu outputs",
                        layer + 1, e->count, in, out);
    if (quantised) return dequantise(l, e, layer, err);
    l->weights = in_f64(c, at.weights);
    return PGY_OK;
}

/* ---- Tokens --------------------------------------------------------------------------------- */

static void apply_linear(const linear *l, size_t expert, const double *x, double *y)
{
    for (size_t r = 0; r < l->out; r++) {
        const double *w = l->weights + (expert * l->out + r) * l->in;
        double sum = 0;
        for (size_t i = 0; i < l->in; i++) sum += w[i] * x[i];
        y[r] = sum + (l->bias ? l->bias[expert * l->out + r] : 0);
    }
}

static double swiglu(const experts *e, double gate, double x)
{
    if (!isnan(e->limit)) {
        gate = fmin(gate, e->limit);
        x = fmax(fmin(x, e->limit), -e->limit);
    }
    return gate / (1 + exp(-e->alpha * gate)) * (x + e->beta);
}

/* h: result of the first layer; other: result of the third layer, if it exists. */
static void activate(const experts *e, double *h, const double *other)
{
    for (size_t i = 0; i < e->inter; i++) {
        if (e->gated && e->fusion == 1)
            h[i] = swiglu(e, h[2 * i], h[2 * i + 1]);
        else if (e->gated)
            h[i] = swiglu(e, h[i], e->fusion == 2 ? h[e->inter + i] : other ? other[i] : 1);
        else
            h[i] = e->apply(h[i], NULL) * (other ? other[i] : 1);
    }
}

/* The expert with the next largest score; among equal scores the first one. */
static size_t take_best(const double *scores, bool *taken, size_t count)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (!taken[i] && (best == SIZE_MAX || scores[i] > scores[best])) best = i;
    taken[best] = true;
    return best;
}

/* The weight of `best` by the sparse mixer, as ONNX Runtime's CUDA provider and the model's own
 * code compute it: the softmax over those experts whose scores are within 2 % of the best, among
 * all that were not chosen before. */
static double mixed_weight(const double *scores, const bool *taken, size_t count, size_t best)
{
    const double top = scores[best];
    double sum = 1;
    for (size_t i = 0; i < count; i++)
        if (!taken[i] && !(top - scores[i] > 0.02 * fmax(fabs(scores[i]), top)))
            sum += exp(scores[i] - top);
    return 1 / sum;
}

static void run_token(const experts *e, size_t token, double *room, bool *taken)
{
    const double *scores = in_f64(e->c, ROUTER) + token * e->count;
    const double *other = in_f64(e->c, inputs_of(e->c->node, 0).router_weights);
    double *h = room, *third = h + 2 * e->inter, *part = third + e->inter, sum = 0, all = 0;
    double *y = out_f64(e->c, 0) + token * e->hidden, top = -INFINITY;
    memset(taken, 0, e->count * sizeof *taken);
    for (size_t i = 0; i < e->count; i++) top = fmax(top, scores[i]);
    for (size_t i = 0; i < e->count; i++) sum += exp(scores[i] - top);
    for (size_t n = 0; n < e->k; n++) {
        const size_t best = take_best(scores, taken, e->count);
        const double weight = other      ? other[token * e->count + best]
                              : e->mixes ? mixed_weight(scores, taken, e->count, best)
                                         : exp(scores[best] - top) / sum;
        const double *x = in_f64(e->c, X) + token * e->hidden;
        all += weight;
        apply_linear(&e->layers[0], best, x, h);
        if (e->layers[2].weights) apply_linear(&e->layers[2], best, x, third);
        activate(e, h, e->layers[2].weights ? third : NULL);
        apply_linear(&e->layers[1], best, h, part);
        for (size_t i = 0; i < e->hidden; i++) y[i] += weight * part[i];
    }
    for (size_t i = 0; e->normalise && i < e->hidden; i++) y[i] /= all;
}

static pgy_status prepare(experts *e, pgy_error *err)
{
    const op_eval *c = e->c;
    const op_node *n = c->node;
    const int64_t *x = in_shape(c, X), *router = in_shape(c, ROUTER);
    const size_t second = inputs_of(n, 1).weights;
    const size_t other = inputs_of(n, 0).router_weights;
    pgy_status st = find_activation(e, err);
    if (st) return st;
    e->hidden = (size_t)x[in_rank(c, X) - 1];
    e->tokens = e->hidden ? in_count(c, X) / e->hidden : 0;
    e->count = (size_t)router[1];
    e->k = (size_t)op_attr_int(n, "k", 1);
    e->fusion = e->gated ? (size_t)op_attr_int(n, "swiglu_fusion", 0) : 0;
    e->mixes = op_attr_int(n, "use_sparse_mixer", 0) != 0 && !in_f64(c, other);
    /* QMoE of ONNX Runtime's CPU provider takes the softmax of the chosen scores only. */
    e->normalise = !e->mixes && (op_attr_int(n, "normalize_routing_weights", 0) != 0 ||
                                 (n->def->user == INTEGERS && !in_f64(c, other)));
    e->alpha = op_attr_float(n, "activation_alpha", 1);
    e->beta = op_attr_float(n, "activation_beta", 0);
    e->limit = op_attr_float(n, "swiglu_limit", (double)NAN);
    e->inter = (size_t)in_shape(c, second)[2];
    if (n->def->user == INTEGERS) e->inter *= 8 / (size_t)bits_of(n, 1);
    if ((size_t)router[0] != e->tokens || e->k > e->count ||
        (in_f64(c, other) && in_count(c, other) != in_count(c, ROUTER)))
        return op_error(n, err, PGY_E_SHAPE,
                        "cannot choose %zu of %zu experts for %zu tokens with %" PRId64
                        " rows of router_probs",
                        e->k, e->count, e->tokens, router[0]);
    st = read_layer(e, 0, e->fusion ? 2 * e->inter : e->inter, e->hidden, err);
    if (!st) st = read_layer(e, 1, e->hidden, e->inter, err);
    if (!st && !e->fusion) st = read_layer(e, 2, e->inter, e->hidden, err);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    experts e = {.c = c};
    double *room = NULL;
    bool *taken = NULL;
    const bool quantised = c->node->def->user == INTEGERS;
    pgy_status st = inputs_check(c, quantised ? "FFIffIffiffiiif" : "FFFfFfff", err);
    if (!st) st = prepare(&e, err);
    if (!st) st = workspace_alloc((void **)&room, c, 3 * e.inter + e.hidden, sizeof *room, err);
    if (!st) st = workspace_alloc((void **)&taken, c, e.count, sizeof *taken, err);
    for (size_t token = 0; !st && token < e.tokens; token++) run_token(&e, token, room, taken);
    for (size_t i = 0; i < 3; i++) mem_free(e.layers[i].own);
    mem_free(room);
    mem_free(taken);
    return st;
}

const op_def OP_mo_e[] = {
    {"MoE", "com.microsoft", 1, 0, 5, 8, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, NULL, FLOATS, NULL,
     .signature = "T = float16 float32 float64 bfloat16; input:T, router_probs:T, "
                  "fc1_experts_weights:T, ?fc1_experts_bias:T, fc2_experts_weights:T, "
                  "?fc2_experts_bias:T, ?fc3_experts_weights:T, ?fc3_experts_bias:T -> output:T"},
    {"QMoE", "com.microsoft", 1, 0, 7, 21, 1, 1, 0, Q_ATTRS, TYPES_F4, infer, eval, NULL, INTEGERS,
     NULL,
     .signature =
         "T = float16 float32 float64 bfloat16; W = uint8 int8 float8e4m3fn float4; S = "
         "float16 float32 float64 bfloat16; input:T, router_probs:T, fc1_experts_weights:W, "
         "?fc1_scales:S, ?fc1_experts_bias:T, fc2_experts_weights:W, fc2_scales:S, "
         "?fc2_experts_bias:T, ?fc3_experts_weights:W, ?fc3_scales:S, ?fc3_experts_bias:T, "
         "?fc1_zero_points:W, ?fc2_zero_points:W, ?fc3_zero_points:W, ?router_weights:T, "
         "?input_15:all, ?input_16:all, ?input_17:all, ?input_18:all, ?input_19:all, ?input_20:all "
         "-> output:T"},
    {NULL},
};
