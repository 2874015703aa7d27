/* SPDX-License-Identifier: Apache-2.0 */
/* Layers in 16-bit floats. Each layer gets its type separately: its inputs are cast to that type,
 * its outputs are cast back for readers in float32. A value that exists in the type already is
 * reused, so casts remain only where types meet. Weights are converted once for each type. */
#include "base/log.h"
#include "engine/precision/precision.h"
#include "graph/mask.h"
#include "ops/signature.h"

static const char LOG_PATH[] = "engine/precision/half.c";

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
    /* operators that only move elements */
    "Reshape",
    "Transpose",
    "Concat",
    "Split",
    "Slice",
    "Gather",
    "GatherElements",
    "GatherND",
    "Squeeze",
    "Unsqueeze",
    "Flatten",
    "Expand",
    "Tile",
    "Pad",
    "Identity",
    "Dropout",
    "Trilu",
};

static const char *const PRODUCTS[] = {"Conv", "ConvTranspose", "MatMul", "Gemm", "Einsum"};

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
        if (node_is(n, list[i])) return true;
    return false;
}

bool precision_is_activation(const pgy_node *n)
{
    return IN_LIST(n, ACTIVATIONS);
}

static size_t slot_of(pgy_dtype t)
{
    return t == PGY_F16 ? 0 : t == PGY_BF16 ? 1 : 2;
}

static bool is_ours(pgy_dtype t)
{
    return t == PGY_F32 || t == PGY_F16 || t == PGY_BF16;
}

/* ---- Can a layer have a type? --------------------------------------------------------------- */

/* Must v, the value of parameter p, be converted to type t? Not if it has type t already. */
static bool changes(const op_signature *s, const op_parameter *p, const pgy_value *v, pgy_dtype t)
{
    return v && p && v->kind == PGY_VALUE_TENSOR && is_ours(pattern_dtype(v)) &&
           pattern_dtype(v) != t &&
           op_parameter_set(s, p)->tensors >> pgy_dtype_describe(t)->onnx & 1;
}

/* Bit set of the signature's type variables for which some input of n must be converted to t; 0:
 * none. */
static uint32_t changing_variables(const op_signature *s, const pgy_node *n, pgy_dtype t)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < n->input_count; i++) {
        const op_parameter *p = op_signature_input(s, i);
        if (p && p->variable && changes(s, p, n->inputs[i], t)) bits |= 1u << p->variable;
    }
    return bits;
}

/* If a variable changes, all its inputs and outputs must be able to change. */
static bool is_consistent(const op_signature *s, const pgy_node *n, pgy_dtype t, uint32_t bits)
{
    for (size_t i = 0; i < n->input_count; i++) {
        const op_parameter *p = op_signature_input(s, i);
        if (n->inputs[i] && p && p->variable && bits >> p->variable & 1 &&
            pattern_dtype(n->inputs[i]) != t && !changes(s, p, n->inputs[i], t))
            return false;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        const op_parameter *p = op_signature_output(s, i);
        if (n->outputs[i] && p && p->variable && bits >> p->variable & 1 &&
            pattern_dtype(n->outputs[i]) != t && !changes(s, p, n->outputs[i], t))
            return false;
    }
    return true;
}

/* The signature with which n can run in type t; NULL: there is none. */
static const op_signature *signature_for(const pgy_node *n, pgy_dtype t)
{
    if (!domain_is_default(n->domain) || IN_LIST(n, NEVER) || n->subgraph_count) return NULL;
    const op_signature *s = op_signature_find("", n->op_type, pgy_graph_opset(n->graph, ""));
    const uint32_t bits = s ? changing_variables(s, n, t) : 0;
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
    const bool fits = x->config->bf16 && signature_for(n, PGY_BF16);
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

static bool reads_float32(const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] && pattern_dtype(n->inputs[i]) == PGY_F32) return true;
    return false;
}

static bool is_other_float(const pgy_value *v, pgy_dtype t)
{
    return v && is_ours(pattern_dtype(v)) && pattern_dtype(v) != t;
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

/* The type in which layer n is to run; NONE: it stays unchanged. */
static pgy_dtype choose(precision *x, const pgy_node *n)
{
    const pgy_dtype asked = precision_asked(x, n);
    const pgy_build_config *c = x->config;
    pgy_dtype t = asked;
    if (asked == PGY_I8) return PGY_DTYPE_NONE;
    if (!is_ours(asked)) {
        if (!reads_float32(n)) return PGY_DTYPE_NONE;
        if (!IN_LIST(n, HALVED) || (!c->fp16 && !c->bf16) || is_quantized_around(n) || is_last(n))
            return PGY_DTYPE_NONE;
        if (n->outputs[0] && id_marks_get(&x->sizes, value_id(n->outputs[0])))
            return PGY_DTYPE_NONE;
        t = c->fp16 ? PGY_F16 : PGY_BF16;
    }
    if (!signature_for(n, t)) {
        if (is_ours(asked) && !has_type(n, t))
            precision_refuse(x, n, asked,
                             "the engine has no variant of the operator for these types");
        return PGY_DTYPE_NONE;
    }
    if (t != PGY_F32 && graph_guard_keeps(&x->guards, n, t)) return unguarded(x, n, t, asked);
    return t == PGY_F16 ? fallback_for(x, n, asked) : t;
}

/* ---- The edits ------------------------------------------------------------------------------ */

static pgy_value *create_like(precision *x, pgy_value *like, pgy_dtype t)
{
    str stem = {0};
    str_printf(&stem, "%s_%s", like->name, t == PGY_F16 ? "f16" : t == PGY_BF16 ? "bf16" : "f32");
    pgy_value *v = stem.failed ? NULL : value_create_unique(like->graph, str_text(&stem), x->p.err);
    str_deinit(&stem);
    if (!v) {
        precision_no_memory(x);
        return NULL;
    }
    box_of(v)->known = box_of(like)->known;
    box_of(v)->known.data = NULL;
    box_of(v)->known.dtype = t;
    v->kind = PGY_VALUE_TENSOR;
    v->dtype = t;
    v->rank = like->rank;
    v->dims = like->dims;
    return v;
}

static void cast(precision *x, pgy_value *from, pgy_value *to)
{
    pgy_node *n = NULL;
    if (x->p.status) return;
    x->p.status = node_create(&n, from->graph, "Cast", &from, 1, &to, 1, x->p.err);
    if (!x->p.status) pattern_set_int(&x->p, n, "to", pgy_dtype_describe(to->dtype)->onnx);
}

/* Converts a value to another type. Masks stay finite, and numbers that guard a division stay above
 * 0. */
static void narrow(precision *x, pgy_value *from, pgy_value *to)
{
    pgy_value *limited = from;
    if (x->p.status) return;
    if (pattern_dtype(from) == PGY_F32 && to->dtype != PGY_F32) {
        mask_use use = graph_mask_use(from);
        if (use == MASK_NONE && graph_guard_made(&x->guards, from, to->dtype)) use = MASK_PART;
        x->p.status = graph_mask_clip(&limited, from, use, precision_largest(to->dtype), x->p.err);
    }
    cast(x, limited, to);
}

/* If v is a cast from type t, its input, which has type t already. */
static pgy_value *behind_cast(const pgy_value *v, pgy_dtype t)
{
    const pgy_node *n = v->producer;
    return n && node_is(n, "Cast") && n->input_count == 1 && n->inputs[0] &&
                   pattern_dtype(n->inputs[0]) == t
               ? n->inputs[0]
               : NULL;
}

static pgy_value *as_type(precision *x, pgy_value *v, pgy_dtype t)
{
    precision_value *entry = precision_of(x, v);
    if (!entry) return NULL;
    pgy_value **made = &entry->as[slot_of(t)];
    if (!*made) *made = behind_cast(v, t);
    if (*made) return *made;
    pgy_value *half = create_like(x, v, t);
    if (!half) return NULL;
    if (pattern_is_constant(&x->p, v))
        precision_convert_weight(x, v, half);
    else
        narrow(x, v, half);
    *made = half;
    return half;
}

/* Makes n write output i in type t. The written value keeps the name, except for outputs of graphs:
 * those keep their type, so the name goes to the cast. */
static void write_as(precision *x, pgy_node *n, size_t i, pgy_dtype t)
{
    pgy_value *v = n->outputs[i];
    const pgy_dtype came = pattern_dtype(v);
    pgy_value *made = create_like(x, v, v->is_output ? t : came);
    if (!made) return;
    pgy_value *narrow = v->is_output ? made : v, *wide = v->is_output ? v : made;
    if (v->is_output) {
        n->outputs[i] = made;
        made->producer = n;
        made->output_index = i;
        v->producer = NULL;
        node_box_of(n)->changed = true;
    } else {
        x->p.status = value_replace_uses(v, made, x->p.err);
        v->dtype = t;
        box_of(v)->known.dtype = t;
        if (box_of(v)->declared.dtype == came) box_of(v)->declared.dtype = t;
    }
    cast(x, narrow, wide);
    precision_value *entry = precision_of(x, wide);
    if (entry) entry->as[slot_of(t)] = narrow;
}

static void retype(precision *x, pgy_node *n, pgy_dtype t)
{
    const op_signature *s = signature_for(n, t);
    const uint32_t bits = changing_variables(s, n, t);
    for (size_t i = 0; !x->p.status && i < n->input_count; i++) {
        if (!changes(s, op_signature_input(s, i), n->inputs[i], t)) continue;
        pgy_value *v = as_type(x, n->inputs[i], t);
        if (!x->p.status) x->p.status = node_set_input(n, i, v, x->p.err);
    }
    for (size_t i = 0; !x->p.status && i < n->output_count; i++) {
        const op_parameter *p = op_signature_output(s, i);
        if (p && p->variable && bits >> p->variable & 1 && n->outputs[i] &&
            pattern_dtype(n->outputs[i]) != t)
            write_as(x, n, i, t);
    }
    graph_mark_changed(n->graph);
    node_box_of(n)->changed = true;
    x->count[slot_of(t)]++;
    LOG(EXTRA_VERBOSE, "Layer '%s' (%s) computes in %s", node_label(n), n->op_type,
        pgy_dtype_name(t));
}

/* Was v clipped to the range of its 16-bit type when it was made? A Cast of the model itself does
 * not clip. */
static bool is_limited(const pgy_value *v)
{
    const pgy_node *cast = v->producer;
    const pgy_node *clip = cast && node_is(cast, "Cast") ? cast->inputs[0]->producer : NULL;
    return clip && !clip->proto && node_is(clip, "Clip");
}

/* If n casts to a type in which its input exists already, makes n read that value instead. */
static void shorten_cast(precision *x, pgy_node *n)
{
    const pgy_dtype t = n->output_count && n->outputs[0] ? pattern_dtype(n->outputs[0]) : 0;
    if (!node_is(n, "Cast") || !is_ours(t) || !n->inputs[0] || pattern_dtype(n->inputs[0]) == t)
        return;
    const precision_value *entry = precision_of(x, n->inputs[0]);
    pgy_value *made = entry ? entry->as[slot_of(t)] : NULL;
    if (!made || is_limited(made)) return;
    x->p.status = node_set_input(n, 0, made, x->p.err);
}

static void halve_level(precision *x, pgy_graph *g)
{
    const size_t count = g->node_count;
    for (size_t i = 0; !x->p.status && i < count; i++) {
        pgy_node *n = g->nodes[i];
        for (size_t k = 0; k < n->subgraph_count; k++) halve_level(x, n->subgraphs[k]);
        if (!n->output_count || !n->outputs[0]) continue;
        const pgy_dtype t = choose(x, n);
        if (!x->p.status && t) retype(x, n, t);
    }
    for (size_t i = 0; !x->p.status && i < count; i++) shorten_cast(x, g->nodes[i]);
}

void precision_halve(precision *x)
{
    halve_level(x, x->p.f.graph);
}
