/* SPDX-License-Identifier: Apache-2.0 */
/* Matches Q/DQ nodes and reads their scales, zero points and constants. */
#include "engine/passes/pattern_quantized.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "tensor/convert.h"

/* ---- Reading -------------------------------------------------------------------------------- */

static bool is_byte(pgy_dtype t)
{
    return t == PGY_I8 || t == PGY_U8;
}

/* Number of elements of v, if it is a constant of rank 0 or 1 and known size; else 0. */
static size_t count_of(const pattern *p, const pgy_value *v)
{
    if (!pattern_is_constant(p, v) || pattern_rank(v) > 1) return 0;
    const int64_t size = pattern_rank(v) == 1 ? pattern_size(v, 0) : 1;
    return size > 0 ? (size_t)size : 0;
}

static double element(pattern *p, pgy_value *v)
{
    pgy_tensor *t = NULL;
    double x = 0;
    if (v && fold_constant(&t, &p->f, v, NULL) == PGY_OK && t && pgy_tensor_count(t))
        x = element_as_f64(pgy_tensor_dtype(t), pgy_tensor_data(t), 0);
    pgy_tensor_release(t);
    return x;
}

/* Reads scale and zero point from inputs 1 and 2; *scales: number of scales. */
static bool read_scales(pattern *p, const pgy_node *n, quantized *q, size_t *scales)
{
    q->scale = pattern_input(n, 1);
    q->zero = pattern_input(n, 2);
    *scales = count_of(p, q->scale);
    if (!*scales || pattern_dtype(q->scale) != PGY_F32) return false;
    if (q->zero && count_of(p, q->zero) != *scales) return false;
    if (pattern_int(n, "block_size", 0)) return false;
    q->one_scale = element(p, q->scale);
    q->one_zero = q->zero ? (int64_t)element(p, q->zero) : 0;
    return *scales > 1 || (q->one_scale > 1e-12 && q->one_scale < 1e12);
}

static bool read_start(pattern *p, const pgy_value *v, quantized *q, size_t *scales)
{
    const pgy_node *n = pattern_from(v, "DequantizeLinear");
    if (!n || pattern_int(n, "output_dtype", 0) > 1) return false;
    *q = (quantized){.x = n->inputs[0], .type = pattern_dtype(n->inputs[0])};
    return is_byte(q->type) && read_scales(p, n, q, scales);
}

bool quantized_read(pattern *p, const pgy_value *v, quantized *q)
{
    size_t scales;
    return read_start(p, v, q, &scales) && scales == 1;
}

/* Are all scales valid? 0 is, because a channel whose weights are all 0 has it. */
static bool are_factors(pattern *p, pgy_value *v)
{
    pgy_tensor *t = pattern_floats(p, v);
    bool fine = t != NULL;
    for (size_t i = 0; fine && i < pgy_tensor_count(t); i++)
        fine = op_f64(t)[i] >= 0 && op_f64(t)[i] < 1e12;
    pgy_tensor_release(t);
    return fine;
}

bool quantized_read_weights(pattern *p, const pgy_value *v, int32_t axis, quantized *q)
{
    size_t scales;
    if (!read_start(p, v, q, &scales) || !pattern_is_constant(p, q->x)) return false;
    if (scales == 1) return true;
    const int32_t rank = pattern_rank(q->x);
    int64_t own = pattern_int(v->producer, "axis", 1);
    if (own < 0) own += rank;
    if (axis < 0) axis += rank;
    return own == axis && pattern_size(q->x, axis) == (int64_t)scales && are_factors(p, q->scale);
}

bool quantized_read_end(pattern *p, const pgy_node *n, quantized *q)
{
    size_t scales;
    if (!pattern_is(n, "QuantizeLinear") || pattern_int(n, "precision", 0) > 1) return false;
    *q = (quantized){.x = n->inputs[0], .type = pattern_dtype(n->outputs[0])};
    if (!is_byte(q->type) || pattern_dtype(q->x) != PGY_F32) return false;
    return read_scales(p, n, q, &scales) && scales == 1;
}

bool quantized_suits_window(const pgy_node *n, const pgy_value *v)
{
    if (pattern_rank(v) < 3 || pattern_rank(v) > 4) return false;
    const pgy_onnx_attribute *strides = node_attribute(n, "strides");
    for (size_t i = 0; strides && i < strides->int_count; i++)
        if (strides->ints[i] > 8) return false;
    return true;
}

bool quantized_is_same(const quantized *a, const quantized *b)
{
    return a->type == b->type && a->one_zero == b->one_zero && a->one_scale == b->one_scale;
}

double quantized_low(const quantized *q)
{
    return (double)((q->type == PGY_I8 ? -128 : 0) - q->one_zero) * q->one_scale;
}

double quantized_high(const quantized *q)
{
    return (double)((q->type == PGY_I8 ? 127 : 255) - q->one_zero) * q->one_scale;
}

/* ---- Making --------------------------------------------------------------------------------- */

pgy_value *quantized_zero(pattern *p, pgy_graph *level, const quantized *q)
{
    static const double NONE = 0;
    return q->zero ? q->zero : pattern_weight(p, level, "zero_point", q->type, 0, NULL, &NONE);
}

void quantized_put(pattern *p, pgy_graph *level, pgy_value **inputs, const quantized *q)
{
    inputs[0] = q->x;
    inputs[1] = q->scale;
    inputs[2] = quantized_zero(p, level, q);
}

void quantized_copy(pattern *p, pgy_node *n, const pgy_node *from)
{
    for (size_t i = 0; i < from->attribute_count; i++)
        pattern_copy(p, n, from, from->attributes[i]->name);
}

/* ---- Constants ------------------------------------------------------------------------------ */

/* Computes QuantizeLinear or DequantizeLinear n of constants by the operator's definition. */
static pgy_tensor *computed(pattern *p, pgy_node *n)
{
    op_tensor in[3] = {{0}}, out = {0};
    pgy_tensor *stored[3] = {NULL};
    const op_attr *attrs = NULL;
    const bool wanted = true;
    const op_host host = {.model_precision = true};
    op_node node = {.def = node_box_of(n)->def,
                    .name = node_label(n),
                    .opset = node_box_of(n)->opset,
                    .input_count = n->input_count,
                    .output_count = 1};
    bool fine = node_prepare(n, NULL) == PGY_OK && node.def && n->input_count <= 3 &&
                node_attrs(&attrs, &node.attr_count, n, NULL, &p->f.memory, NULL) == PGY_OK;
    node.attrs = attrs;
    for (size_t i = 0; fine && i < n->input_count; i++) {
        if (!n->inputs[i]) continue;
        fine = fold_constant(&stored[i], &p->f, n->inputs[i], NULL) == PGY_OK && stored[i] &&
               op_to_storage(&in[i].value, stored[i], NULL) == PGY_OK;
        in[i].dtype = fine ? pgy_tensor_dtype(stored[i]) : PGY_DTYPE_NONE;
    }
    if (fine && op_run(&node, in, &out, &wanted, &host, NULL) != PGY_OK) out.value = NULL;
    for (size_t i = 0; i < 3; i++) {
        op_tensor_release(&in[i]);
        pgy_tensor_release(stored[i]);
    }
    return out.value;
}

pgy_tensor *quantized_constant(pattern *p, pgy_value *v)
{
    if (pattern_is_constant(p, v)) return pattern_floats(p, v);
    pgy_node *n = pattern_from(v, "DequantizeLinear");
    for (size_t i = 0; n && i < n->input_count; i++)
        if (n->inputs[i] && !pattern_is_constant(p, n->inputs[i])) return NULL;
    return n ? computed(p, n) : NULL;
}

bool quantized_fold(pattern *p, pgy_node *n)
{
    pgy_tensor *stored = NULL;
    if (!pattern_is(n, "QuantizeLinear") || n->outputs[0]->is_output) return false;
    const pgy_dtype type = pattern_dtype(n->outputs[0]);
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] && !pattern_is_constant(p, n->inputs[i])) return false;
    pgy_tensor *t = is_byte(type) ? computed(p, n) : NULL;
    const bool fine = t && op_from_storage(&stored, t, type, NULL) == PGY_OK;
    pgy_value *v = fine ? pattern_tensor(p, n->graph, n->outputs[0]->name, stored) : NULL;
    pgy_tensor_release(t);
    pgy_tensor_release(stored);
    if (!v) return false;
    if (!p->status) p->status = value_replace_uses(n->outputs[0], v, p->err);
    pattern_drop(p, n);
    return true;
}

pgy_value *quantized_bias(pattern *p, pgy_graph *level, pgy_value *v, const quantized *a,
                          const quantized *b, size_t count, size_t depth, double alpha)
{
    pgy_tensor *bias = quantized_constant(p, v), *scales = pattern_floats(p, b->scale);
    double *sums = mem_calloc(count, sizeof *sums);
    const double most = 2147483647.0 - (double)depth * 65025;
    const int64_t shape = (int64_t)count;
    bool fits = bias && scales && sums && pgy_tensor_count(bias) == count;
    for (size_t i = 0; fits && i < count; i++) {
        const double unit =
            alpha * a->one_scale * op_f64(scales)[pgy_tensor_count(scales) == 1 ? 0 : i];
        sums[i] = unit > 0 ? nearbyint(op_f64(bias)[i] / unit) : 0;
        if (!(unit > 0) && op_f64(bias)[i] != 0) fits = false;
        if (!(fabs(sums[i]) <= most)) fits = false;
    }
    pgy_value *made = fits ? pattern_weight(p, level, "bias", PGY_I32, 1, &shape, sums) : NULL;
    pgy_tensor_release(bias);
    pgy_tensor_release(scales);
    mem_free(sums);
    return made;
}
