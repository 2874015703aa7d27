/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at what layers read. The model runs as it is; as its values are kept, such a run costs
 * almost nothing but the looking. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "precision/quant.h"

typedef struct observer {
    quantizer *q;
    const quant_fit *fit;
    histogram *counts; /* for each port; NULL: bytes and channels are wanted */
} observer;

static size_t channel_count(const quant_port *port, const pgy_tensor *t)
{
    const size_t rank = pgy_tensor_rank(t);
    const int64_t *shape = pgy_tensor_shape(t);
    if (port->channels == CHANNELS_SECOND && rank > 2) return (size_t)shape[1];
    return port->channels == CHANNELS_LAST && rank > 0 ? (size_t)shape[rank - 1] : 0;
}

static pgy_status find_largest(quant_port *port, const pgy_tensor *t, pgy_error *err)
{
    const size_t channels = channel_count(port, t), inner = quant_port_inner(port, t);
    const size_t count = pgy_tensor_count(t);
    const float *x = pgy_tensor_data(t);
    port->bytes = 4 * (uint64_t)count;
    if (!port->largest && channels) {
        port->largest = mem_calloc(channels, sizeof *port->largest);
        if (!port->largest) return search_no_memory(err);
        port->channel_count = channels;
    }
    port->rank = pgy_tensor_rank(t);
    if (!channels || !inner || channels != port->channel_count) {
        port->channel_count = 0;
        return PGY_OK;
    }
    for (size_t i = 0, c = 0; i + inner <= count; i += inner, c = c + 1 < channels ? c + 1 : 0)
        for (size_t k = 0; k < inner; k++)
            if (fabsf(x[i + k]) > port->largest[c]) port->largest[c] = fabsf(x[i + k]);
    return PGY_OK;
}

static pgy_status look(observer *o, size_t port, const pgy_tensor *t, pgy_error *err)
{
    pgy_tensor *x = NULL;
    pgy_status st = pgy_tensor_cast(&x, pgy_tensor_view(t), PGY_F32, err);
    if (st) return st;
    const float *shrink = o->counts ? o->fit->shrink[port] : NULL;
    if (!o->counts) {
        st = find_largest(&o->q->ports[port], x, err);
    } else {
        const size_t inner = quant_port_inner(&o->q->ports[port], x);
        float *data = pgy_tensor_data(x);
        for (size_t i = 0; shrink && i < pgy_tensor_count(x); i++)
            data[i] *= shrink[i / inner % o->q->ports[port].channel_count];
        histogram_add(&o->counts[port], data, pgy_tensor_count(x));
    }
    pgy_tensor_release(x);
    return st;
}

static pgy_status see(pgy_node *n, size_t sample, const op_tensor *inputs, void *user,
                      pgy_error *err)
{
    observer *o = user;
    const size_t site = o->q->site_of[n->index];
    pgy_status st = PGY_OK;
    if (!o->counts && quant_passes_on(n) && inputs[0].value)
        o->q->moved[n->index] = 4 * (uint64_t)pgy_tensor_count(inputs[0].value);
    for (size_t i = 0; site && !st && i < o->q->sites[site - 1].port_count; i++) {
        quant_port *port = &o->q->ports[o->q->sites[site - 1].ports[i]];
        if (port->seen == sample + 1 || !inputs[i].value) continue;
        port->seen = sample + 1;
        st = look(o, o->q->sites[site - 1].ports[i], inputs[i].value, err);
    }
    return st;
}

static pgy_status run_all(observer *o, pgy_error *err)
{
    pgy_precision *p = o->q->p;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < o->q->port_count; i++) o->q->ports[i].seen = 0;
    emulator_watch(p->emulator, see, o);
    progress_begin("samples observed", search_count(p));
    for (size_t s = 0; !st && s < search_count(p); s++) {
        pgy_tensor_map *got = NULL;
        st = cancel_check(err);
        if (!st) st = emulator_run(&got, p->emulator, s, NULL, EMULATE_STORED, false, err);
        pgy_tensor_map_destroy(got);
        progress_advance(s + 1);
    }
    progress_end();
    emulator_watch(p->emulator, NULL, NULL);
    return cancel_check_after(st, err);
}

/* A tensor that is stored in 8 bits can be so before limits and moves, too. */
static void add_moved(quantizer *q, quant_port *port)
{
    const pgy_node *n = port->value->producer;
    for (; n && n->graph == q->p->graph && quant_passes_on(n); n = n->inputs[0]->producer) {
        const pgy_value *from = n->inputs[0];
        if (!from || !from->producer || from->consumer_count != 1 || from->is_output) return;
        port->bytes += q->moved[n->index];
    }
}

pgy_status quant_observe(quantizer *q, pgy_error *err)
{
    observer o = {.q = q};
    const pgy_status st = run_all(&o, err);
    for (size_t i = 0; !st && i < q->port_count; i++) add_moved(q, &q->ports[i]);
    return st;
}

pgy_status quant_count(histogram **out, quantizer *q, const quant_fit *f, pgy_error *err)
{
    observer o = {.q = q, .fit = f, .counts = mem_calloc(q->port_count + 1, sizeof(histogram))};
    const pgy_status st = o.counts ? run_all(&o, err) : search_no_memory(err);
    if (st)
        mem_free(o.counts);
    else
        *out = o.counts;
    return st;
}
