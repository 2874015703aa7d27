/* SPDX-License-Identifier: Apache-2.0 */
/* Layers are the nodes of the main graph that the conversion to 16 bits changes. A trial conversion
 * of the whole model finds them, so the search and the written model agree on which nodes stay
 * float32 in any case. Layers of 8 bits are those of quant_sites.c; for them constants are
 * folded and batch normalisations move into weights first, and the model gets an opset that has the
 * type.
 *
 * The conversion selects nodes by name, wildcard or operator. So nodes get a new name if theirs is
 * empty, is used twice, looks like a wildcard or equals an operator. */
#include <polygraphy/transform.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/precision/precision.h"
#include "graph/inline.h"
#include "precision/precision.h"
#include "precision/quant.h"
#include "transform/fuse/fuse.h"

static const char LOG_PATH[] = "precision/layers.c";

/* ---- Names ---------------------------------------------------------------------------------- */

typedef struct naming {
    arena *memory;
    strmap
        names; /* name -> number of nodes that have it (as a pointer); operators are in it, too */
    size_t number, renamed;
} naming;

static bool note_names(naming *m, const pgy_graph *g)
{
    bool good = true;
    for (size_t i = 0; good && i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        const uintptr_t seen = (uintptr_t)strmap_get(&m->names, n->name);
        /* An operator counts twice, so no node may have its name. */
        good = strmap_put(&m->names, n->name, (void *)(seen + 1)) &&
               strmap_put(&m->names, n->op_type, (void *)2);
        for (size_t k = 0; good && k < n->subgraph_count; k++)
            good = note_names(m, n->subgraphs[k]);
    }
    return good;
}

static bool is_plain(const char *name)
{
    for (const char *c = name; *c; c++)
        if (strchr("*?[]\\", *c) || (unsigned char)*c <= ' ') return false;
    return *name != 0;
}

static bool give_names(naming *m, pgy_graph *g)
{
    bool good = true;
    for (size_t i = 0; good && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        for (size_t k = 0; good && k < n->subgraph_count; k++)
            good = give_names(m, n->subgraphs[k]);
        if (is_plain(n->name) && (uintptr_t)strmap_get(&m->names, n->name) == 1) continue;
        char *name = NULL;
        do name = arena_printf(m->memory, "%s_%zu", n->op_type, m->number++);
        while (name && strmap_has(&m->names, name));
        good = name && strmap_put(&m->names, name, (void *)1);
        if (!good) break;
        n->name = name;
        node_box_of(n)->changed = true;
        graph_mark_changed(g);
        m->renamed++;
    }
    return good;
}

static pgy_status make_names_unique(pgy_precision *p, pgy_error *err)
{
    naming m = {.memory = &state_of(p->graph)->memory};
    const bool good = note_names(&m, p->graph) && give_names(&m, p->graph);
    strmap_deinit(&m.names);
    if (!good) return search_no_memory(err);
    if (m.renamed)
        LOG(INFO, "%zu nodes have no usable name of their own and get new names", m.renamed);
    return PGY_OK;
}

/* ---- Layers --------------------------------------------------------------------------------- */

static bool has_type(pgy_value *const *values, size_t count, pgy_dtype type)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] && values[i]->dtype == type) return true;
    return false;
}

/* Did the conversion change the float32 outputs of n, or else its float32 inputs? */
static bool became(const pgy_node *n, const pgy_node *converted, pgy_dtype type)
{
    if (has_type(n->outputs, n->output_count, PGY_F32))
        return has_type(converted->outputs, converted->output_count, type);
    return has_type(n->inputs, n->input_count, PGY_F32) &&
           has_type(converted->inputs, converted->input_count, type);
}

pgy_status layers_convert(pgy_graph **out, const pgy_precision *p, pgy_dtype type,
                          const char *const *keep, size_t count, pgy_error *err)
{
    pgy_half_options o = pgy_half_options_default();
    pgy_graph *g = NULL;
    pgy_model *copy = NULL;
    o.dtype = type;
    o.keep = keep;
    o.keep_count = count;
    pgy_status st = pgy_graph_export(&copy, p->graph, err);
    if (!st) st = pgy_graph_import(&g, copy, err);
    if (!st) st = pgy_graph_convert_half(g, &o, err);
    pgy_model_destroy(copy);
    if (st)
        pgy_graph_destroy(g);
    else
        *out = g;
    return st;
}

pgy_status layers_convert_all(pgy_graph **out, const pgy_precision *p, level to, pgy_error *err)
{
    if (!p->quantizer || to == LEVEL_REST)
        return layers_convert(out, p, mix_type(p, to), NULL, 0, err);
    const size_t sites = p->quantizer->site_count;
    level *all = mem_calloc(sites + 1, sizeof *all);
    if (!all) return search_no_memory(err);
    for (size_t i = 0; i < sites; i++) all[i] = LEVEL_FIRST;
    const pgy_status st = quant_graph(out, p, all, err);
    mem_free(all);
    return st;
}

pgy_status layers_half(bool *is, const pgy_precision *p, pgy_dtype type, pgy_error *err)
{
    pgy_graph *converted = NULL;
    const pgy_status st = layers_convert(&converted, p, type, NULL, 0, err);
    for (size_t i = 0; !st && i < p->graph->node_count; i++) {
        const pgy_node *n = p->graph->nodes[i];
        const pgy_node *now = pgy_graph_find_node(converted, n->name);
        /* a Constant is a weight of the layers that read it */
        is[i] = !node_is(n, "Constant") && now && became(n, now, type);
    }
    pgy_graph_destroy(converted);
    return st;
}

/* Creates p->quantizer and sets is[i] for the nodes of its layers. */
static pgy_status layers_quantized(bool *is, pgy_precision *p, pgy_error *err)
{
    const pgy_status st = quantizer_create(&p->quantizer, p, p->options.type, err);
    for (size_t i = 0; !st && i < p->quantizer->site_count; i++) is[p->quantizer->nodes[i]] = true;
    return st;
}

static pgy_status list_layers(pgy_precision *p, const bool *is, pgy_error *err)
{
    const pgy_graph *g = p->graph;
    p->layers = mem_calloc(g->node_count + 1, sizeof *p->layers);
    p->nodes = mem_calloc(g->node_count + 1, sizeof *p->nodes);
    p->best = mem_calloc(g->node_count + 1, sizeof *p->best);
    if (!p->layers || !p->nodes || !p->best) return search_no_memory(err);
    size_t count = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        if (!is[i]) {
            p->summary.fixed += !node_is(n, "Constant");
            continue;
        }
        p->layers[count] = (pgy_precision_layer){
            .name = n->name, .op_type = n->op_type, .error = -1, .type = PGY_F32, .rest_error = -1};
        p->nodes[count++] = i;
    }
    p->summary.layers = count;
    if (count) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "no node of the model can be %s: it has no float32 nodes, or all of them "
                         "must stay float32%s",
                         pgy_dtype_name(p->options.type),
                         p->quantizer ? "; expected a convolution or matrix product" : "");
}

/* pattern_put joins the names of the nodes that it merges; the first is the layer's. */
static pgy_status keep_first_names(pgy_graph *g, pgy_error *err)
{
    for (size_t i = 0; i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        const char *end = n->proto ? NULL : strstr(n->name, " + ");
        if (!end) continue;
        n->name = arena_printf(&state_of(g)->memory, "%.*s", (int)(end - n->name), n->name);
        if (!n->name) return search_no_memory(err);
        node_box_of(n)->changed = true;
    }
    return PGY_OK;
}

static pgy_status prepare_for_8_bits(pgy_graph *g, pgy_dtype type, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_batch_norm, NULL};
    const int64_t least = type == PGY_I8 ? 13 : 19; /* of QuantizeLinear with channels, float8 */
    pgy_fold_options fold = pgy_fold_options_default();
    size_t changes = 0;
    pgy_status st = PGY_OK;
    if (precision_is_explicit(g))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the model has Q/DQ or integer layers already; expected a model that "
                             "is not quantized");
    fold.keep_separate = true; /* layers keep their borders and names */
    if (pgy_graph_opset(g, "") < least) st = pgy_graph_convert_opset(g, least, NULL, err);
    if (!st) st = pgy_graph_fold_constants(g, &fold, NULL, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = pattern_run_watched(g, "fuse_batch_norm", RULES, NULL, &changes, err);
    if (!st) st = keep_first_names(g, err);
    return st ? st : pgy_graph_sort(g, err);
}

static pgy_status check_options(const pgy_precision_options *o, pgy_error *err)
{
    if (!quant_is_type(o->type)) return PGY_OK;
    if (!pgy_precision_calibrator_name(o->calibrator))
        return pgy_error_set(err, PGY_E_ARGUMENT, "'options.calibrator': %d is no calibrator",
                             (int)o->calibrator);
    if (o->asymmetric && o->type != PGY_I8)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.asymmetric': %s has no zero points; expected int8",
                             pgy_dtype_name(o->type));
    if (!(o->quantile > 0 && o->quantile <= 1))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.quantile' is %g, but must be above 0 and at most 1",
                             o->quantile);
    if (!(o->smooth >= 0 && o->smooth <= 1))
        return pgy_error_set(err, PGY_E_ARGUMENT, "'options.smooth' is %g, but must be from 0 to 1",
                             o->smooth);
    return PGY_OK;
}

/* In a mix: adds the layers that can have 16 bits. can_rest has an entry for each node at first. */
static pgy_status add_rest(bool *is, pgy_precision *p, pgy_error *err)
{
    const size_t count = p->graph->node_count;
    p->can_rest = mem_calloc(count + 1, sizeof *p->can_rest);
    p->sites = mem_calloc(p->quantizer->site_count + 1, sizeof *p->sites);
    if (!p->can_rest || !p->sites) return search_no_memory(err);
    const pgy_status st = layers_half(p->can_rest, p, p->options.rest_type, err);
    for (size_t i = 0; !st && i < count; i++) is[i] = is[i] || p->can_rest[i];
    return st;
}

static pgy_status find_layers(pgy_precision *p, pgy_error *err)
{
    bool *is = mem_calloc(p->graph->node_count + 1, sizeof *is);
    if (!is) return search_no_memory(err);
    pgy_status st = quant_is_type(p->options.type) ? layers_quantized(is, p, err)
                                                   : layers_half(is, p, p->options.type, err);
    if (!st && p->options.rest_type) st = add_rest(is, p, err);
    if (!st) st = list_layers(p, is, err);
    for (size_t i = 0; !st && p->can_rest && i < p->summary.layers; i++)
        p->can_rest[i] = p->can_rest[p->nodes[i]];
    mem_free(is);
    return st;
}

pgy_status layers_find(pgy_precision *p, pgy_model *model, pgy_error *err)
{
    const inline_choice all = {0};
    size_t calls = 0;
    pgy_status st = check_options(&p->options, err);
    if (!st) st = pgy_graph_import(&p->graph, model, err);
    if (!st) st = pgy_graph_infer_shapes(p->graph, NULL, err);
    if (!st) st = graph_inline_calls(p->graph, &all, &calls, err);
    if (!st) st = pgy_graph_sort(p->graph, err);
    if (!st && quant_is_type(p->options.type))
        st = prepare_for_8_bits(p->graph, p->options.type, err);
    if (!st) st = make_names_unique(p, err);
    if (!st) st = pgy_graph_infer_shapes(p->graph, NULL, err);
    return st ? st : find_layers(p, err);
}

/* ---- Costs ---------------------------------------------------------------------------------- */

void layers_set_cost(pgy_precision *p)
{
    const uint64_t *node_bytes = p->node_bytes;
    p->summary.wide_bytes = 0;
    for (size_t i = 0; i < p->graph->node_count; i++) p->summary.wide_bytes += node_bytes[i];
    for (size_t i = 0; i < p->summary.layers; i++) {
        pgy_precision_layer *l = &p->layers[i];
        p->best[i] = LEVEL_FIRST; /* the best set is still empty */
        l->saved_bytes = !p->quantizer ? node_bytes[p->nodes[i]] / 2
                         : mix_can(p, i, LEVEL_FIRST)
                             ? p->summary.wide_bytes - layers_bytes(p, p->best)
                             : 0;
        p->best[i] = LEVEL_REST;
        if (is_mix(p) && p->can_rest[i])
            l->rest_saved_bytes = p->summary.wide_bytes - layers_bytes(p, p->best);
        p->best[i] = LEVEL_WIDE;
    }
}

uint64_t layers_bytes(const pgy_precision *p, const level *set)
{
    uint64_t bytes = p->summary.wide_bytes;
    if (is_mix(p)) return mix_bytes(p, set);
    if (p->quantizer) return bytes - quantizer_saves(p->quantizer, set);
    for (size_t i = 0; i < p->summary.layers; i++)
        if (set[i]) bytes -= p->layers[i].saved_bytes;
    return bytes;
}
