/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and weights for one method. Smoothing moves the scales of channels from a tensor that is
 * hard to quantize into the weight that multiplies it: channel c of the tensor is divided by
 * largest(tensor c)^a / largest(weight c)^(1 - a), and the weight multiplied by it. All layers that
 * read the tensor in the same way share the factors, so it is quantized once. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "precision/quant.h"

/* ---- Smoothing ------------------------------------------------------------------------------ */

static void find_weight_largest(float *largest, const quantizer *q, size_t port)
{
    for (size_t i = 0; i < q->site_count; i++) {
        const quant_site *s = &q->sites[i];
        if (!s->weight || s->ports[0] != port) continue;
        const float *w = pgy_tensor_data(s->weight);
        for (size_t k = 0; k < pgy_tensor_count(s->weight); k++) {
            if (k % 65536 == 0 && cancel_requested()) return;
            float *at = &largest[quant_weight_channel(s, k)];
            *at = fmaxf(*at, fabsf(w[k]));
        }
    }
}

/* Do the weights of all layers of the port have its channels? *apart: each output channel reads one
 * input channel, so its scale takes up any factor, and smoothing costs the weight nothing. */
static bool channels_agree(bool *apart, const quantizer *q, size_t port)
{
    *apart = true;
    for (size_t i = 0; i < q->site_count; i++) {
        const quant_site *s = &q->sites[i];
        if (!s->weight || s->ports[0] != port) continue;
        const size_t depth = (size_t)pgy_tensor_shape(s->weight)[s->axis ? 0 : 1];
        if (depth * quant_groups(s) != q->ports[port].channel_count) return false;
        *apart = *apart && depth == 1;
    }
    return q->ports[port].channel_count > 0;
}

static pgy_status smooth_port(quant_fit *f, const quantizer *q, size_t port, pgy_error *err)
{
    const quant_port *at = &q->ports[port];
    bool apart = false;
    if (!channels_agree(&apart, q, port)) return PGY_OK;
    const float a = apart ? 1 : (float)f->method.smooth;
    float *weight = mem_calloc(at->channel_count, sizeof *weight);
    f->shrink[port] = mem_calloc(at->channel_count, sizeof *f->shrink[port]);
    if (!weight || !f->shrink[port]) {
        mem_free(weight);
        return search_no_memory(err);
    }
    find_weight_largest(weight, q, port);
    for (size_t c = 0; c < at->channel_count; c++) {
        const float by = powf(at->largest[c], a) / powf(weight[c], 1 - a);
        const bool fine = at->largest[c] > 0 && weight[c] > 0 && by > 1e-6f && by < 1e6f;
        f->shrink[port][c] = fine ? 1 / by : 1;
    }
    mem_free(weight);
    return PGY_OK;
}

/* ---- Weights -------------------------------------------------------------------------------- */

/* Finds the step of each output channel, which its largest element gives, and rounds. */
static void round_weight(pgy_tensor *w, float *steps, size_t axis, pgy_dtype type)
{
    const size_t channels = (size_t)pgy_tensor_shape(w)[axis], inner = quant_inner(w, axis);
    const size_t count = pgy_tensor_count(w);
    float *x = pgy_tensor_data(w);
    for (size_t i = 0; i < count; i++) {
        if (i % 65536 == 0 && cancel_requested()) return;
        float *step = &steps[i / inner % channels];
        *step = fmaxf(*step, fabsf(x[i]));
    }
    for (size_t c = 0; c < channels; c++) {
        steps[c] /= (float)quant_most(type);
        if (!(steps[c] >= 1e-37f)) steps[c] = 1; /* all elements are 0, or next to it */
    }
    for (size_t i = 0; i < count && !cancel_requested(); i += inner)
        quant_round(x + i, x + i, inner, type,
                    (grid){.scale = (double)steps[i / inner % channels]});
}

static pgy_status fit_weight(quant_fit *f, const quantizer *q, size_t site, pgy_error *err)
{
    const quant_site *s = &q->sites[site];
    if (!s->weight) return PGY_OK;
    pgy_status st = quant_weight_scaled(&f->weights[site], q, f, site, err);
    if (st) return st;
    const size_t channels = (size_t)pgy_tensor_shape(s->weight)[s->axis];
    f->steps[site] = mem_calloc(channels + 1, sizeof *f->steps[site]);
    if (!f->steps[site]) return search_no_memory(err);
    round_weight(f->weights[site], f->steps[site], s->axis, q->type);
    return cancel_check(err);
}

/* ---- The fit -------------------------------------------------------------------------------- */

static pgy_status fit_ports(quant_fit *f, quantizer *q, pgy_error *err)
{
    histogram *counts = NULL;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && f->method.smooth > 0 && i < q->port_count; i++)
        st = smooth_port(f, q, i, err);
    if (!st) st = quant_count(&counts, q, f, err);
    for (size_t i = 0; !st && i < q->port_count; i++) {
        st = cancel_check(err);
        f->grids[i] = quant_grid(&counts[i], q->type, &f->method);
    }
    mem_free(counts);
    return st;
}

pgy_status quant_fit_create(quant_fit **out, quantizer *q, const quant_method *m, pgy_error *err)
{
    quant_fit *f = mem_calloc(1, sizeof *f);
    if (!f) return search_no_memory(err);
    f->method = *m;
    f->grids = mem_calloc(q->port_count + 1, sizeof *f->grids);
    f->shrink = mem_calloc(q->port_count + 1, sizeof(float *));
    f->weights = mem_calloc(q->site_count + 1, sizeof(pgy_tensor *));
    f->steps = mem_calloc(q->site_count + 1, sizeof(float *));
    f->shifts = mem_calloc(q->site_count + 1, sizeof(float *));
    const bool good = f->grids && f->shrink && f->weights && f->steps && f->shifts;
    pgy_status st = good ? fit_ports(f, q, err) : search_no_memory(err);
    for (size_t i = 0; !st && i < q->site_count; i++) st = fit_weight(f, q, i, err);
    if (!st && (m->adaptive || m->bias_correction)) st = quant_improve(q, f, err);
    if (st)
        quant_fit_destroy(f, q);
    else
        *out = f;
    return st;
}
