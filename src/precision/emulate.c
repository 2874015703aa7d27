/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the graph with the engine's interpreter, and rounds what narrow layers read and write. This
 * is faster than narrow kernels, needs no Casts or Q/DQ, and equals what the written model does up
 * to the rounding inside a layer. 8-bit layers round only what they read, not what they write.
 *
 * Outputs of nodes are kept for each sample and emulation. A node runs again only if its type
 * differs from that of the kept run, or if a node that it reads ran again. So a trial that changes
 * one late layer costs that layer and what follows. What does not fit into the budget is computed
 * again.
 *
 * Kernels pack constant weights once per node, so layers that are rounded and layers that are
 * quantized each have an interpreter of their own. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/interpret.h"
#include "precision/precision.h"
#include "precision/quant.h"
#include "precision/round.h"
#include "tensor/tensor.h"

typedef struct kept_node {
    op_tensor *outputs; /* NULL: not kept */
    size_t mode;        /* what the node was: 0 is wide, else by emulator.mode of that time */
} kept_node;

struct emulator {
    pgy_precision *p;
    graph_plan plan;
    execute_operators operators;
    interpreter *wide, *narrow, *quantized;
    kept_node *kept;     /* [emulation][sample][node] */
    pgy_dtype type;      /* of layers that are rounded */
    const quantizer *q;  /* for 8-bit types */
    const size_t *nodes; /* of the layers of a set */
    size_t layers;
    size_t mode; /* counts the changes of what narrow layers are */
    emulator_seen *seen;
    void *seen_user;
    op_tensor **weights;    /* [node][input]: rounded weights, made when first needed */
    uint64_t *bytes;        /* [node] */
    uint64_t *output_bytes; /* [node] */
    uint64_t held_bytes;    /* of kept outputs and rounded weights */
    level *levels;          /* [node], in this run */
    bool *ran;              /* [node]: ran in this run, so its outputs may be new */
    size_t sample;
    emulation as;
    bool keep;
    level inside;  /* of the node of the main graph that runs */
    bool all_wide; /* no layer is narrow, so the emulations have the same values */
};

static bool is_top(const emulator *e, const pgy_node *n)
{
    return n->graph == e->p->graph;
}

static uint64_t size_of(const op_tensor *t)
{
    return t->value ? pgy_tensor_size_bytes(t->value) : 0;
}

/* ---- Kept values ---------------------------------------------------------------------------- */

static kept_node *kept_of(emulator *e, const pgy_node *n, int as)
{
    const size_t run = (size_t)as * e->p->summary.samples + e->sample;
    return &e->kept[run * e->p->graph->node_count + n->index];
}

static void forget(emulator *e, kept_node *k, size_t output_count)
{
    for (size_t i = 0; k->outputs && i < output_count; i++) {
        e->held_bytes -= size_of(&k->outputs[i]);
        op_tensor_release(&k->outputs[i]);
    }
    mem_free(k->outputs);
    *k = (kept_node){0};
}

static bool reads_new(const emulator *e, const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_node *from = n->inputs[i] ? n->inputs[i]->producer : NULL;
        if (from && is_top(e, from) && e->ran[from->index]) return true;
    }
    return false;
}

static size_t mode_of(const emulator *e, const pgy_node *n)
{
    return e->levels[n->index] ? 3 * e->mode + e->levels[n->index] : 0;
}

static bool reuse(emulator *e, const pgy_node *n, op_tensor *outputs)
{
    const kept_node *k = kept_of(e, n, (int)e->as);
    if (!k->outputs || k->mode != mode_of(e, n) || reads_new(e, n)) return false;
    for (size_t i = 0; i < n->output_count; i++) outputs[i] = op_tensor_retain(&k->outputs[i]);
    return true;
}

static pgy_status remember(emulator *e, const pgy_node *n, int as, const op_tensor *outputs,
                           pgy_error *err)
{
    kept_node *k = kept_of(e, n, as);
    uint64_t bytes = 0;
    forget(e, k, n->output_count);
    for (size_t i = 0; i < n->output_count; i++) {
        if (outputs[i].sequence) return PGY_OK;
        bytes += size_of(&outputs[i]);
    }
    /* Values that a subgraph reads from outside are not in n->inputs, so changes would be missed.
     */
    if (n->subgraph_count || e->held_bytes + bytes > e->p->options.max_bytes) return PGY_OK;
    k->outputs = mem_calloc(n->output_count + 1, sizeof *k->outputs);
    if (!k->outputs) return search_no_memory(err);
    for (size_t i = 0; i < n->output_count; i++) k->outputs[i] = op_tensor_retain(&outputs[i]);
    k->mode = mode_of(e, n);
    e->held_bytes += bytes;
    return PGY_OK;
}

/* ---- Rounding ------------------------------------------------------------------------------- */

static bool is_weight(const pgy_value *v)
{
    return v->initializer || (v->producer && node_constant(v->producer));
}

static pgy_status rounded(op_tensor *out, const emulator *e, const op_tensor *t, bool weight,
                          pgy_error *err)
{
    *out = op_tensor_retain(t);
    if (!t->value || t->dtype != PGY_F32 || (e->as == EMULATE_FUSED && !weight)) return PGY_OK;
    pgy_tensor *made = NULL;
    const pgy_status st = round_tensor(&made, t->value, e->type, weight, err);
    op_tensor_release(out);
    if (!st) *out = (op_tensor){.dtype = t->dtype, .value = made};
    return st;
}

static pgy_status round_input(op_tensor *out, emulator *e, const pgy_node *n, size_t i,
                              const op_tensor *t, pgy_error *err)
{
    op_tensor *held = NULL;
    if (!n->inputs[i] || !is_weight(n->inputs[i])) return rounded(out, e, t, false, err);
    if (is_top(e, n)) {
        if (!e->weights[n->index])
            e->weights[n->index] = mem_calloc(n->input_count, sizeof *e->weights[0]);
        if (!e->weights[n->index]) return search_no_memory(err);
        held = &e->weights[n->index][i];
        if (held->value) {
            *out = op_tensor_retain(held);
            return PGY_OK;
        }
    }
    const pgy_status st = rounded(out, e, t, true, err);
    if (!st && held && e->held_bytes + size_of(out) <= e->p->options.max_bytes) {
        *held = op_tensor_retain(out);
        e->held_bytes += size_of(held);
    }
    return st;
}

static pgy_status run_rounded(emulator *e, pgy_node *n, const op_node *node,
                              const op_tensor *inputs, op_tensor *outputs, const bool *wanted,
                              const op_host *host, pgy_error *err)
{
    const execute_operators *own = interpreter_operators(e->narrow);
    op_tensor *in = mem_calloc(n->input_count + 1, sizeof *in);
    pgy_status st = in ? PGY_OK : search_no_memory(err);
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = round_input(&in[i], e, n, i, &inputs[i], err);
    if (!st) st = own->run(n, node, in, outputs, wanted, host, own->user, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        op_tensor made = {0};
        st = rounded(&made, e, &outputs[i], false, err);
        if (st) break;
        op_tensor_release(&outputs[i]);
        outputs[i] = made;
    }
    for (size_t i = 0; in && i < n->input_count; i++) op_tensor_release(&in[i]);
    mem_free(in);
    return st;
}

static pgy_status quantize_input(op_tensor *out, const emulator *e, const quant_site *site,
                                 size_t i, const op_tensor *t, pgy_error *err)
{
    const quant_fit *f = e->q->fit;
    pgy_tensor *made = NULL;
    pgy_status st = PGY_OK;
    if (i < site->port_count && t->value)
        st = quant_port_apply(&made, e->q, f, site->ports[i], t->value, err);
    else if (i == 1 && site->weight)
        made = pgy_tensor_retain(f->weights[site - e->q->sites]);
    if (!st) *out = made ? (op_tensor){.dtype = PGY_F32, .value = made} : op_tensor_retain(t);
    return st;
}

static pgy_status run_quantized(emulator *e, pgy_node *n, const op_node *node,
                                const op_tensor *inputs, op_tensor *outputs, const bool *wanted,
                                const op_host *host, pgy_error *err)
{
    const execute_operators *own = interpreter_operators(e->quantized);
    const size_t site = e->q->site_of[n->index] - 1;
    op_tensor *in = mem_calloc(n->input_count + 1, sizeof *in);
    pgy_status st = in ? PGY_OK : search_no_memory(err);
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = quantize_input(&in[i], e, &e->q->sites[site], i, &inputs[i], err);
    if (!st) st = own->run(n, node, in, outputs, wanted, host, own->user, err);
    if (!st && outputs[0].value) st = quant_shift(&outputs[0].value, e->q, e->q->fit, site, err);
    for (size_t i = 0; in && i < n->input_count; i++) op_tensor_release(&in[i]);
    mem_free(in);
    return st;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static void count_bytes(emulator *e, const pgy_node *n, const op_tensor *inputs,
                        const op_tensor *outputs)
{
    uint64_t bytes = 0, weights = 0;
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] && is_weight(n->inputs[i]) && inputs[i].dtype == PGY_F32 &&
            inputs[i].value)
            weights += 4 * (uint64_t)pgy_tensor_count(inputs[i].value);
    for (size_t i = 0; i < n->output_count; i++)
        if (outputs[i].value && outputs[i].dtype == PGY_F32)
            bytes += 4 * (uint64_t)pgy_tensor_count(outputs[i].value);
    e->output_bytes[n->index] = bytes;
    e->bytes[n->index] = weights + bytes;
}

static pgy_status run_node(pgy_node *n, const op_node *node, const op_tensor *inputs,
                           op_tensor *outputs, const bool *wanted, const op_host *host, void *user,
                           pgy_error *err)
{
    emulator *e = user;
    const bool top = is_top(e, n);
    if (top && e->seen) {
        const pgy_status seen = e->seen(n, e->sample, inputs, e->seen_user, err);
        if (seen) return seen;
    }
    if (top && reuse(e, n, outputs)) return PGY_OK;
    if (top) {
        e->ran[n->index] = true;
        e->inside = e->levels[n->index];
    }
    const execute_operators *own = interpreter_operators(e->wide);
    /* Nodes with subgraphs only pass values on; the nodes inside are rounded. */
    pgy_status st;
    if (!e->inside || n->subgraph_count)
        st = own->run(n, node, inputs, outputs, wanted, host, own->user, err);
    else if (e->q && e->inside == LEVEL_FIRST)
        st = run_quantized(e, n, node, inputs, outputs, wanted, host, err);
    else
        st = run_rounded(e, n, node, inputs, outputs, wanted, host, err);
    if (st || !top || !e->keep) return st;
    count_bytes(e, n, inputs, outputs);
    for (int as = 0; as < EMULATIONS; as++)
        if (!st && (as == (int)e->as || e->all_wide)) st = remember(e, n, as, outputs, err);
    return st;
}

/* ---- The emulator --------------------------------------------------------------------------- */

pgy_status emulator_create(emulator **out, pgy_precision *p, pgy_error *err)
{
    const size_t nodes = p->graph->node_count, samples = EMULATIONS * p->summary.samples;
    emulator *e = mem_calloc(1, sizeof *e);
    if (!e) return search_no_memory(err);
    e->p = p;
    e->type = is_mix(p) ? p->options.rest_type : p->options.type;
    e->nodes = p->nodes;
    e->layers = p->summary.layers;
    e->mode = 1;
    e->q = p->quantizer && p->quantizer->fit ? p->quantizer : NULL;
    e->operators = (execute_operators){.run = run_node, .user = e};
    e->kept = mem_calloc(samples * nodes + 1, sizeof *e->kept);
    e->weights = mem_calloc(nodes + 1, sizeof *e->weights);
    e->bytes = mem_calloc(nodes + 1, sizeof *e->bytes);
    e->output_bytes = mem_calloc(nodes + 1, sizeof *e->output_bytes);
    e->levels = mem_calloc(nodes + 1, sizeof *e->levels);
    e->ran = mem_calloc(nodes + 1, sizeof *e->ran);
    const bool good = e->kept && e->weights && e->bytes && e->output_bytes && e->levels && e->ran;
    pgy_status st = good ? PGY_OK : search_no_memory(err);
    if (!st) st = plan_build(&e->plan, p->graph, err);
    if (!st) st = interpreter_create(&e->wide, NULL, err);
    if (!st) st = interpreter_create(&e->narrow, NULL, err);
    if (!st) st = interpreter_create(&e->quantized, NULL, err);
    if (st)
        emulator_destroy(e);
    else
        *out = e;
    return st;
}

static void forget_weights(emulator *e)
{
    const pgy_graph *g = e->p->graph;
    for (size_t i = 0; e->weights && i < g->node_count; i++) {
        for (size_t k = 0; e->weights[i] && k < g->nodes[i]->input_count; k++) {
            e->held_bytes -= size_of(&e->weights[i][k]);
            op_tensor_release(&e->weights[i][k]);
        }
        mem_free(e->weights[i]);
        e->weights[i] = NULL;
    }
}

void emulator_destroy(emulator *e)
{
    if (!e) return;
    const pgy_graph *g = e->p->graph;
    for (size_t s = 0; e->kept && s < EMULATIONS * e->p->summary.samples; s++)
        for (size_t i = 0; i < g->node_count; i++)
            forget(e, &e->kept[s * g->node_count + i], g->nodes[i]->output_count);
    forget_weights(e);
    interpreter_destroy(e->wide);
    interpreter_destroy(e->narrow);
    interpreter_destroy(e->quantized);
    graph_plan_deinit(&e->plan);
    mem_free(e->kept);
    mem_free(e->weights);
    mem_free(e->bytes);
    mem_free(e->output_bytes);
    mem_free(e->levels);
    mem_free(e->ran);
    mem_free(e);
}

pgy_status emulator_set_type(emulator *e, pgy_dtype type, const quantizer *q, const size_t *nodes,
                             size_t layers, pgy_error *err)
{
    interpreter *fresh[2] = {NULL, NULL};
    pgy_status st = interpreter_create(&fresh[0], NULL, err);
    if (!st) st = interpreter_create(&fresh[1], NULL, err);
    if (st) {
        interpreter_destroy(fresh[0]);
        return st;
    }
    forget_weights(e);
    interpreter_destroy(e->narrow);
    interpreter_destroy(e->quantized);
    e->narrow = fresh[0];
    e->quantized = fresh[1];
    e->type = q && is_mix(e->p) ? e->p->options.rest_type : type;
    e->q = q;
    e->nodes = nodes;
    e->layers = layers;
    e->mode++;
    return PGY_OK;
}

void emulator_watch(emulator *e, emulator_seen *seen, void *user)
{
    e->seen = seen;
    e->seen_user = user;
}

const uint64_t *emulator_bytes(const emulator *e)
{
    return e->bytes;
}

const uint64_t *emulator_output_bytes(const emulator *e)
{
    return e->output_bytes;
}

pgy_status emulator_run(pgy_tensor_map **out, emulator *e, size_t sample, const level *set,
                        emulation as, bool keep, pgy_error *err)
{
    const size_t nodes = e->p->graph->node_count;
    const execute_limits limits = {.max_bytes = UINT64_MAX, .operators = &e->operators};
    pgy_tensor_map *results = NULL;
    memset(e->ran, 0, nodes * sizeof *e->ran);
    memset(e->levels, 0, nodes * sizeof *e->levels);
    for (size_t i = 0; set && i < e->layers; i++) e->levels[e->nodes[i]] = set[i];
    e->sample = sample;
    e->as = as;
    e->keep = keep;
    e->all_wide = !set;
    e->inside = LEVEL_WIDE;
    pgy_status st = pgy_tensor_map_create(&results, err);
    if (!st)
        st = execute_graph(&e->plan, e->p->graph, e->p->samples[sample], results, false, &limits,
                           err);
    if (st)
        pgy_tensor_map_destroy(results);
    else
        *out = results;
    return st;
}
