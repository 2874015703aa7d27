/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the layers that can be quantized, with the tensors that they read. Int8 has those of the
 * engine (engine/precision/quantize.c), and products of two computed tensors; float8 has products
 * and convolutions only. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/precision/precision.h"
#include "precision/quant.h"

static const char LOG_PATH[] = "precision/quant_sites.c";

typedef struct listing {
    quantizer *q;
    precision x; /* for questions to the engine */
    bool *can;   /* for each node */
    bool *leads; /* for each node: its result reaches a layer, maybe through limits and moves */
} listing;

static bool is_data(const pgy_value *v)
{
    return v && v->kind == PGY_VALUE_TENSOR && v->dtype == PGY_F32 && !v->initializer &&
           !(v->producer && node_is(v->producer, "Constant"));
}

/* A product of two tensors that are computed. */
static bool is_pair(const pgy_node *n)
{
    return node_is(n, "MatMul") && n->input_count == 2 && is_data(n->inputs[0]) &&
           is_data(n->inputs[1]);
}

static size_t data_inputs(const pgy_node *n)
{
    return is_pair(n) ? 2 : quantize_data_inputs(n);
}

static bool is_linear(const listing *l, const pgy_node *n)
{
    if (is_pair(n)) return true;
    return quantize_role_of(n) == QUANTIZE_LINEAR && !quantize_obstacle(&l->x, n);
}

bool quant_passes_on(const pgy_node *n)
{
    return quantize_is_limit(n) || quantize_role_of(n) == QUANTIZE_MOVE;
}

static void mark_leads(listing *l)
{
    const pgy_graph *g = l->q->p->graph;
    for (size_t i = g->node_count; i-- > 0;) {
        const pgy_node *n = g->nodes[i];
        l->leads[i] = is_linear(l, n);
        if (l->leads[i] || (!quant_passes_on(n) && quantize_role_of(n) != QUANTIZE_JOIN)) continue;
        for (size_t k = 0; k < n->output_count; k++)
            for (size_t j = 0; n->outputs[k] && j < n->outputs[k]->consumer_count; j++) {
                const pgy_node *user = n->outputs[k]->consumers[j];
                l->leads[i] = l->leads[i] || (user->graph == g && l->leads[user->index]);
            }
    }
}

/* Does a layer compute v, maybe with limits and moves behind it? */
static bool comes_from_layer(const listing *l, const pgy_value *v)
{
    const pgy_node *n = v ? v->producer : NULL;
    for (size_t steps = 0; n && n->graph == l->q->p->graph && steps < 16; steps++) {
        if (l->can[n->index]) return true;
        if (!quant_passes_on(n) || !n->inputs[0]) return false;
        n = n->inputs[0]->producer;
    }
    return false;
}

static bool is_join(const listing *l, const pgy_node *n)
{
    if (l->q->type != PGY_I8 || quantize_role_of(n) != QUANTIZE_JOIN || !l->leads[n->index] ||
        quantize_obstacle(&l->x, n))
        return false;
    for (size_t i = 0; i < data_inputs(n); i++)
        if (!comes_from_layer(l, n->inputs[i])) return false;
    return true;
}

/* ---- Ports ---------------------------------------------------------------------------------- */

static quant_channels channels_of(const pgy_node *n, const pgy_tensor *weight)
{
    if (!weight) return CHANNELS_NONE;
    if (node_is(n, "Conv")) return CHANNELS_SECOND;
    const bool product = node_is(n, "MatMul") || node_is(n, "Gemm");
    return product && pgy_tensor_rank(weight) == 2 ? CHANNELS_LAST : CHANNELS_NONE;
}

/* The port for this tensor, made if there is none. SIZE_MAX: out of memory. */
static size_t port_for(quantizer *q, pgy_value *v, quant_channels channels)
{
    for (size_t i = 0; i < v->consumer_count; i++) {
        const pgy_node *n = v->consumers[i];
        const size_t site = n->graph == q->p->graph ? q->site_of[n->index] : 0;
        for (size_t k = 0; site && k < q->sites[site - 1].port_count; k++) {
            const size_t port = q->sites[site - 1].ports[k];
            if (q->ports[port].value == v && q->ports[port].channels == channels) return port;
        }
    }
    quant_port *more = mem_realloc(q->ports, (q->port_count + 1) * sizeof *more);
    if (!more) return SIZE_MAX;
    q->ports = more;
    more[q->port_count] = (quant_port){.value = v, .channels = channels};
    return q->port_count++;
}

static pgy_status read_weight(quant_site *s, const listing *l, pgy_error *err)
{
    pgy_node *n = s->node;
    pgy_tensor *stored = NULL;
    if (quantize_role_of(n) != QUANTIZE_LINEAR || is_pair(n)) return PGY_OK;
    pgy_status st = fold_constant(&stored, &l->x.p.f, n->inputs[1], err);
    if (!st && stored && pgy_tensor_dtype(stored) == PGY_F32 &&
        (uintptr_t)pgy_tensor_data(stored) % sizeof(float) == 0)
        s->weight = pgy_tensor_retain(stored);
    else if (!st && stored)
        st = pgy_tensor_cast(&s->weight, pgy_tensor_view(stored), PGY_F32, err);
    pgy_tensor_release(stored);
    if (!st && s->weight) s->axis = quantize_channel_axis(n, pgy_tensor_rank(s->weight));
    return st;
}

static bool is_finite(const pgy_tensor *t)
{
    const float *x = t ? pgy_tensor_data(t) : NULL;
    for (size_t i = 0; t && i < pgy_tensor_count(t); i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static pgy_status add_site(listing *l, pgy_node *n, pgy_error *err)
{
    quantizer *q = l->q;
    quant_site *s = &q->sites[q->site_count];
    *s = (quant_site){.node = n};
    const pgy_status st = read_weight(s, l, err);
    if (st) return st;
    if (!is_finite(s->weight)) {
        LOG(WARNING, "Layer '%s' (%s): weight '%s' has infinities or NaNs and stays in float32",
            n->name, n->op_type, n->inputs[1]->name);
        pgy_tensor_release(s->weight);
        l->can[n->index] = false;
        return PGY_OK;
    }
    s->ports = mem_calloc(data_inputs(n) + 1, sizeof *s->ports);
    q->nodes[q->site_count] = n->index;
    q->site_of[n->index] = ++q->site_count;
    if (!s->ports) return search_no_memory(err);
    for (size_t i = 0; i < data_inputs(n); i++) {
        const size_t port = port_for(q, n->inputs[i], channels_of(n, s->weight));
        if (port == SIZE_MAX) return search_no_memory(err);
        s->ports[s->port_count++] = port;
    }
    return PGY_OK;
}

static void mark_only(quantizer *q)
{
    for (size_t i = 0; i < q->port_count; i++) {
        quant_port *port = &q->ports[i];
        port->only = port->value->producer && !port->value->is_output;
        for (size_t k = 0; k < port->value->consumer_count; k++) {
            const pgy_node *n = port->value->consumers[k];
            if (n->graph != q->p->graph || !q->site_of[n->index]) port->only = false;
        }
    }
}

static pgy_status list_sites(listing *l, pgy_error *err)
{
    quantizer *q = l->q;
    pgy_status st = PGY_OK;
    mark_leads(l);
    for (size_t i = 0; !st && i < q->p->graph->node_count; i++) {
        pgy_node *n = q->p->graph->nodes[i];
        l->can[i] = is_linear(l, n) || is_join(l, n);
        if (l->can[i]) st = add_site(l, n, err);
    }
    mark_only(q);
    return st;
}

pgy_status quantizer_create(quantizer **out, pgy_precision *p, pgy_dtype type, pgy_error *err)
{
    const size_t nodes = p->graph->node_count;
    quantizer *q = mem_calloc(1, sizeof *q);
    if (!q) return search_no_memory(err);
    listing l = {.q = q, .x = {.p = {.f = {.graph = p->graph, .state = state_of(p->graph)}}}};
    q->p = p;
    q->type = type;
    q->sites = mem_calloc(nodes + 1, sizeof *q->sites);
    q->nodes = mem_calloc(nodes + 1, sizeof *q->nodes);
    q->site_of = mem_calloc(nodes + 1, sizeof *q->site_of);
    q->moved = mem_calloc(nodes + 1, sizeof *q->moved);
    l.can = mem_calloc(nodes + 1, sizeof *l.can);
    l.leads = mem_calloc(nodes + 1, sizeof *l.leads);
    const bool good = q->sites && q->nodes && q->site_of && q->moved && l.can && l.leads;
    const pgy_status st = good ? list_sites(&l, err) : search_no_memory(err);
    arena_deinit(&l.x.p.f.memory);
    mem_free(l.can);
    mem_free(l.leads);
    if (st)
        quantizer_destroy(q);
    else
        *out = q;
    return st;
}

void quantizer_destroy(quantizer *q)
{
    if (!q) return;
    quant_fit_destroy(q->fit, q);
    for (size_t i = 0; i < q->site_count; i++) {
        mem_free(q->sites[i].ports);
        pgy_tensor_release(q->sites[i].weight);
    }
    for (size_t i = 0; i < q->port_count; i++) mem_free(q->ports[i].largest);
    mem_free(q->ports);
    mem_free(q->sites);
    mem_free(q->nodes);
    mem_free(q->site_of);
    mem_free(q->moved);
    mem_free(q);
}

/* ---- Costs ---------------------------------------------------------------------------------- */

static bool all_in(const quantizer *q, const pgy_value *v, const level *set)
{
    for (size_t k = 0; k < v->consumer_count; k++)
        if (!set[q->site_of[v->consumers[k]->index] - 1]) return false;
    return true;
}

uint64_t quantizer_saves(const quantizer *q, const level *set)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < q->site_count; i++)
        if (set[i] && q->sites[i].weight)
            bytes += 3 * pgy_tensor_size_bytes(q->sites[i].weight) / 4;
    for (size_t i = 0; i < q->port_count; i++) {
        const quant_port *port = &q->ports[i];
        bool first = true; /* of the ports of this tensor */
        for (size_t k = 0; k < i && first; k++) first = q->ports[k].value != port->value;
        if (first && port->only && all_in(q, port->value, set)) bytes += 3 * port->bytes / 4;
    }
    return bytes;
}
