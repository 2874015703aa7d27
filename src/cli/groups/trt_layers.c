/* SPDX-License-Identifier: Apache-2.0 */
/* TensorRT's names for types of layers, and the ONNX operators that become such layers there. An
 * operator's own name is accepted too. */
#include <string.h>

#include <polygraphy/onnx.h>

#include "cli/groups/trt.h"

static const struct {
    const char *layer, *operators;
} LAYERS[] = {
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

static bool is_in(const char *operators, const char *op)
{
    const size_t size = strlen(op);
    for (const char *at = operators; (at = strstr(at, op)); at++)
        if (at > operators && at[-1] == ' ' && at[size] == ' ') return true;
    return false;
}

const char *trt_layer_of(const char *op)
{
    for (size_t i = 0; i < LAYER_COUNT; i++)
        if (is_in(LAYERS[i].operators, op)) return LAYERS[i].layer;
    return "PLUGIN_V3";
}

static size_t find_layer(const char *word)
{
    size_t i = 0;
    while (i < LAYER_COUNT && !str_equal_nocase(LAYERS[i].layer, word)) i++;
    return i;
}

static pgy_status unknown(const char *word, pgy_error *err)
{
    str near = {0};
    for (size_t i = 0; i < LAYER_COUNT; i++)
        if (str_contains_nocase(LAYERS[i].layer, word) || str_distance(LAYERS[i].layer, word) < 4)
            str_printf(&near, "%s%s", near.size ? ", " : "; similar: ", LAYERS[i].layer);
    const pgy_status st = pgy_error_set(
        err, PGY_E_ARGUMENT,
        "--trt-outputs-by-type: '%s' is neither a type of layers nor an operator of the model%s",
        word, str_text(&near));
    str_deinit(&near);
    return st;
}

/* Adds the operators among the model's nodes that the word stands for. */
static pgy_status add_word(strvec *out, const char *word, const pgy_onnx_graph *g, pgy_error *err)
{
    const size_t layer = find_layer(word);
    bool found = layer < LAYER_COUNT;
    for (size_t i = 0; i < g->node_count; i++) {
        const char *op = g->nodes[i]->op_type;
        const bool same = str_equal_nocase(op, word);
        if (!same && (layer == LAYER_COUNT || !is_in(LAYERS[layer].operators, op))) continue;
        found = true;
        if (!strvec_contains(out, op) && !strvec_push(out, op))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    return found ? PGY_OK : unknown(word, err);
}

pgy_status trt_layer_operators(strvec *out, const pgy_text_list *words, const char *path,
                               pgy_error *err)
{
    const pgy_model_load_options structure = {.size = sizeof structure,
                                              .ignore_external_data = true};
    pgy_model *model = NULL;
    pgy_status st = pgy_model_load(&model, path, &structure, err);
    const pgy_onnx_graph *g = st ? NULL : pgy_model_proto(model)->graph;
    for (size_t i = 0; !st && g && i < words->count; i++)
        st = add_word(out, words->items[i], g, err);
    if (!st && !out->count)
        st = pgy_error_set(err, PGY_E_NOT_FOUND,
                           "--trt-outputs-by-type: the model has no layer of these types");
    pgy_model_destroy(model);
    return st;
}
