/* SPDX-License-Identifier: Apache-2.0 */
/* Values and marks of cards. A node's value of a tensor quantity is that of its outputs, a
 * container's that of all nodes in it, folded as the quantity says; NaN is worse than any number.
 */
#include <math.h>
#include <string.h>

#include "base/pytext.h"
#include "viewer/draw/parts.h"

/* ---- Folding -------------------------------------------------------------------------------- */

static void fold(card_value *to, view_fold how, double v)
{
    if (!to->is_measured) {
        to->value = v;
        to->is_measured = true;
        return;
    }
    switch (how) {
    case VIEW_FOLD_MAX: to->value = isnan(v) || v > to->value ? v : to->value; break;
    case VIEW_FOLD_MIN: to->value = isnan(v) || v < to->value ? v : to->value; break;
    case VIEW_FOLD_SUM: to->value += v; break;
    case VIEW_FOLD_SAME: to->is_mixed |= to->value != v; break;
    }
}

static void fold_at(card_value *to, const view_quantity *q, uint32_t at)
{
    if (at < q->count && q->is_measured[at]) fold(to, q->fold, q->values[at]);
}

static card_value value_of_node(const view_quantity *q, const view_node *n, uint32_t index)
{
    card_value v = {0};
    if (q->of == VIEW_OF_NODE) {
        fold_at(&v, q, index);
        return v;
    }
    /* The card of a graph output has no outputs: it shows what it is given. */
    const bool is_end = n->kind == VIEW_NODE_OUTPUT && !n->output_count;
    const uint32_t count = is_end ? n->input_count : n->output_count;
    const uint32_t *tensors = is_end ? n->inputs : n->outputs;
    for (uint32_t i = 0; i < count; i++)
        if (tensors[i] != VIEW_NONE) fold_at(&v, q, tensors[i]);
    return v;
}

static size_t slot_of(const drawing *d, view_item item)
{
    return item.kind == VIEW_ITEM_NODE ? item.ref : (size_t)d->g->node_count + item.ref;
}

/* A time was measured for the whole layer; the file of results has it at one of its nodes. */
static bool is_shared(const drawing *d, view_item item)
{
    if (item.kind != VIEW_ITEM_NODE || !d->q->group || strcmp(d->q->group, "time")) return false;
    const uint32_t parent = d->g->nodes[item.ref].parent;
    return parent != VIEW_NONE && d->g->containers[parent].kind == VIEW_FUSED;
}

card_value drawing_value(const drawing *d, view_item item)
{
    if (d->q && is_shared(d, item)) return (card_value){.is_shared = true};
    return d->q ? d->values[slot_of(d, item)] : (card_value){0};
}

uint32_t drawing_marks(const drawing *d, view_item item)
{
    return d->marks[slot_of(d, item)];
}

bool drawing_is_card(const drawing *d, const view_place *place)
{
    return place->item.kind == VIEW_ITEM_NODE ||
           d->g->containers[place->item.ref].state == VIEW_FOLDED;
}

bool drawing_has_header_value(const drawing *d, const view_place *place)
{
    if (place->item.kind == VIEW_ITEM_NODE) return false;
    const view_container *c = &d->g->containers[place->item.ref];
    return (c->kind == VIEW_FUSED && c->state != VIEW_FOLDED) ||
           (c->kind == VIEW_REPEAT && c->state == VIEW_ONE);
}

/* ---- Marks ---------------------------------------------------------------------------------- */

uint32_t drawing_node_of(const view_graph *g, view_of of, uint32_t at)
{
    if (of == VIEW_OF_NODE) return at < g->node_count ? at : VIEW_NONE;
    return at < g->tensor_count ? g->tensors[at].producer : VIEW_NONE;
}

static void find_marks(drawing *d)
{
    const view_graph *g = d->g;
    for (uint32_t i = 0; i < g->node_count; i++) d->first_mark[i] = VIEW_NONE;
    for (size_t k = d->r->mark_count; k--;) { /* backwards, so that chains keep the order */
        const view_mark *m = &d->r->marks[k];
        const uint32_t node = drawing_node_of(g, m->of, m->at);
        if (m->graph != d->options->graph) continue;
        if (m->of == VIEW_OF_TENSOR && m->kind == VIEW_MARK_CONTRADICTION &&
            m->at < g->tensor_count)
            d->contradicted[m->at] = true;
        if (node == VIEW_NONE) continue;
        d->marks[node] |= 1u << m->kind;
        d->next_mark[k] = d->first_mark[node];
        d->first_mark[node] = (uint32_t)k;
    }
    for (uint32_t i = 0; i < g->tensor_count; i++)
        if (g->tensors[i].declared && g->tensors[i].producer != VIEW_NONE)
            d->marks[g->tensors[i].producer] |= 1u << VIEW_MARK_CONTRADICTION;
}

pgy_status drawing_find_values(drawing *d, pgy_error *err)
{
    const view_graph *g = d->g;
    const size_t slots = (size_t)g->node_count + g->container_count;
    arena *a = &d->list->memory;
    d->values = arena_alloc_array(a, slots, sizeof *d->values);
    d->marks = arena_alloc_array(a, slots, sizeof *d->marks);
    d->first_mark = arena_alloc_array(a, g->node_count, sizeof *d->first_mark);
    d->next_mark = arena_alloc_array(a, d->r->mark_count, sizeof *d->next_mark);
    d->sizes = arena_alloc_array(a, g->container_count, sizeof *d->sizes);
    d->contradicted = arena_alloc_array(a, g->tensor_count, sizeof *d->contradicted);
    if (!d->values || !d->marks || !d->sizes || !d->contradicted || !d->first_mark || !d->next_mark)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing");
    find_marks(d);
    for (uint32_t i = 0; i < g->node_count; i++) {
        if (d->q) d->values[i] = value_of_node(d->q, &g->nodes[i], i);
        /* Inputs and outputs of a body repeat values of its nodes. */
        const bool counts = g->nodes[i].kind == VIEW_NODE && d->values[i].is_measured;
        for (uint32_t c = g->nodes[i].parent; c != VIEW_NONE; c = g->containers[c].parent) {
            d->marks[g->node_count + c] |= d->marks[i];
            d->sizes[c] += g->nodes[i].kind == VIEW_NODE;
            if (counts) fold(&d->values[g->node_count + c], d->q->fold, d->values[i].value);
            d->values[g->node_count + c].is_mixed |= counts && d->values[i].is_mixed;
        }
    }
    return PGY_OK;
}

/* ---- Text ----------------------------------------------------------------------------------- */

/* Three digits; small and large ones with an exponent: "2.15e-4". */
static void append_plain(str *out, double v)
{
    int exponent = v == 0 ? 0 : (int)floor(log10(fabs(v)));
    if (exponent >= -2 && exponent < 5) {
        str_append_g(out, fabs(v) >= 1000 ? 5 : 3, v);
        return;
    }
    double digits = round(v / pow(10, exponent) * 100) / 100;
    if (exponent < -300) digits = round(v * 1e300 / pow(10, exponent + 300) * 100) / 100;
    if (fabs(digits) >= 10) digits /= 10, exponent++;
    str_append_g(out, 3, digits);
    str_printf(out, "e%d", exponent);
}

/* A number with the prefix that leaves one to three digits before the point. */
static void append_scaled(str *out, double v, double step, const char *const *units, size_t count)
{
    size_t k = 0;
    while (k + 1 < count && fabs(v) >= step) {
        v /= step;
        k++;
    }
    str_append_g(out, fabs(v) >= 1000 ? 4 : 3, v);
    str_append(out, units[k]);
}

static bool unit_is(const view_quantity *q, const char *unit)
{
    return q->unit && span_equals(span_of(q->unit), unit);
}

const char *drawing_value_text(const drawing *d, double v)
{
    static const char *const BYTES[] = {" B", " KiB", " MiB", " GiB", " TiB"},
                             *const TIMES[] = {" us", " ms", " s"},
                             *const COUNTS[] = {" FLOP", " kFLOP", " MFLOP", " GFLOP", " TFLOP"};
    const view_quantity *q = d->q;
    if (q->scale == VIEW_CATEGORY)
        return v >= 0 && v < q->name_count ? picture_shown(d->list, q->names[(uint32_t)v]) : "?";
    str text = {0};
    if (!isfinite(v))
        str_append(&text, isnan(v) ? "NaN" : v > 0 ? "Inf" : "-Inf");
    else if (unit_is(q, "bytes") || unit_is(q, "B"))
        append_scaled(&text, v, 1024, BYTES, 5);
    else if (unit_is(q, "us"))
        append_scaled(&text, v, 1000, TIMES, 3);
    else if (unit_is(q, "FLOP") || unit_is(q, "FLOPs") || unit_is(q, "flop"))
        append_scaled(&text, v, 1000, COUNTS, 5);
    else
        append_plain(&text, v);
    if (isfinite(v) && (unit_is(q, "%") || unit_is(q, "dB")))
        str_printf(&text, "%s%s", unit_is(q, "%") ? "" : " ", q->unit);
    const char *copy = picture_printf(d->list, "%s", str_text(&text));
    d->list->failed |= text.failed;
    str_deinit(&text);
    return copy;
}

/* ---- Choice --------------------------------------------------------------------------------- */

static bool has_values(const view_quantity *q)
{
    for (uint32_t i = 0; q && i < q->count; i++)
        if (q->is_measured[i]) return true;
    return false;
}

const view_quantity *drawing_choose(const view_results *r, const view_draw_options *options)
{
    /* What the files of results are about; sizes are known of every model and say least. */
    static const char *const TELLING[] = {"maxabs", "made",  "change",   "time_ratio",
                                          "time",   "state", "precision"};
    if (options->quantity)
        return *options->quantity ? view_quantity_find(r, options->quantity, options->graph) : NULL;
    for (size_t i = 0; i < sizeof TELLING / sizeof TELLING[0]; i++) {
        const view_quantity *q = view_quantity_find(r, TELLING[i], options->graph);
        if (has_values(q)) return q;
    }
    return NULL;
}
