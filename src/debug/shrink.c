/* SPDX-License-Identifier: Apache-2.0 */
/* Shrinks what is around the remaining nodes: inputs become constants, and dimensions become 1. A
 * change that shape inference refuses is not tried. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "debug/minimise.h"

static const char LOG_PATH[] = "debug/shrink.c";

enum { MAX_INPUTS = 16, MAX_DIMS = 6 };

pgy_status minimise_try_graph(bool *fails, minimisation *m, pgy_gs_graph *g,
                              pgy_tensor_map *const *values, const char *phase, pgy_error *err)
{
    candidate_part part = {0};
    pgy_graph *checked = NULL;
    pgy_error why = {0};
    *fails = false;
    pgy_status st = pgy_gs_export(&part.model, g, NULL, err);
    if (!st) st = pgy_graph_import(&checked, part.model, err);
    if (!st && pgy_graph_infer_shapes(checked, NULL, &why)) {
        LOG(VERBOSE, "A change is not tried, because the model would not be valid: %s", why.text);
        goto done;
    }
    pgy_model_destroy(part.model);
    part.model = NULL;
    if (!st) st = pgy_graph_export(&part.model, checked, err); /* has the new shapes */
    if (!st) st = part_set_feeds(&part, values, m->best.count, err);
    if (!st) st = minimise_try(fails, m, &part, phase, err);
done:
    pgy_graph_destroy(checked);
    part_free(&part);
    return st;
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static pgy_status fix_input(minimisation *m, const char *name, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    bool fails;
    pgy_status st = pgy_gs_import(&g, m->best.model, err);
    pgy_gs_tensor *t = st ? NULL : pgy_gs_find_tensor(g, name);
    pgy_tensor *v = pgy_tensor_map_find(m->best.feeds[0], name);
    pgy_gs_tensor *kept[MAX_INPUTS];
    size_t count = 0;
    for (size_t i = 0; !st && i < g->input_count; i++)
        if (g->inputs[i] != t) kept[count++] = g->inputs[i];
    if (!st && t && v && count && count < g->input_count) {
        st = pgy_gs_set_graph_inputs(g, kept, count, err);
        if (!st) st = pgy_gs_to_constant(t, v, err);
        if (!st) st = minimise_try_graph(&fails, m, g, m->best.feeds, "inputs", err);
    }
    pgy_gs_destroy(g);
    return st;
}

/* Inputs beside the first become constants. With several samples they have several values. */
pgy_status minimise_inputs(minimisation *m, pgy_error *err)
{
    const char *names[MAX_INPUTS];
    pgy_gs_graph *g = NULL;
    size_t count = 0;
    if (m->best.count != 1) return PGY_OK;
    pgy_status st = pgy_gs_import(&g, m->best.model, err);
    if (st) return st;
    if (g->input_count <= MAX_INPUTS)
        for (; count < g->input_count; count++) names[count] = g->inputs[count]->name;
    for (size_t i = 1; !st && i < count; i++) {
        m->remaining = (int64_t)(count - i);
        st = fix_input(m, names[i], err);
    }
    pgy_gs_destroy(g);
    return st;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

/* The first elements along each axis that has `from` elements. */
static pgy_status slice(pgy_tensor **out, const pgy_tensor *t, int64_t from, int64_t to,
                        pgy_error *err)
{
    pgy_view v = pgy_tensor_view(t);
    int64_t shape[PGY_MAX_RANK], strides[PGY_MAX_RANK], step = 1;
    for (int32_t d = v.rank; d-- > 0;) {
        strides[d] = step;
        step *= v.shape[d];
        shape[d] = v.shape[d] == from ? to : v.shape[d];
    }
    v.shape = shape;
    v.strides = strides;
    return pgy_tensor_copy(out, v, err);
}

static pgy_status slice_map(pgy_tensor_map **out, const pgy_tensor_map *feed, int64_t from,
                            int64_t to, pgy_error *err)
{
    pgy_tensor_map *made = NULL;
    pgy_status st = pgy_tensor_map_create(&made, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++) {
        pgy_tensor *t = NULL;
        st = slice(&t, pgy_tensor_map_at(feed, i), from, to, err);
        if (!st) st = pgy_tensor_map_set(made, pgy_tensor_map_name(feed, i), t, err);
        pgy_tensor_release(t);
    }
    if (st)
        pgy_tensor_map_destroy(made);
    else
        *out = made;
    return st;
}

static pgy_status set_shapes(pgy_gs_graph *g, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++)
        for (size_t k = 0; !st && k < g->nodes[i]->output_count; k++) {
            pgy_gs_tensor *t = g->nodes[i]->outputs[k];
            if (!pgy_gs_is_omitted(t)) st = pgy_gs_set_type(t, t->dtype, -1, NULL, err);
        }
    for (size_t i = 0; !st && i < g->input_count; i++) {
        pgy_gs_tensor *t = g->inputs[i];
        const pgy_tensor *v = pgy_tensor_map_find(feed, t->name);
        pgy_dim dims[PGY_MAX_RANK];
        for (size_t d = 0; v && d < pgy_tensor_rank(v); d++)
            dims[d] = (pgy_dim){pgy_tensor_shape(v)[d], NULL};
        if (v) st = pgy_gs_set_type(t, t->dtype, (int32_t)pgy_tensor_rank(v), dims, err);
    }
    return st;
}

static bool has_block_types(const pgy_tensor_map *feed)
{
    for (size_t i = 0; i < pgy_tensor_map_count(feed); i++) {
        const pgy_dtype_info *info =
            pgy_dtype_describe(pgy_tensor_dtype(pgy_tensor_map_at(feed, i)));
        if (!info || info->bits < 8 || info->bits > 64) return true;
    }
    return false;
}

static pgy_status shrink_dim(bool *fails, minimisation *m, int64_t from, int64_t to, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    const size_t count = m->best.count;
    pgy_tensor_map **feeds = mem_calloc(count + 1, sizeof *feeds);
    if (!feeds) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for samples");
    pgy_status st = pgy_gs_import(&g, m->best.model, err);
    for (size_t i = 0; !st && i < count; i++)
        st = slice_map(&feeds[i], m->best.feeds[i], from, to, err);
    if (!st) st = set_shapes(g, feeds[0], err);
    if (!st) st = minimise_try_graph(fails, m, g, feeds, "shapes", err);
    for (size_t i = 0; i < count; i++) pgy_tensor_map_destroy(feeds[i]);
    mem_free(feeds);
    pgy_gs_destroy(g);
    return st;
}

static void add_dims(int64_t *sizes, size_t *count, const pgy_tensor *t)
{
    for (size_t d = 0; d < pgy_tensor_rank(t); d++) {
        const int64_t n = pgy_tensor_shape(t)[d];
        bool listed = n <= 1;
        for (size_t k = 0; k < *count; k++) listed |= sizes[k] == n;
        if (!listed && *count < MAX_DIMS) sizes[(*count)++] = n;
    }
}

/* Equal sizes shrink together: they are usually the same dimension of the model. */
pgy_status minimise_shapes(minimisation *m, pgy_error *err)
{
    int64_t sizes[MAX_DIMS];
    size_t count = 0;
    const pgy_tensor_map *feed = m->best.feeds[0];
    pgy_status st = PGY_OK;
    if (has_block_types(feed)) return PGY_OK;
    for (size_t i = 0; i < pgy_tensor_map_count(feed); i++)
        add_dims(sizes, &count, pgy_tensor_map_at(feed, i));
    for (size_t i = 0; !st && i < count; i++) {
        bool fails;
        m->remaining = (int64_t)(count - i);
        st = shrink_dim(&fails, m, sizes[i], 1, err);
        if (!st && !fails && sizes[i] > 3) st = shrink_dim(&fails, m, sizes[i], sizes[i] / 2, err);
    }
    return st;
}
