/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of sequence models: attention, rotary embedding, caches, recurrent layers. And layers of
 * quantised models: quantisation, its inverse, and dynamic quantisation of blocks. */
#include "engine/network/network.h"

/* ---- Attention ------------------------------------------------------------------------------ */

/* Attention without softmax: two products, with the scores as the weights. */
static pgy_value *without_softmax(builder *b, const pgy_attention *p)
{
    static const int64_t SWAPPED[4] = {0, 1, 3, 2};
    if (p->mask || p->causal) {
        build_fail(b, PGY_E_UNSUPPORTED,
                   "attention without softmax takes neither a mask nor causal masking");
        return NULL;
    }
    pgy_value *scores =
        build_emit(b, "MatMul", 2, p->query, build_transpose(b, p->key, SWAPPED, 4));
    return build_emit(b, "MatMul", 2, scores, p->value);
}

pgy_status pgy_network_add_attention(pgy_layer **out, pgy_network *net, const pgy_attention *p,
                                     pgy_error *err)
{
    builder b = build_start(net, PGY_LAYER_ATTENTION, err);
    if (!p) build_fail(&b, PGY_E_ARGUMENT, "the parameters must not be NULL");
    if (b.status) return build_finish(&b, out);
    build_input(&b, p->query, "the query");
    build_input(&b, p->key, "the key");
    build_input(&b, p->value, "the value");
    build_optional(&b, p->mask);
    const pgy_value *all[3] = {p->query, p->key, p->value};
    for (size_t i = 0; !b.status && i < 3; i++)
        if (build_rank(&b, all[i]) != 4 && !b.status)
            build_fail(&b, PGY_E_SHAPE, "'%s' does not have rank 4: [batch, heads, length, size]",
                       all[i]->name);
    if (p->no_softmax) {
        build_output(&b, b.status ? NULL : without_softmax(&b, p));
    } else {
        pgy_value *y = build_emit(&b, "Attention", 4, p->query, p->key, p->value, p->mask);
        build_float(&b, y, "scale", 1);
        build_output(&b, build_int(&b, y, "is_causal", p->causal));
    }
    return build_finish(&b, out);
}

pgy_status pgy_network_add_rotary_embedding(pgy_layer **out, pgy_network *net, pgy_value *input,
                                            const pgy_rotary_embedding *p, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_ROTARY_EMBEDDING, input, err);
    if (!p) build_fail(&b, PGY_E_ARGUMENT, "the parameters must not be NULL");
    if (b.status) return build_finish(&b, out);
    build_input(&b, p->cos_cache, "the cosines");
    build_input(&b, p->sin_cache, "the sines");
    build_optional(&b, p->positions);
    if (build_rank(&b, input) != 4)
        build_fail(&b, PGY_E_SHAPE, "the input does not have rank 4: [batch, heads, length, size]");
    pgy_value *positions = p->positions ? build_cast(&b, p->positions, PGY_I64) : NULL;
    pgy_value *y =
        build_emit(&b, "RotaryEmbedding", 4, input, p->cos_cache, p->sin_cache, positions);
    build_int(&b, y, "interleaved", p->interleaved);
    build_output(&b, build_int(&b, y, "rotary_embedding_dim", p->dim));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_kvcache_update(pgy_layer **out, pgy_network *net, pgy_value *cache,
                                          pgy_value *update, pgy_value *write_indices,
                                          pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_KVCACHE_UPDATE, cache, err);
    build_input(&b, update, "the update");
    build_input(&b, write_indices, "the write indices");
    if (build_rank(&b, cache) != 4)
        build_fail(&b, PGY_E_SHAPE, "the cache does not have rank 4: [batch, heads, room, size]");
    pgy_value *at = build_cast(&b, write_indices, PGY_I64);
    pgy_value *y = build_emit(&b, "TensorScatter", 3, cache, update, at);
    build_int(&b, y, "axis", 2);
    build_output(&b, build_text(&b, y, "mode", "linear"));
    return build_finish(&b, out);
}

/* ---- Recurrent layers ----------------------------------------------------------------------- */

pgy_status pgy_network_add_recurrent(pgy_layer **out, pgy_network *net, pgy_layer_type type,
                                     pgy_value *input, const pgy_recurrent *p, pgy_error *err)
{
    static const char *const DIRECTIONS[] = {"forward", "reverse", "bidirectional"};
    const bool lstm = type == PGY_LAYER_LSTM, gru = type == PGY_LAYER_GRU;
    builder b = build_with(net, type, input, err);
    if (!p || (type != PGY_LAYER_RNN && !lstm && !gru) ||
        (size_t)(p ? p->direction : 0) > PGY_RNN_BIDIRECTIONAL)
        build_fail(&b, PGY_E_ARGUMENT,
                   "the parameters are NULL, or the layer type or direction does not exist");
    if (b.status) return build_finish(&b, out);
    build_input(&b, p->w, "w");
    build_input(&b, p->r, "r");
    build_optional(&b, p->bias);
    build_optional(&b, p->sequence_lengths);
    build_optional(&b, p->initial_h);
    build_optional(&b, p->initial_c);
    if (p->initial_c && !lstm) build_fail(&b, PGY_E_ARGUMENT, "only an LSTM has a cell state");
    pgy_value *lengths = p->sequence_lengths ? build_cast(&b, p->sequence_lengths, PGY_I32) : NULL;
    pgy_value *inputs[] = {input, p->w, p->r, p->bias, lengths, p->initial_h, p->initial_c};
    pgy_node *n = build_node(&b, pgy_layer_type_name(type), inputs, 7, lstm ? 3 : 2);
    if (n) {
        build_int(&b, n->outputs[0], "hidden_size", p->hidden_size);
        build_text(&b, n->outputs[0], "direction", DIRECTIONS[p->direction]);
        if (gru) build_int(&b, n->outputs[0], "linear_before_reset", p->linear_before_reset);
        for (size_t i = 0; i < n->output_count; i++) build_output(&b, n->outputs[i]);
    }
    return build_finish(&b, out);
}

/* ---- Quantisation --------------------------------------------------------------------------- */

static pgy_status quantization(pgy_layer **out, pgy_network *net, pgy_layer_type type,
                               const char *op, pgy_value *input, const pgy_quantization *p,
                               pgy_error *err)
{
    const bool quantize = type == PGY_LAYER_QUANTIZE;
    builder b = build_with(net, type, input, err);
    if (!p) build_fail(&b, PGY_E_ARGUMENT, "the parameters must not be NULL");
    if (b.status) return build_finish(&b, out);
    build_input(&b, p->scale, "the scale");
    build_optional(&b, p->zero_point);
    const int32_t rank = build_rank(&b, input);
    const bool single = build_rank(&b, p->scale) == 0;
    int32_t axis = p->axis_is_first ? 0 : p->axis ? p->axis : 1;
    if (!single) axis = build_axis(&b, axis, rank);
    pgy_value *y = build_emit(&b, op, 3, input, p->scale, p->zero_point);
    if (!single) build_int(&b, y, "axis", axis);
    if (p->block_size) build_int(&b, y, "block_size", p->block_size);
    const pgy_dtype dtype = p->dtype || !quantize || p->zero_point ? p->dtype : PGY_I8;
    if (dtype) build_int(&b, y, "output_dtype", pgy_dtype_describe(dtype)->onnx);
    build_output(&b, y);
    return build_finish(&b, out);
}

pgy_status pgy_network_add_quantize(pgy_layer **out, pgy_network *net, pgy_value *input,
                                    const pgy_quantization *p, pgy_error *err)
{
    return quantization(out, net, PGY_LAYER_QUANTIZE, "QuantizeLinear", input, p, err);
}

pgy_status pgy_network_add_dequantize(pgy_layer **out, pgy_network *net, pgy_value *input,
                                      const pgy_quantization *p, pgy_error *err)
{
    return quantization(out, net, PGY_LAYER_DEQUANTIZE, "DequantizeLinear", input, p, err);
}

pgy_status pgy_network_add_dynamic_quantize(pgy_layer **out, pgy_network *net, pgy_value *input,
                                            int32_t axis, int64_t block_size, pgy_dtype to,
                                            pgy_value *double_scale, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_DYNAMIC_QUANTIZE, input, err);
    build_optional(&b, double_scale);
    const bool fp4 = to == PGY_F4E2M1;
    if (!fp4 && to != PGY_F8E4M3FN)
        build_fail(&b, PGY_E_TYPE, "the quantized type is %s; expected float8e4m3fn or float4e2m1",
                   pgy_dtype_name(to));
    if (fp4 != (double_scale != NULL))
        build_fail(&b, PGY_E_ARGUMENT,
                   "float4e2m1 needs a double scale, and float8e4m3fn does not take one");
    const int32_t at = build_axis(&b, axis, build_rank(&b, input));
    pgy_node *n =
        build_node(&b, fp4 ? "trt:TRT_FP4DynamicQuantize" : "trt:TRT_MXFP8DynamicQuantize",
                   (pgy_value *[]){input, double_scale}, 2, 2);
    if (n) {
        build_int(&b, n->outputs[0], "axis", at);
        build_int(&b, n->outputs[0], "block_size", block_size);
        build_output(&b, n->outputs[0]);
        build_output(&b, n->outputs[1]);
    }
    return build_finish(&b, out);
}
