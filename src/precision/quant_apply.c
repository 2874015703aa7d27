/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a fit: what a layer reads, multiplies and adds. */
#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "precision/quant.h"

void quant_fit_destroy(quant_fit *f, const quantizer *q)
{
    if (!f) return;
    for (size_t i = 0; f->shrink && i < q->port_count; i++) mem_free(f->shrink[i]);
    for (size_t i = 0; i < q->site_count; i++) {
        if (f->weights) pgy_tensor_release(f->weights[i]);
        if (f->steps) mem_free(f->steps[i]);
        if (f->shifts) mem_free(f->shifts[i]);
    }
    mem_free(f->grids);
    mem_free(f->shrink);
    mem_free(f->weights);
    mem_free(f->steps);
    mem_free(f->shifts);
    mem_free(f);
}

/* ---- Channels ------------------------------------------------------------------------------- */

size_t quant_groups(const quant_site *s)
{
    const pgy_onnx_attribute *group = node_attribute(s->node, "group");
    return node_is(s->node, "Conv") && group && group->i > 0 ? (size_t)group->i : 1;
}

size_t quant_weight_channel(const quant_site *s, size_t i)
{
    const int64_t *shape = pgy_tensor_shape(s->weight);
    if (s->axis != 0) return i / (size_t)shape[1]; /* depth before columns */
    const size_t inner = quant_inner(s->weight, 1), depth = (size_t)shape[1];
    const size_t output = i / inner / depth, group = output * quant_groups(s) / (size_t)shape[0];
    return group * depth + i / inner % depth;
}

size_t quant_inner(const pgy_tensor *w, size_t axis)
{
    size_t inner = 1;
    for (size_t d = axis + 1; d < pgy_tensor_rank(w); d++) inner *= (size_t)pgy_tensor_shape(w)[d];
    return inner;
}

size_t quant_port_inner(const quant_port *port, const pgy_tensor *t)
{
    size_t inner = 1;
    for (size_t d = 2; port->channels == CHANNELS_SECOND && d < pgy_tensor_rank(t); d++)
        inner *= (size_t)pgy_tensor_shape(t)[d];
    return inner;
}

/* ---- Weights -------------------------------------------------------------------------------- */

pgy_status quant_weight_scaled(pgy_tensor **out, const quantizer *q, const quant_fit *f,
                               size_t site, pgy_error *err)
{
    const quant_site *s = &q->sites[site];
    const float *shrink = f->shrink[s->ports[0]];
    pgy_tensor *made = NULL;
    const pgy_status st = pgy_tensor_copy(&made, pgy_tensor_view(s->weight), err);
    if (st) return st;
    float *w = pgy_tensor_data(made);
    for (size_t i = 0; shrink && i < pgy_tensor_count(made); i++) {
        if (i % 65536 == 0 && cancel_requested()) break; /* the caller checks */
        w[i] /= shrink[quant_weight_channel(s, i)];
    }
    *out = made;
    return PGY_OK;
}

/* ---- What layers see ------------------------------------------------------------------------ */

pgy_status quant_port_apply(pgy_tensor **out, const quantizer *q, const quant_fit *f, size_t port,
                            const pgy_tensor *t, pgy_error *err)
{
    const quant_port *at = &q->ports[port];
    const float *shrink = f->shrink[port];
    pgy_tensor *made = NULL;
    const pgy_status st = pgy_tensor_cast(&made, pgy_tensor_view(t), PGY_F32, err);
    if (st) return st;
    float *x = pgy_tensor_data(made);
    const size_t count = pgy_tensor_count(made), inner = quant_port_inner(at, made);
    for (size_t i = 0, c = 0; shrink && inner && i + inner <= count; i += inner) {
        for (size_t k = 0; k < inner; k++) x[i + k] *= shrink[c];
        c = c + 1 < at->channel_count ? c + 1 : 0;
    }
    quant_round(x, x, count, q->type, f->grids[port]);
    *out = made;
    return PGY_OK;
}

/* Output channels are axis 1 of a convolution, and the last axis of a product. */
pgy_status quant_shift(pgy_tensor **output, const quantizer *q, const quant_fit *f, size_t site,
                       pgy_error *err)
{
    const quant_site *s = &q->sites[site];
    const float *shift = f->shifts[site];
    pgy_tensor *made = NULL;
    if (!shift) return PGY_OK;
    const pgy_status st = pgy_tensor_cast(&made, pgy_tensor_view(*output), PGY_F32, err);
    if (st) return st;
    const size_t channels = (size_t)pgy_tensor_shape(s->weight)[s->axis];
    const size_t inner = node_is(s->node, "Conv") ? quant_inner(made, 1) : 1;
    float *y = pgy_tensor_data(made);
    for (size_t i = 0; i < pgy_tensor_count(made); i++) y[i] += shift[i / inner % channels];
    pgy_tensor_release(*output);
    *output = made;
    return PGY_OK;
}
