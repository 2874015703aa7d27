/* SPDX-License-Identifier: Apache-2.0 */
/* TensorRT's layer types, and the ONNX operators that become such layers in TensorRT. */
#include <polygraphy/describe.h>

#include <string.h>

static const pgy_trt_layer LAYERS[] = {
    {"CONVOLUTION", " Conv "},
    {"CAST", " Cast CastLike "},
    {"ACTIVATION",
     " Relu Sigmoid Tanh LeakyRelu Elu Selu Softsign Softplus Clip HardSigmoid ThresholdedRelu "
     "Gelu Celu "},
    {"POOLING", " MaxPool AveragePool "},
    {"LRN", " LRN "},
    {"SCALE", " BatchNormalization "},
    {"SOFTMAX", " Softmax LogSoftmax "},
    {"DECONVOLUTION", " ConvTranspose "},
    {"CONCATENATION", " Concat "},
    {"ELEMENTWISE",
     " Add Sub Mul Div Pow Min Max And Or Xor Equal Less Greater LessOrEqual GreaterOrEqual "
     "Sum Mean Mod "},
    {"UNARY",
     " Exp Log Sqrt Reciprocal Abs Neg Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh Ceil "
     "Floor Round Erf Not Sign IsInf IsNaN "},
    {"PADDING", " Pad "},
    {"SHUFFLE", " Reshape Transpose Flatten DepthToSpace SpaceToDepth "},
    {"REDUCE",
     " ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum "
     "ReduceLogSumExp ReduceSumSquare GlobalAveragePool GlobalMaxPool GlobalLpPool "},
    {"TOPK", " TopK ArgMax ArgMin "},
    {"GATHER", " Gather GatherElements GatherND "},
    {"MATRIX_MULTIPLY", " MatMul Gemm "},
    {"RAGGED_SOFTMAX", " "},
    {"CONSTANT", " Constant "},
    {"IDENTITY", " Identity Dropout "},
    {"PLUGIN_V2", " "},
    {"PLUGIN_V3", " "},
    {"SLICE", " Slice Split Expand Tile "},
    {"SHAPE", " Shape Size "},
    {"PARAMETRIC_RELU", " PRelu "},
    {"RESIZE", " Resize Upsample "},
    {"TRIP_LIMIT", " Loop Scan "},
    {"RECURRENCE", " Loop Scan LSTM GRU RNN "},
    {"ITERATOR", " Scan "},
    {"LOOP_OUTPUT", " Loop Scan "},
    {"SELECT", " Where "},
    {"FILL", " ConstantOfShape Range RandomNormal RandomUniform EyeLike "},
    {"QUANTIZE", " QuantizeLinear "},
    {"DEQUANTIZE", " DequantizeLinear "},
    {"CONDITION", " If "},
    {"CONDITIONAL_INPUT", " If "},
    {"CONDITIONAL_OUTPUT", " If "},
    {"SCATTER", " ScatterElements ScatterND Scatter "},
    {"EINSUM", " Einsum "},
    {"ASSERTION", " "},
    {"ONE_HOT", " OneHot "},
    {"NON_ZERO", " NonZero "},
    {"GRID_SAMPLE", " GridSample "},
    {"NMS", " NonMaxSuppression "},
    {"REVERSE_SEQUENCE", " ReverseSequence "},
    {"NORMALIZATION",
     " InstanceNormalization LayerNormalization GroupNormalization RMSNormalization "},
    {"SQUEEZE", " Squeeze "},
    {"UNSQUEEZE", " Unsqueeze "},
    {"CUMULATIVE", " CumSum CumProd "},
    {"DYNAMIC_QUANTIZE", " DynamicQuantizeLinear "},
    {"ATTENTION", " Attention "},
    {"ROTARY_EMBEDDING", " RotaryEmbedding "},
};
enum { LAYER_COUNT = sizeof LAYERS / sizeof *LAYERS };

size_t pgy_trt_layer_count(void)
{
    return LAYER_COUNT;
}

const pgy_trt_layer *pgy_trt_layer_at(size_t i)
{
    return i < LAYER_COUNT ? &LAYERS[i] : NULL;
}

bool pgy_trt_layer_has(const pgy_trt_layer *type, const char *op_type)
{
    const size_t size = strlen(op_type);
    for (const char *at = type->operators; (at = strstr(at, op_type)); at++)
        if (at > type->operators && at[-1] == ' ' && at[size] == ' ') return true;
    return false;
}

const char *pgy_trt_layer_of(const char *op_type)
{
    for (size_t i = 0; i < LAYER_COUNT; i++)
        if (pgy_trt_layer_has(&LAYERS[i], op_type)) return LAYERS[i].name;
    return "PLUGIN_V3";
}
