/* SPDX-License-Identifier: Apache-2.0 */
/* Merges Concat of Concat along the same axis, and Slice of Slice with constant bounds. Two slices
 * of one axis are merged if both count from the start in steps of 1; the merged start is the sum of
 * both. */
#include <string.h>

#include "base/alloc.h"
#include "transform/fold.h"

enum { STARTS = 1, ENDS, AXES, STEPS, SLICE_INPUTS };

/* ---- Concat --------------------------------------------------------------------------------- */

static bool same_axis(const pgy_node *a, const pgy_node *b)
{
    const pgy_onnx_attribute *x = node_attribute(a, "axis"), *y = node_attribute(b, "axis");
    return x && y && !*x->ref_attr_name && !*y->ref_attr_name && x->i == y->i;
}

/* Is input i of n a Concat along the same axis, used only by Concats along that axis? All of them
 * then take over its inputs, and it is removed. With several users this copies the list of inputs,
 * which must therefore be short. */
static const pgy_node *inner_concat(const pgy_node *n, size_t i)
{
    enum { MOST_INPUTS = 64 };
    const pgy_value *v = n->inputs[i];
    const pgy_node *p = v ? v->producer : NULL;
    if (!p || p->graph != n->graph || v->is_output || !node_is(p, "Concat") || !same_axis(p, n))
        return NULL;
    for (size_t k = 0; v->consumer_count > 1 && k < v->consumer_count; k++) {
        const pgy_node *c = v->consumers[k];
        if (c->graph != n->graph || !node_is(c, "Concat") || !same_axis(p, c) ||
            c->input_count * p->input_count > MOST_INPUTS)
            return NULL;
    }
    return p;
}

pgy_status fold_merge_concats(folder *f, pgy_node *n, pgy_error *err)
{
    size_t count = 0;
    bool found = false;
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_node *p = inner_concat(n, i);
        count += p ? p->input_count : 1;
        found = found || p;
    }
    if (!found) return PGY_OK;
    pgy_value **inputs = arena_alloc_array(&f->memory, count, sizeof *inputs);
    if (!inputs) return graph_no_memory(err);
    count = 0;
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_node *p = inner_concat(n, i);
        if (!p) {
            inputs[count++] = n->inputs[i];
            continue;
        }
        memcpy(inputs + count, p->inputs, p->input_count * sizeof *inputs);
        count += p->input_count;
    }
    return fold_rewrite(f, n, "Concat", inputs, count, node_attribute(n, "axis"), err);
}

/* ---- Slice ---------------------------------------------------------------------------------- */

typedef struct cut {
    int64_t axis, start, end, step;
} cut;

typedef struct cuts {
    cut items[2 * PGY_MAX_RANK];
    size_t count;
} cuts;

static bool read_list(folder *f, const pgy_node *n, size_t i, const int64_t **out, size_t count)
{
    size_t given;
    *out = NULL;
    if (i >= n->input_count || !n->inputs[i]) return i >= AXES;
    return fold_ints(f, n->inputs[i], out, &given) && given == count;
}

/* Reads the cuts of a Slice, with axes counted from 0; false: not all of them are known. */
static bool read_cuts(cuts *out, folder *f, const pgy_node *n)
{
    const int64_t *lists[SLICE_INPUTS] = {NULL};
    const int32_t rank = fold_known(n->inputs[0])->rank;
    out->count = 0;
    if (n->input_count <= ENDS || !fold_ints(f, n->inputs[STARTS], &lists[STARTS], &out->count) ||
        out->count > PGY_MAX_RANK)
        return false;
    for (size_t i = ENDS; i < SLICE_INPUTS; i++)
        if (!read_list(f, n, i, &lists[i], out->count)) return false;
    for (size_t i = 0; i < out->count; i++) {
        cut *c = &out->items[i];
        *c = (cut){lists[AXES] ? lists[AXES][i] : (int64_t)i, lists[STARTS][i], lists[ENDS][i],
                   lists[STEPS] ? lists[STEPS][i] : 1};
        if (c->axis < 0) c->axis += rank;
        if (rank < 0 || c->axis < 0 || c->axis >= rank) return false;
    }
    return true;
}

static cut *find_cut(cuts *list, int64_t axis)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].axis == axis) return &list->items[i];
    return NULL;
}

static bool is_plain(const cut *c)
{
    return c->start >= 0 && c->end >= 0 && c->step == 1;
}

/* Adds a cut that applies to the result of the earlier ones. */
static bool add_cut(cuts *list, const cut *later)
{
    cut *c = find_cut(list, later->axis);
    int64_t end;
    if (!c) {
        list->items[list->count++] = *later;
        return true;
    }
    if (!is_plain(c) || !is_plain(later)) return false;
    if (!i64_add(&end, c->start, later->end)) end = INT64_MAX;
    if (end < c->end) c->end = end;
    return i64_add(&c->start, c->start, later->start);
}

static pgy_status write_cuts(pgy_value **inputs, pgy_graph *g, const cuts *list, pgy_error *err)
{
    static const char *const STEMS[] = {NULL, "starts", "ends", "axes", "steps"};
    int64_t values[SLICE_INPUTS][2 * PGY_MAX_RANK];
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < list->count; i++) {
        values[STARTS][i] = list->items[i].start;
        values[ENDS][i] = list->items[i].end;
        values[AXES][i] = list->items[i].axis;
        values[STEPS][i] = list->items[i].step;
    }
    for (size_t i = STARTS; !st && i < SLICE_INPUTS; i++)
        st = value_create_ints(&inputs[i], g, STEMS[i], values[i], list->count, err);
    return st;
}

/* The Slice before n if only Slices use it, so that it can be removed. */
static pgy_node *inner_slice(const pgy_node *n)
{
    const pgy_value *v = n->input_count ? n->inputs[0] : NULL;
    pgy_node *p = v ? v->producer : NULL;
    if (!p || p->graph != n->graph || v->is_output || !node_is(p, "Slice") || p->output_count != 1)
        return NULL;
    for (size_t i = 0; i < v->consumer_count; i++) {
        const pgy_node *user = v->consumers[i];
        if (user->graph != n->graph || !node_is(user, "Slice")) return NULL;
    }
    return p;
}

pgy_status fold_merge_slices(folder *f, pgy_node *n, pgy_error *err)
{
    cuts first, second;
    pgy_node *p = inner_slice(n);
    pgy_value *inputs[SLICE_INPUTS];
    if (!p || !node_is(p, "Slice") || !p->input_count || !p->inputs[0] ||
        level_of(n->graph)->is_function || !read_cuts(&first, f, p) || !read_cuts(&second, f, n))
        return PGY_OK;
    for (size_t i = 0; i < second.count; i++)
        if (!add_cut(&first, &second.items[i])) return PGY_OK;
    inputs[0] = p->inputs[0];
    const pgy_status st = write_cuts(inputs, n->graph, &first, err);
    return st ? st : fold_rewrite(f, n, "Slice", inputs, SLICE_INPUTS, NULL, err);
}
