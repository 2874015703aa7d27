/* SPDX-License-Identifier: Apache-2.0 */
/* Layers in 16-bit floats. Each layer gets its type separately: its inputs are cast to that type,
 * its outputs are cast back for readers in float32. A value that exists in the type already is
 * reused, so casts remain only where types meet. Weights are converted once for each type. */
#include "engine/precision/half.h"

#include "base/log.h"
#include "graph/mask.h"

static const char LOG_PATH[] = "engine/precision/half.c";

static pgy_value *create_as(precision *x, pgy_value *like, pgy_dtype t)
{
    return precision_create(x, like, t == PGY_F16 ? "f16" : t == PGY_BF16 ? "bf16" : "f32", t);
}

static void cast(precision *x, pgy_value *from, pgy_value *to)
{
    pgy_node *n = NULL;
    if (x->p.status) return;
    x->p.status = node_create(&n, from->graph, "Cast", &from, 1, &to, 1, x->p.err);
    if (!x->p.status) pattern_set_int(&x->p, n, "to", pgy_dtype_describe(to->dtype)->onnx);
}

/* Converts a value to another type. Masks stay finite, and numbers that guard a division stay above
 * 0. */
static void narrow(precision *x, pgy_value *from, pgy_value *to)
{
    pgy_value *limited = from;
    if (x->p.status) return;
    if (pattern_dtype(from) == PGY_F32 && to->dtype != PGY_F32) {
        mask_use use = graph_mask_use(from);
        if (use == MASK_NONE && graph_guard_made(&x->guards, from, to->dtype)) use = MASK_PART;
        x->p.status = graph_mask_clip(&limited, from, use, precision_largest(to->dtype), x->p.err);
    }
    cast(x, limited, to);
}

static pgy_value *as_type(precision *x, pgy_value *v, pgy_dtype t)
{
    pgy_value *made = half_value(x, v, t);
    precision_value *entry = precision_of(x, v);
    if (made || !entry) return made;
    pgy_value *half = create_as(x, v, t);
    if (!half) return NULL;
    if (pattern_is_constant(&x->p, v))
        precision_convert_weight(x, v, half);
    else
        narrow(x, v, half);
    entry->as[half_slot(t)] = half;
    return half;
}

/* Makes n write output i in type t. The written value keeps the name, except for outputs of graphs:
 * those keep their type, so the name goes to the cast. */
static void write_as(precision *x, pgy_node *n, size_t i, pgy_dtype t)
{
    pgy_value *v = n->outputs[i];
    const pgy_dtype came = pattern_dtype(v);
    pgy_value *made = create_as(x, v, v->is_output ? t : came);
    if (!made) return;
    pgy_value *narrow = v->is_output ? made : v, *wide = v->is_output ? v : made;
    if (v->is_output) {
        n->outputs[i] = made;
        made->producer = n;
        made->output_index = i;
        v->producer = NULL;
        node_box_of(n)->changed = true;
    } else {
        x->p.status = value_replace_uses(v, made, x->p.err);
        v->dtype = t;
        box_of(v)->known.dtype = t;
        if (box_of(v)->declared.dtype == came) box_of(v)->declared.dtype = t;
    }
    cast(x, narrow, wide);
    precision_value *entry = precision_of(x, wide);
    if (entry) entry->as[half_slot(t)] = narrow;
}

static void retype(precision *x, pgy_node *n, pgy_dtype t)
{
    const op_signature *s = half_signature(n, t);
    const uint32_t bits = half_variables(s, n, t);
    for (size_t i = 0; !x->p.status && i < n->input_count; i++) {
        if (!half_changes(s, op_signature_input(s, i), n->inputs[i], t)) continue;
        pgy_value *v = as_type(x, n->inputs[i], t);
        if (!x->p.status) x->p.status = node_set_input(n, i, v, x->p.err);
    }
    for (size_t i = 0; !x->p.status && i < n->output_count; i++) {
        const op_parameter *p = op_signature_output(s, i);
        if (p && p->variable && bits >> p->variable & 1 && n->outputs[i] &&
            pattern_dtype(n->outputs[i]) != t)
            write_as(x, n, i, t);
    }
    graph_mark_changed(n->graph);
    node_box_of(n)->changed = true;
    x->count[half_slot(t)]++;
    LOG(EXTRA_VERBOSE, "Layer '%s' (%s) computes in %s", node_label(n), n->op_type,
        pgy_dtype_name(t));
}

/* Was v clipped to the range of its 16-bit type when it was made? A Cast of the model itself does
 * not clip. */
static bool is_limited(const pgy_value *v)
{
    const pgy_node *cast = v->producer;
    const pgy_node *clip = cast && node_is(cast, "Cast") ? cast->inputs[0]->producer : NULL;
    return clip && !clip->proto && node_is(clip, "Clip");
}

/* If n casts to a type in which its input exists already, makes n read that value instead. */
static void shorten_cast(precision *x, pgy_node *n)
{
    const pgy_dtype t = n->output_count && n->outputs[0] ? pattern_dtype(n->outputs[0]) : 0;
    if (!node_is(n, "Cast") || !half_is_float(t) || !n->inputs[0] ||
        pattern_dtype(n->inputs[0]) == t)
        return;
    const precision_value *entry = precision_of(x, n->inputs[0]);
    pgy_value *made = entry ? entry->as[half_slot(t)] : NULL;
    if (!made || is_limited(made)) return;
    x->p.status = node_set_input(n, 0, made, x->p.err);
}

static void halve_level(precision *x, pgy_graph *g)
{
    const size_t count = g->node_count;
    for (size_t i = 0; !x->p.status && i < count; i++) {
        pgy_node *n = g->nodes[i];
        for (size_t k = 0; k < n->subgraph_count; k++) halve_level(x, n->subgraphs[k]);
        if (!n->output_count || !n->outputs[0]) continue;
        const pgy_dtype t = half_choose(x, n);
        if (!x->p.status && t) retype(x, n, t);
    }
    for (size_t i = 0; !x->p.status && i < count; i++) shorten_cast(x, g->nodes[i]);
}

void precision_halve(precision *x)
{
    halve_level(x, x->p.f.graph);
}