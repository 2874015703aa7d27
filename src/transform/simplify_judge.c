/* SPDX-License-Identifier: Apache-2.0 */
/* Measures whether a rewrite changes the results. The nodes that it replaced are computed from the
 * values where both graphs still agree (the region's sources), and the two outputs are compared: on
 * the values of a run and, the first time, on scaled values, for which the new nodes are computed
 * here, too. */
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "transform/simplify_region.h"

enum { MAX_EDGE_ELEMENTS = 1 << 22 };

/* ---- Computing a region --------------------------------------------------------------------- */

/* Values computed so far, while the nodes of a region run. */
typedef struct scope {
    const pgy_value **values;
    op_tensor *held;
    size_t count;
} scope;

static const op_tensor *scope_find(const scope *s, const pgy_value *v)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->values[i] == v) return &s->held[i];
    return NULL;
}

/* Finds input v of a node: a source of the region, a value computed earlier, or a weight, which is
 * loaded into the scope. *out is borrowed. */
static pgy_status fetch(op_tensor *out, scope *s, const simplify_regions *r, const region *from,
                        const op_tensor *sources, pgy_value *v, pgy_error *err)
{
    const op_tensor *known = v ? scope_find(s, v) : NULL;
    *out = (op_tensor){0};
    if (known) *out = *known;
    if (!v || known) return PGY_OK;
    if (region_is_weight(v)) {
        pgy_tensor *stored = NULL;
        op_tensor made = {0};
        pgy_status st = pgy_graph_value_data(&stored, v, err);
        if (!st) st = op_to_storage(&made.value, stored, err);
        if (!st) {
            made.dtype = pgy_tensor_dtype(stored);
            s->values[s->count] = v;
            s->held[s->count++] = *out = made;
        }
        pgy_tensor_release(stored);
        return st;
    }
    for (size_t i = 0; i < from->source_count; i++) {
        const pgy_value *start = r->sources[from->sources[i]].value;
        if (start != v && region_twin(v, r->after) != start) continue;
        *out = sources[i];
        return PGY_OK;
    }
    return pgy_error_set(err, PGY_E_INTERNAL, "value '%s' belongs to no region of a rewrite",
                         v->name);
}

static pgy_status run_node(scope *s, const simplify_regions *r, const region *from,
                           const op_tensor *sources, pgy_node *n, arena *memory, pgy_error *err)
{
    op_tensor *in = arena_alloc_array(memory, n->input_count + 1, sizeof *in);
    op_tensor *out = arena_alloc_array(memory, n->output_count + 1, sizeof *out);
    pgy_status st = in && out ? PGY_OK : graph_no_memory(err);
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = fetch(&in[i], s, r, from, sources, n->inputs[i], err);
    if (!st) st = execute_node(n, in, NULL, out, false, &r->limits, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        if (!n->outputs[i]) {
            op_tensor_release(&out[i]);
            continue;
        }
        s->values[s->count] = n->outputs[i];
        s->held[s->count++] = out[i];
    }
    return st;
}

/* Computes value `wanted` by running `nodes` on the values of the sources. The caller releases
 * *out. */
static pgy_status compute(op_tensor *out, const simplify_regions *r, const region *from,
                          const node_list *nodes, const pgy_value *wanted, const op_tensor *sources,
                          pgy_error *err)
{
    arena memory = {0};
    scope s = {0};
    size_t room = 1;
    for (size_t i = 0; i < nodes->count; i++)
        room += nodes->items[i]->input_count + nodes->items[i]->output_count;
    s.values = arena_alloc_array(&memory, room, sizeof *s.values);
    s.held = arena_alloc_array(&memory, room, sizeof *s.held);
    pgy_status st = s.values && s.held ? PGY_OK : graph_no_memory(err);
    for (size_t i = 0; !st && i < nodes->count; i++)
        st = run_node(&s, r, from, sources, nodes->items[i], &memory, err);
    const op_tensor *found = st ? NULL : scope_find(&s, wanted);
    if (found) *out = op_tensor_retain(found);
    for (size_t i = 0; i < s.count; i++) op_tensor_release(&s.held[i]);
    arena_deinit(&memory);
    if (!st && !found)
        st = pgy_error_set(err, PGY_E_INTERNAL, "value '%s' was not computed", wanted->name);
    return st;
}

/* ---- Judging -------------------------------------------------------------------------------- */

static void judge(const simplify_regions *r, region *of, const op_tensor *before,
                  const op_tensor *after, const char *where, bool lenient)
{
    simplify_rewrite *w = of->rewrite;
    char text[256];
    double error = INFINITY;
    if (before->value && after->value && before->dtype == after->dtype)
        error = simplify_distance(before->value, after->value, before->dtype, lenient);
    if (error > w->error) w->error = error;
    if (error <= PGY_SIMPLIFY_REWRITE_UNITS || w->failed) return;
    if (isinf(error))
        snprintf(text, sizeof text,
                 "its output would differ in shape, or in which elements are finite, %s", where);
    else
        snprintf(text, sizeof text, "its output would change by %.3g units %s; the limit is %g",
                 error, where, PGY_SIMPLIFY_REWRITE_UNITS);
    region_fail(w, &state_of(r->after)->memory, error, text);
}

/* Each rewrite is also measured with its float sources multiplied by these factors, since samples
 * may not reach such values. */
static const struct {
    double factor;
    const char *text;
} EDGES[] = {{0, "for zeros"},
             {1e-4, "for small values"},
             {-3, "for values of the other sign"},
             {64, "for large values"}};

static pgy_status scaled(op_tensor *out, const op_tensor *t, double factor, pgy_error *err)
{
    if (!t->value || pgy_tensor_dtype(t->value) != PGY_F64) {
        *out = op_tensor_retain(t);
        return PGY_OK;
    }
    pgy_tensor *made = NULL;
    const pgy_status st = pgy_tensor_copy(&made, pgy_tensor_view(t->value), err);
    if (st) return st;
    double *x = op_f64(made);
    for (size_t i = 0; i < pgy_tensor_count(made); i++)
        if (isfinite(x[i])) x[i] *= factor;
    *out = (op_tensor){.dtype = t->dtype, .value = made};
    return PGY_OK;
}

static pgy_status try_edge(simplify_regions *r, region *of, const op_tensor *sources, size_t edge,
                           pgy_error *err)
{
    op_tensor *changed = mem_calloc(of->source_count + 1, sizeof *changed), before = {0},
              after = {0};
    pgy_error why = {0};
    if (!changed) return graph_no_memory(err);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < of->source_count; i++)
        st = scaled(&changed[i], &sources[i], EDGES[edge].factor, &why);
    if (!st) st = compute(&before, r, of, &of->old_nodes, of->before, changed, &why);
    /* If the original nodes fail on these values, the rewrite may fail, too. */
    if (!st) {
        st = compute(&after, r, of, &of->new_nodes, of->after, changed, &why);
        if (!st)
            judge(r, of, &before, &after, EDGES[edge].text, true);
        else
            region_fail(of->rewrite, &state_of(r->after)->memory, INFINITY, why.text);
    }
    for (size_t i = 0; i < of->source_count; i++) op_tensor_release(&changed[i]);
    op_tensor_release(&before);
    op_tensor_release(&after);
    mem_free(changed);
    return st == PGY_E_MEMORY ? graph_no_memory(err) : PGY_OK;
}

static bool is_small(const region *of, const op_tensor *sources)
{
    size_t count = 0;
    for (size_t i = 0; i < of->source_count; i++)
        if (sources[i].value) count += pgy_tensor_count(sources[i].value);
    return count <= MAX_EDGE_ELEMENTS;
}

pgy_status region_measure(simplify_regions *r, region *of, const op_tensor *after, pgy_error *err)
{
    op_tensor *sources = mem_calloc(of->source_count + 1, sizeof *sources), before = {0};
    pgy_error why = {0};
    if (!sources) return graph_no_memory(err);
    for (size_t i = 0; i < of->source_count; i++) sources[i] = r->sources[of->sources[i]].held;
    pgy_status st = compute(&before, r, of, &of->old_nodes, of->before, sources, &why);
    if (!st) judge(r, of, &before, after, "on the inputs", false);
    if (!st) of->rewrite->measured++;
    op_tensor_release(&before);
    const size_t edges =
        of->tried_edges || !is_small(of, sources) ? 0 : sizeof EDGES / sizeof *EDGES;
    of->tried_edges = true;
    for (size_t i = 0; !st && i < edges && !of->rewrite->failed; i++)
        st = try_edge(r, of, sources, i, err);
    mem_free(sources);
    if (st == PGY_E_MEMORY) return graph_no_memory(err);
    if (st) region_fail(of->rewrite, &state_of(r->after)->memory, -1, why.text);
    return PGY_OK;
}
