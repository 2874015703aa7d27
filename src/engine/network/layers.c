/* SPDX-License-Identifier: Apache-2.0 */
/* Layer types: their names, and the type for each ONNX operator. */
#include <string.h>

#include "engine/network/network.h"

static const char *const NAMES[PGY_LAYER_TYPE_COUNT] = {
#define LAYER(name) [PGY_LAYER_##name] = #name,
#include "engine/network/layers.def"
#undef LAYER
};

const char *pgy_layer_type_name(pgy_layer_type type)
{
    return (size_t)type < PGY_LAYER_TYPE_COUNT ? NAMES[type] : NULL;
}

/* Operators of the default domain, separated by blanks. */
static const struct {
    pgy_layer_type type;
    const char *operators;
} OPERATORS[] = {
    {PGY_LAYER_CONVOLUTION, "Conv ConvInteger QLinearConv DeformConv"},
    {PGY_LAYER_CAST, "Cast CastLike"},
    {PGY_LAYER_ACTIVATION,
     "Relu Sigmoid Tanh LeakyRelu Elu Selu Softsign Softplus Clip HardSigmoid "
     "ThresholdedRelu Gelu Celu HardSwish Mish Swish"},
    {PGY_LAYER_POOLING, "MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool GlobalLpPool"},
    {PGY_LAYER_LRN, "LRN"},
    {PGY_LAYER_SCALE, "BatchNormalization"},
    {PGY_LAYER_SOFTMAX, "Softmax LogSoftmax Hardmax"},
    {PGY_LAYER_DECONVOLUTION, "ConvTranspose"},
    {PGY_LAYER_CONCATENATION, "Concat"},
    {PGY_LAYER_ELEMENTWISE,
     "Add Mul Max Min Sub Div Pow And Or Xor Equal Greater Less Mod Sum Mean "
     "GreaterOrEqual LessOrEqual BitwiseAnd BitwiseOr BitwiseXor BitShift"},
    {PGY_LAYER_UNARY, "Exp Log Sqrt Reciprocal Abs Neg Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh "
                      "Acosh Atanh Ceil Floor Erf Not Sign Round IsInf IsNaN BitwiseNot"},
    {PGY_LAYER_PADDING, "Pad"},
    {PGY_LAYER_SHUFFLE, "Reshape Transpose Flatten DepthToSpace SpaceToDepth"},
    {PGY_LAYER_REDUCE, "ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean ReduceL1 ReduceL2 "
                       "ReduceLogSum ReduceLogSumExp ReduceSumSquare"},
    {PGY_LAYER_TOPK, "TopK ArgMax ArgMin"},
    {PGY_LAYER_GATHER, "Gather GatherElements GatherND"},
    {PGY_LAYER_MATRIX_MULTIPLY, "MatMul Gemm MatMulInteger QLinearMatMul"},
    {PGY_LAYER_CONSTANT, "Constant"},
    {PGY_LAYER_IDENTITY, "Identity Dropout"},
    {PGY_LAYER_SLICE, "Slice Split Expand Tile"},
    {PGY_LAYER_SHAPE, "Shape Size"},
    {PGY_LAYER_PARAMETRIC_RELU, "PRelu"},
    {PGY_LAYER_RESIZE, "Resize Upsample"},
    {PGY_LAYER_SELECT, "Where"},
    {PGY_LAYER_FILL, "Range ConstantOfShape RandomUniform RandomNormal RandomUniformLike "
                     "RandomNormalLike EyeLike"},
    {PGY_LAYER_QUANTIZE, "QuantizeLinear"},
    {PGY_LAYER_DEQUANTIZE, "DequantizeLinear"},
    {PGY_LAYER_SCATTER, "ScatterElements ScatterND Scatter"},
    {PGY_LAYER_EINSUM, "Einsum"},
    {PGY_LAYER_ONE_HOT, "OneHot"},
    {PGY_LAYER_NON_ZERO, "NonZero"},
    {PGY_LAYER_GRID_SAMPLE, "GridSample"},
    {PGY_LAYER_NMS, "NonMaxSuppression"},
    {PGY_LAYER_REVERSE_SEQUENCE, "ReverseSequence"},
    {PGY_LAYER_NORMALIZATION, "LayerNormalization InstanceNormalization GroupNormalization "
                              "RMSNormalization MeanVarianceNormalization LpNormalization"},
    {PGY_LAYER_SQUEEZE, "Squeeze"},
    {PGY_LAYER_UNSQUEEZE, "Unsqueeze"},
    {PGY_LAYER_CUMULATIVE, "CumSum CumProd"},
    {PGY_LAYER_DYNAMIC_QUANTIZE, "DynamicQuantizeLinear"},
    {PGY_LAYER_ATTENTION, "Attention"},
    {PGY_LAYER_ROTARY_EMBEDDING, "RotaryEmbedding"},
    {PGY_LAYER_KVCACHE_UPDATE, "TensorScatter"},
    {PGY_LAYER_RNN, "RNN"},
    {PGY_LAYER_LSTM, "LSTM"},
    {PGY_LAYER_GRU, "GRU"},
    {PGY_LAYER_LOOP, "Loop Scan"},
    {PGY_LAYER_CONDITIONAL, "If"},
};

static bool has_word(const char *words, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += size)
        if ((at == words || at[-1] == ' ') && (at[size] == ' ' || !at[size])) return true;
    return false;
}

pgy_layer_type layer_type_of(const pgy_node *n)
{
    if (!domain_is_default(n->domain)) return PGY_LAYER_PLUGIN_V3;
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS; i++)
        if (has_word(OPERATORS[i].operators, n->op_type)) return OPERATORS[i].type;
    return PGY_LAYER_OTHER;
}
