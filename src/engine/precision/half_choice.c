/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers run in 16-bit floats, or in float32 where that was asked for. */
#include <string.h>

#include "base/log.h"
#include "engine/precision/half.h"
#include "graph/mask.h"

static const char LOG_PATH[] = "engine/precision/half_choice.c";

/* Operators that run in 16-bit floats without being named. Others need the range or precision of
 * float32 (Range, CumSum, TopK, Pow, sums of squares, losses, random numbers), or are rare. */
static const char *const HALVED[] = {
    /* sums of products */
    "Conv",
    "ConvTranspose",
    "MatMul",
    "Gemm",
    "Einsum",
    /* image operators: pooling, normalisation of channels, resizing */
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "BatchNormalization",
    "InstanceNormalization",
    "LRN",
    "Resize",
    "DepthToSpace",
    "SpaceToDepth",
    /* elementwise arithmetic */
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Neg",
    "Abs",
    "Min",
    "Max",
    "Sum",
    "Mean",
    "Where",
    "Sqrt",
    "Erf",
    /* activations */
    "Relu",
    "LeakyRelu",
    "PRelu",
    "Clip",
    "Sigmoid",
    "Tanh",
    "HardSigmoid",
    "HardSwish",
    "Elu",
    "Selu",
    "Celu",
    "Gelu",
    "Mish",
    "Swish",
    "Softplus",
    "Softsign",
    "ThresholdedRelu",
    /* softmax, normalisations, reductions */
    "Softmax",
    "LogSoftmax",
    "LayerNormalization",
    "GroupNormalization",
    "RMSNormalization",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceSum",
    "Attention",
    "RotaryEmbedding",
    /* what fusions make, before types are chosen and in optimised models */
    "com.microsoft:Gelu",
    "com.microsoft:FastGelu",
    "com.microsoft:QuickGelu",
    "com.microsoft:BiasGelu",
    "com.microsoft:FusedMatMul",
    "com.microsoft:FusedConv",
    "com.microsoft:FusedGemm",
    "com.microsoft:SkipLayerNormalization",
    "com.microsoft:SkipSimplifiedLayerNormalization",
    "com.microsoft:RotaryEmbedding",
    "com.microsoft:MultiHeadAttention",
};

/* More of them, which only move elements. */
static const char *const MOVES[] = {
    "Reshape",        "Transpose", "Concat",   "Split",     "Slice",   "Gather",
    "GatherElements", "GatherND",  "Squeeze",  "Unsqueeze", "Flatten", "Expand",
    "Tile",           "Pad",       "Identity", "Dropout",   "Trilu",
};

static const char *const PRODUCTS[] = {
    "Conv",   "ConvTranspose",           "MatMul",
    "Gemm",   "com.microsoft:FusedConv", "com.microsoft:FusedMatMul",
    "Einsum", "com.microsoft:FusedGemm",
};

/* Operators whose float type cannot be changed: they define types themselves, or have bodies. */
static const char *const NEVER[] = {"QuantizeLinear",
                                    "DequantizeLinear",
                                    "DynamicQuantizeLinear",
                                    "Cast",
                                    "CastLike",
                                    "Constant",
                                    "ConstantOfShape",
                                    "If",
                                    "Loop",
                                    "Scan",
                                    "RandomNormal",
                                    "RandomUniform",
                                    "RandomNormalLike",
                                    "EyeLike",
                                    "Bernoulli",
                                    "RandomUniformLike"};

static const char *const ACTIVATIONS[] = {"Relu", "Clip",      "LeakyRelu",  "Sigmoid",
                                          "Tanh", "HardSwish", "HardSigmoid"};

#define IN_LIST(n, list) is_in(n, list, sizeof list / sizeof *list)
static bool is_in(const pgy_node *n, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pattern_is(n, list[i])) return true;
    return false;
}

bool precision_is_activation(const pgy_node *n)
{
    return IN_LIST(n, ACTIVATIONS);
}
bool half_is_float(pgy_dtype t)
{
    return t == PGY_F32 || t == PGY_F16 || t == PGY_BF16;
}

/* ---- Can a layer have a type? --------------------------------------------------------------- */

bool half_changes(const op_signature *s, const op_parameter *p, const pgy_value *v, pgy_dtype t)
{
    return v && p && v->kind == PGY_VALUE_TENSOR && half_is_float(pattern_dtype(v)) &&
           pattern_dtype(v) != t &&
           op_parameter_set(s, p)->tensors >> pgy_dtype_describe(t)->onnx & 1;
}

uint32_t half_variables(const op_signature *s, const pgy_node *n, pgy_dtype t)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < n->input_count; i++) {
        const op_parameter *p = op_signature_input(s, i);
        if (p && p->variable && half_changes(s, p, n->inputs[i], t)) bits |= 1u << p->variable;
    }
    return bits;
}

/* If a variable changes, all its inputs and outputs must be able to change. */
static bool is_consistent(const op_signature *s, const pgy_node *n, pgy_dtype t, uint32_t bits)
{
    for (size_t i = 0; i < n->input_count; i++) {
        const op_parameter *p = op_signature_input(s, i);
        if (n->inputs[i] && p && p->variable && bits >> p->variable & 1 &&
            pattern_dtype(n->inputs[i]) != t && !half_changes(s, p, n->inputs[i], t))
            return false;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        const op_parameter *p = op_signature_output(s, i);
        if (n->outputs[i] && p && p->variable && bits >> p->variable & 1 &&
            pattern_dtype(n->outputs[i]) != t && !half_changes(s, p, n->outputs[i], t))
            return false;
    }
    return true;
}

const op_signature *half_signature(const pgy_node *n, pgy_dtype t)
{
    if (IN_LIST(n, NEVER) || n->subgraph_count) return NULL;
    const bool standard = domain_is_default(n->domain);
    if (!standard && strcmp(n->domain, "com.microsoft") != 0) return NULL;
    const op_signature *s =
        op_signature_find(n->domain, n->op_type, standard ? pgy_graph_opset(n->graph, "") : 1);
    const uint32_t bits = s ? half_variables(s, n, t) : 0;
    return bits && is_consistent(s, n, t, bits) ? s : NULL;
}

/* ---- Do its weights fit? -------------------------------------------------------------------- */

static bool fits_f16(precision *x, const pgy_node *n, const char **name, const char **why)
{
    const bool mask = graph_is_mask_node(n);
    for (size_t i = 0; i < n->input_count; i++) {
        *why = precision_unfit_weight(x, n->inputs[i], mask);
        if (x->p.status) return false;
        if (!*why) continue;
        *name = n->inputs[i]->name;
        return false;
    }
    return true;
}

/* ---- The choice ----------------------------------------------------------------------------- */

static const pgy_node *maker(const pgy_value *v)
{
    return v ? v->producer : NULL;
}

static bool reads_quantized(const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_node *from = maker(n->inputs[i]);
        if (!from || !node_is(from, "DequantizeLinear") || !from->input_count) continue;
        const pgy_node *before = maker(from->inputs[0]);
        if (before && node_is(before, "QuantizeLinear")) return true;
    }
    return false;
}

/* A layer between Q/DQ pairs becomes an integer layer later, if it is left unchanged. */
static bool is_quantized_around(const pgy_node *n)
{
    const pgy_node *from = n->input_count ? maker(n->inputs[0]) : NULL;
    return reads_quantized(n) || (from && precision_is_activation(n) && reads_quantized(from));
}

/* bfloat16, if n can run in it but not in float16; else NONE. */
static pgy_dtype other_for(const precision *x, const pgy_node *n)
{
    const bool fits = x->config->bf16 && half_signature(n, PGY_BF16);
    return fits && !graph_guard_keeps(&x->guards, n, PGY_BF16) ? PGY_BF16 : PGY_DTYPE_NONE;
}

static pgy_dtype fallback_for(precision *x, const pgy_node *n, pgy_dtype asked)
{
    const char *name = NULL, *why = NULL;
    str text = {0};
    if (fits_f16(x, n, &name, &why)) return PGY_F16;
    if (x->p.status) return PGY_DTYPE_NONE;
    const pgy_dtype other = other_for(x, n);
    str_printf(&text, "weight '%s' %s", name, why);
    if (asked == PGY_F16)
        precision_refuse(x, n, asked, str_text(&text));
    else
        LOG(WARNING, "Layer '%s' (%s) stays in %s: %s", node_label(n), n->op_type,
            pgy_dtype_name(other ? other : PGY_F32), str_text(&text));
    str_deinit(&text);
    return other;
}

/* Chooses another type for n (NONE: n stays unchanged), because n takes part in a division whose
 * guard is too small a number for type t. Reports that if the type was asked for. */
static pgy_dtype unguarded(precision *x, const pgy_node *n, pgy_dtype t, pgy_dtype asked)
{
    if (asked)
        precision_refuse(x, n, asked,
                         "it is part of a division whose epsilon, which keeps the divisor from 0, "
                         "is too small for the type");
    return t == PGY_F16 ? other_for(x, n) : PGY_DTYPE_NONE;
}

/* Is n a cheap layer at the end of the model? Running it in 16 bits would only round the outputs.
 */
static bool is_last(const pgy_node *n)
{
    if (n->graph->parent || IN_LIST(n, PRODUCTS)) return false;
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && (!n->outputs[i]->is_output || n->outputs[i]->consumer_count))
            return false;
    return true;
}

/* Does n, for which no type was asked, have one of the operators that run in 16-bit floats, at a
 * place where that may pay? */
static bool may_be_halved(const precision *x, const pgy_node *n)
{
    if (!IN_LIST(n, HALVED) && !IN_LIST(n, MOVES)) return false;
    if (is_quantized_around(n) || is_last(n)) return false;
    return !n->outputs[0] || !id_marks_get(&x->sizes, value_id(n->outputs[0]));
}

static bool reads_in_float32(const precision *x, const pgy_value *v)
{
    for (size_t i = 0; i < v->consumer_count; i++) {
        const pgy_node *reader = v->consumers[i];
        const pgy_dtype asked = precision_asked(x, reader);
        if (half_is_float(asked) ? asked != PGY_F32 : may_be_halved(x, reader)) return false;
    }
    return true;
}

/* Does n move elements that are float32 before and behind it? In 16 bits it would only round them,
 * unless they are weights, which become smaller. */
static bool is_move_in_float32(precision *x, const pgy_node *n, pgy_dtype t)
{
    if (!IN_LIST(n, MOVES)) return false;
    for (size_t i = 0; i < n->input_count; i++) {
        pgy_value *v = n->inputs[i];
        if (!v || pattern_dtype(v) != PGY_F32) continue;
        if (pattern_is_constant(&x->p, v) || half_value(x, v, t)) return false;
    }
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && !reads_in_float32(x, n->outputs[i])) return false;
    return true;
}

static bool reads_float32(const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] && pattern_dtype(n->inputs[i]) == PGY_F32) return true;
    return false;
}

static bool is_other_float(const pgy_value *v, pgy_dtype t)
{
    return v && half_is_float(pattern_dtype(v)) && pattern_dtype(v) != t;
}

/* Does the layer have type t already? For float32, a layer without other floats does. */
static bool has_type(const pgy_node *n, pgy_dtype t)
{
    if (t != PGY_F32) return pattern_dtype(n->outputs[0]) == t;
    for (size_t i = 0; i < n->input_count; i++)
        if (is_other_float(n->inputs[i], t)) return false;
    for (size_t i = 0; i < n->output_count; i++)
        if (is_other_float(n->outputs[i], t)) return false;
    return true;
}

pgy_dtype half_choose(precision *x, const pgy_node *n)
{
    const pgy_dtype asked = precision_asked(x, n);
    const pgy_build_config *c = x->config;
    pgy_dtype t = asked;
    if (asked == PGY_I8) return PGY_DTYPE_NONE;
    if (!half_is_float(asked)) {
        if (!reads_float32(n)) return PGY_DTYPE_NONE;
        if ((!c->fp16 && !c->bf16) || !may_be_halved(x, n)) return PGY_DTYPE_NONE;
        t = c->fp16 ? PGY_F16 : PGY_BF16;
        if (is_move_in_float32(x, n, t)) return PGY_DTYPE_NONE;
    }
    if (!half_signature(n, t)) {
        if (half_is_float(asked) && !has_type(n, t))
            precision_refuse(x, n, asked,
                             "the engine has no variant of the operator for these types");
        return PGY_DTYPE_NONE;
    }
    if (t != PGY_F32 && graph_guard_keeps(&x->guards, n, t)) return unguarded(x, n, t, asked);
    return t == PGY_F16 ? fallback_for(x, n, asked) : t;
}
