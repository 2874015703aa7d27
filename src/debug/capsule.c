/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces weights by random values, so that a model can be given away. A weight keeps its values
 * only if the fault needs them. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/rand.h"
#include "debug/minimise.h"

static const char LOG_PATH[] = "debug/capsule.c";

enum { MAX_WEIGHTS = 256 };

typedef struct statistics {
    double mean, deviation, low, high;
} statistics;

static bool measure(statistics *s, const double *x, size_t n)
{
    double sum = 0, squares = 0;
    *s = (statistics){.low = INFINITY, .high = -INFINITY};
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) return false; /* such values are often the fault itself */
        sum += x[i];
        s->low = fmin(s->low, x[i]);
        s->high = fmax(s->high, x[i]);
    }
    s->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += (x[i] - s->mean) * (x[i] - s->mean);
    s->deviation = sqrt(squares / (double)n);
    return true;
}

/* Normal values of the same mean and deviation, clipped to the range. */
static void draw(double *x, size_t n, const statistics *s, uint32_t seed)
{
    mt19937 g;
    mt19937_seed(&g, seed);
    for (size_t i = 0; i < n; i++) {
        const double u = 1.0 - mt19937_double(&g), v = mt19937_double(&g);
        const double normal = sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
        x[i] = fmin(s->high, fmax(s->low, s->mean + s->deviation * normal));
    }
}

/* *out stays NULL for weights that must keep their values: integers, and those not finite. */
static pgy_status randomise(pgy_tensor **out, pgy_gs_tensor *t, uint32_t seed, pgy_error *err)
{
    pgy_tensor *values = NULL, *wide = NULL;
    statistics s;
    pgy_status st = pgy_gs_values(&values, t, err);
    if (!st) st = pgy_tensor_cast(&wide, pgy_tensor_view(values), PGY_F64, err);
    const size_t n = st ? 0 : pgy_tensor_count(wide);
    if (n && measure(&s, pgy_tensor_data(wide), n)) {
        draw(pgy_tensor_data(wide), n, &s, seed);
        st = pgy_tensor_cast(out, pgy_tensor_view(wide), pgy_tensor_dtype(values), err);
    }
    pgy_tensor_release(wide);
    pgy_tensor_release(values);
    return st;
}

/* Replaces the weight `only`, or all float weights. */
static pgy_status replace(bool *fails, minimisation *m, const char *only, pgy_error *err)
{
    pgy_gs_tensor_list all = {0};
    pgy_gs_graph *g = NULL;
    candidate_part part = {0};
    size_t replaced = 0;
    *fails = false;
    pgy_status st = pgy_gs_import(&g, m->best.model, err);
    if (!st) st = pgy_gs_tensors(&all, g, false, err);
    for (size_t i = 0; !st && i < all.count; i++) {
        pgy_gs_tensor *t = all.items[i];
        pgy_tensor *v = NULL;
        if (t->kind != PGY_GS_CONSTANT || !pgy_dtype_is_float(t->dtype)) continue;
        if (only && strcmp(only, t->name) != 0) continue;
        st = randomise(&v, t, (uint32_t)(i + 1), err);
        if (!st && v) st = pgy_gs_to_constant(t, v, err);
        replaced += v != NULL;
        pgy_tensor_release(v);
    }
    if (!st && replaced) {
        st = pgy_gs_export(&part.model, g, NULL, err);
        if (!st) st = part_set_feeds(&part, m->best.feeds, m->best.count, err);
        if (!st) st = minimise_try(fails, m, &part, "weights", err);
    }
    part_free(&part);
    pgy_gs_tensor_list_free(&all);
    pgy_gs_destroy(g);
    return st;
}

static pgy_status replace_each(minimisation *m, pgy_error *err)
{
    pgy_gs_tensor_list all = {0};
    pgy_gs_graph *g = NULL;
    size_t tried = 0;
    pgy_status st = pgy_gs_import(&g, m->best.model, err);
    if (!st) st = pgy_gs_tensors(&all, g, false, err);
    for (size_t i = 0; !st && i < all.count && tried < MAX_WEIGHTS; i++) {
        const pgy_gs_tensor *t = all.items[i];
        bool fails;
        if (t->kind != PGY_GS_CONSTANT || !pgy_dtype_is_float(t->dtype)) continue;
        tried++;
        st = replace(&fails, m, t->name, err);
    }
    pgy_gs_tensor_list_free(&all);
    pgy_gs_destroy(g);
    return st;
}

/* ---- What is kept --------------------------------------------------------------------------- */

static const char *why_kept(pgy_tensor *t)
{
    pgy_tensor *wide = NULL;
    pgy_error ignored = {0};
    statistics s;
    if (!pgy_dtype_is_float(pgy_tensor_dtype(t))) return "only float weights are replaced";
    if (pgy_tensor_cast(&wide, pgy_tensor_view(t), PGY_F64, &ignored)) return "it cannot be read";
    const bool finite = measure(&s, pgy_tensor_data(wide), pgy_tensor_count(wide));
    pgy_tensor_release(wide);
    if (!finite) return "it has a NaN or an infinity";
    return s.low == s.high ? "all of them are equal"
                           : "the model does not fail in the same way with random ones";
}

static bool is_same(const pgy_tensor *a, const pgy_tensor *b)
{
    const size_t size = pgy_tensor_size_bytes(a);
    return size == pgy_tensor_size_bytes(b) &&
           (!size || memcmp(pgy_tensor_data(a), pgy_tensor_data(b), size) == 0);
}

static void warn(const char *name, const char *why)
{
    LOG(WARNING, "Weight '%s' keeps its values: %s.", name, why);
}

/* `old`: the same weight before values were replaced. */
static pgy_status warn_if_same(pgy_gs_tensor *t, pgy_gs_tensor *old, pgy_error *err)
{
    pgy_tensor *now = NULL, *before = NULL;
    pgy_status st = pgy_gs_values(&now, t, err);
    if (!st) st = pgy_gs_values(&before, old, err);
    if (!st && is_same(now, before)) warn(t->name, why_kept(now));
    pgy_tensor_release(now);
    pgy_tensor_release(before);
    return st;
}

static pgy_status warn_of_weights(const pgy_gs_graph *g, const pgy_gs_graph *old, pgy_error *err)
{
    pgy_gs_tensor_list all = {0};
    pgy_status st = pgy_gs_tensors(&all, g, false, err);
    for (size_t i = 0; !st && i < all.count; i++) {
        pgy_gs_tensor *t = all.items[i];
        pgy_gs_tensor *before = old ? pgy_gs_find_tensor(old, t->name) : NULL;
        if (t->kind != PGY_GS_CONSTANT) continue;
        if (before && before->kind == PGY_GS_CONSTANT)
            st = warn_if_same(t, before, err);
        else if (!old)
            warn(t->name, "it is in a subgraph or function");
    }
    pgy_gs_tensor_list_free(&all);
    return st;
}

/* Only weights of the main graph are replaced. `old` NULL: g is another one. */
static pgy_status warn_of_graph(const pgy_gs_graph *g, const pgy_gs_graph *old, pgy_error *err)
{
    pgy_status st = warn_of_weights(g, old, err);
    for (size_t i = 0; !st && i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        if (strcmp(n->op, "Constant") == 0 && n->output_count)
            warn(n->outputs[0]->name, "it is in a Constant node");
        for (size_t k = 0; !st && k < n->attribute_count; k++)
            for (size_t s = 0; !st && s < n->attributes[k].graph_count; s++)
                st = warn_of_graph(n->attributes[k].graphs[s], NULL, err);
    }
    return st;
}

static pgy_status warn_of_kept(const pgy_model *before, const pgy_model *after, pgy_error *err)
{
    pgy_gs_graph *g = NULL, *old = NULL;
    pgy_status st = pgy_gs_import(&old, (pgy_model *)before, err);
    if (!st) st = pgy_gs_import(&g, (pgy_model *)after, err);
    if (!st) st = warn_of_graph(g, old, err);
    for (size_t i = 0; !st && i < g->function_count; i++)
        st = warn_of_graph(g->functions[i], NULL, err);
    pgy_gs_destroy(g);
    pgy_gs_destroy(old);
    return st;
}

pgy_status minimise_weights(minimisation *m, pgy_error *err)
{
    pgy_model *before = pgy_model_retain(m->best.model);
    bool fails;
    pgy_status st = replace(&fails, m, NULL, err);
    if (!st && !fails) st = replace_each(m, err);
    if (!st) st = warn_of_kept(before, m->best.model, err);
    pgy_model_destroy(before);
    return st;
}
