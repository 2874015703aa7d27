/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the loops over bags of indices. Everything that a result depends on is checked, so a
 * loop that does anything else, or reads bags in another order, stays as it is. */
#include "engine/passes/bag_loops.h"

#include <string.h>

/* ---- Values --------------------------------------------------------------------------------- */

bool bag_value_is(pattern *p, pgy_value *v, dim d)
{
    const int64_t *ints;
    size_t count;
    if (!v) return false;
    if (pattern_ints(p, v, &ints, &count)) return count == 1 && dim_equal(dim_const(*ints), d);
    const op_value *known = fold_known(v);
    return known->elements && known->element_count == 1 && dim_equal(*known->elements, d);
}

bool bag_is_constant(pattern *p, pgy_value *v, int64_t wanted)
{
    const int64_t *ints;
    size_t count;
    return v && pattern_ints(p, v, &ints, &count) && count == 1 && *ints == wanted;
}

static bool is_true(pattern *p, pgy_value *v)
{
    pgy_tensor *t = NULL;
    if (!pattern_is_constant(p, v) || fold_constant(&t, &p->f, v, NULL)) return false;
    const bool yes = t && pgy_tensor_dtype(t) == PGY_BOOL && pgy_tensor_count(t) == 1 &&
                     *(const uint8_t *)pgy_tensor_data(t);
    pgy_tensor_release(t);
    return yes;
}

static bool is_zeros(pattern *p, pgy_value *v, int64_t count)
{
    pgy_tensor *t = pattern_floats(p, v);
    bool yes = t && (int64_t)pgy_tensor_count(t) == count;
    for (int64_t i = 0; yes && i < count; i++) yes = op_f64(t)[i] == 0;
    pgy_tensor_release(t);
    return yes;
}

/* Does every element that v has come from one constant 1? */
static bool is_ones(pattern *p, pgy_value *v)
{
    while (
        v && v->producer &&
        (pattern_from(v, "Unsqueeze") || pattern_from(v, "Reshape") || pattern_from(v, "Expand")))
        v = v->producer->inputs[0];
    if (!pattern_is_constant(p, v)) return false;
    pgy_tensor *t = pattern_floats(p, v);
    bool yes = t != NULL;
    for (size_t i = 0; yes && i < pgy_tensor_count(t); i++) yes = op_f64(t)[i] == 1;
    pgy_tensor_release(t);
    return yes;
}

bool bag_slice(pattern *p, const pgy_value *v, pgy_value **data, pgy_value **start, pgy_value **end)
{
    const pgy_node *n = pattern_from(v, "Slice");
    if (!n || n->input_count < 3 || (pattern_input(n, 3) && !bag_is_constant(p, n->inputs[3], 0)) ||
        (pattern_input(n, 4) && !bag_is_constant(p, n->inputs[4], 1)))
        return false;
    *data = n->inputs[0];
    *start = n->inputs[1];
    *end = n->inputs[2];
    return true;
}

const char *bag_reduction(pattern *p, const pgy_node *n, int64_t axis, int32_t rank)
{
    const int64_t *axes;
    size_t count;
    const char *mode = pattern_is(n, "ReduceSum")    ? "sum"
                       : pattern_is(n, "ReduceMean") ? "mean"
                       : pattern_is(n, "ReduceMax")  ? "max"
                                                     : NULL;
    if (!mode || n->input_count != 2 || !pattern_ints(p, n->inputs[1], &axes, &count) || count != 1)
        return NULL;
    return *axes == axis || *axes == axis - rank ? mode : NULL;
}

/* ---- Rows of a table ------------------------------------------------------------------------ */

static bool read_gather(bag_form *out, const pgy_value *v)
{
    const pgy_node *n = pattern_from(v, "Gather");
    if (!n || pattern_int(n, "axis", 0) != 0 || pattern_rank(n->inputs[0]) != 2 ||
        !pattern_is_float(n->inputs[0]) || pattern_rank(n->inputs[1]) < 1)
        return false;
    out->table = n->inputs[0];
    out->indices = n->inputs[1];
    return true;
}

/* Do the weights w have one element for each of the indices, and an axis of size 1? */
static bool fits(const pgy_value *w, const pgy_value *indices)
{
    const int32_t rank = pattern_rank(indices);
    if (pattern_rank(w) != rank + 1 || pattern_size(w, rank) != 1) return false;
    for (int32_t d = 0; d < rank; d++)
        if (!pattern_same_size(w, d, indices, d)) return false;
    return true;
}

bool bag_rows_read(bag_form *out, pattern *p, const pgy_value *rows)
{
    const pgy_node *mul = pattern_from(rows, "Mul");
    if (!mul) return read_gather(out, rows);
    if (mul->input_count != 2) return false;
    for (size_t i = 0; i < 2; i++) {
        pgy_value *w = mul->inputs[1 - i];
        if (!read_gather(out, mul->inputs[i]) || !fits(w, out->indices)) continue;
        out->weights = is_ones(p, w) ? NULL : w;
        return true;
    }
    return false;
}

/* ---- Loops that stack results --------------------------------------------------------------- */

/* v = [list[i]] for the number i of the iteration. */
static bool read_bound(pattern *p, const pgy_value *v, const pgy_value *i, pgy_value **list)
{
    const pgy_node *n = pattern_from(v, "Unsqueeze");
    if (!n || !bag_is_constant(p, n->inputs[1], 0)) return false;
    n = pattern_from(n->inputs[0], "Gather");
    if (!n || pattern_int(n, "axis", 0) != 0 || n->inputs[1] != i ||
        n->inputs[0]->graph == i->graph || pattern_rank(n->inputs[0]) != 1)
        return false;
    *list = n->inputs[0];
    return true;
}

/* Is `ends` the list `starts` without its first element? */
static bool follows(pattern *p, pgy_value *ends, pgy_value *starts)
{
    const int64_t *a, *b;
    size_t from, to;
    pgy_value *data, *start, *end;
    if (pattern_ints(p, starts, &a, &from) && pattern_ints(p, ends, &b, &to)) {
        bool same = from == to + 1;
        for (size_t i = 0; same && i < to; i++) same = b[i] == a[i + 1];
        return same;
    }
    return bag_slice(p, ends, &data, &start, &end) && data == starts &&
           bag_is_constant(p, start, 1) && pattern_ints(p, end, &a, &to) && to == 1 &&
           *a >= INT32_MAX;
}

/* list[start:end], a vector of the graph around the loop. */
static bool read_part(pattern *p, const pgy_value *v, const pgy_value *start, const pgy_value *end,
                      pgy_value **list)
{
    pgy_value *s, *e;
    return bag_slice(p, v, list, &s, &e) && s == start && e == end &&
           (*list)->graph != start->graph && pattern_rank(*list) == 1;
}

/* Rows of the indices between two bounds: Gather of a slice, maybe times a slice of weights. */
static bool read_bag(bag_form *out, pattern *p, const pgy_value *rows, pgy_value **start,
                     pgy_value **end)
{
    const pgy_node *mul = pattern_from(rows, "Mul");
    const size_t at = mul && pattern_from(mul->inputs[0], "Gather") ? 0 : 1;
    pgy_value *list, *weights;
    if (!read_gather(out, mul ? mul->inputs[at] : rows) ||
        !bag_slice(p, out->indices, &list, start, end) ||
        !read_part(p, out->indices, *start, *end, &out->indices))
        return false;
    if (!mul) return true;
    const pgy_node *n = pattern_from(mul->inputs[1 - at], "Unsqueeze");
    if (!n || !(bag_is_constant(p, n->inputs[1], 1) || bag_is_constant(p, n->inputs[1], -1)) ||
        !read_part(p, n->inputs[0], *start, *end, &weights) ||
        !pattern_same_size(weights, 0, out->indices, 0))
        return false;
    out->weights = weights;
    return true;
}

bool bag_loop_scan(bag_form *out, pattern *p, const pgy_node *loop)
{
    if (!pattern_is(loop, "Loop") || loop->input_count != 2 || !loop->inputs[0] ||
        loop->output_count != 1 || loop->subgraph_count != 1)
        return false;
    const pgy_graph *body = loop->subgraphs[0];
    pgy_value *start, *end, *starts, *ends;
    if (body->input_count != 2 || body->output_count != 2 || !is_true(p, body->outputs[0]) ||
        (loop->inputs[1] && !is_true(p, loop->inputs[1])))
        return false;
    const pgy_node *reduce = body->outputs[1]->producer;
    if (!reduce || reduce->graph != body || pattern_int(reduce, "keepdims", 1) ||
        !(out->mode = bag_reduction(p, reduce, 0, 2)))
        return false;
    if (!read_bag(out, p, reduce->inputs[0], &start, &end) || out->table->graph == body ||
        !read_bound(p, start, body->inputs[0], &starts) ||
        !read_bound(p, end, body->inputs[0], &ends) || !follows(p, ends, starts) ||
        !bag_value_is(p, loop->inputs[0], fold_known(ends)->dims[0]))
        return false;
    out->offsets = starts;
    return true;
}

/* ---- Loops that append results to a sequence ------------------------------------------------ */

typedef struct sequence_loop {
    const pgy_graph *body;
    pgy_value *i;     /* number of the iteration */
    pgy_value *count; /* of iterations */
    pgy_value *row;   /* what an iteration appends */
    pgy_value *start, *end;
    pgy_value *rows; /* of all bags: what slices are taken of */
} sequence_loop;

/* v = i + k, a scalar or a list of one number. */
static bool is_number(pattern *p, const pgy_value *v, const pgy_value *i, int64_t k)
{
    enum { STEPS = 8 };
    const int64_t *ints;
    size_t count;
    for (int step = 0; v != i && step < STEPS; step++) {
        const pgy_node *view = pattern_from(v, "Reshape"), *add = pattern_from(v, "Add");
        if (!view) view = pattern_from(v, "Unsqueeze");
        if (!view && (!add || !pattern_ints(p, add->inputs[1], &ints, &count) || count != 1 ||
                      __builtin_sub_overflow(k, *ints, &k)))
            return false;
        v = (view ? view : add)->inputs[0];
    }
    return v == i && k == 0;
}

static bool read_counter(sequence_loop *s, pattern *p, const pgy_node *loop, size_t counter)
{
    const pgy_graph *body = s->body;
    const pgy_value *unused = loop->outputs[counter];
    const pgy_node *less = pattern_from(body->outputs[0], "Less");
    s->i = body->inputs[2 + counter];
    if ((unused && (unused->consumer_count || unused->is_output)) || !less ||
        !bag_is_constant(p, loop->inputs[2 + counter], 0) ||
        !is_number(p, body->outputs[1 + counter], s->i, 1) ||
        less->inputs[0] != body->outputs[1 + counter] || less->inputs[1]->graph == body)
        return false;
    s->count = less->inputs[1];
    const pgy_node *first = loop->inputs[1] ? pattern_from(loop->inputs[1], "Less") : NULL;
    if (first) return bag_is_constant(p, first->inputs[0], 0) && first->inputs[1] == s->count;
    const int64_t *ints;
    size_t size;
    return pattern_ints(p, s->count, &ints, &size) && size == 1 && *ints > 0 &&
           (!loop->inputs[1] || is_true(p, loop->inputs[1]));
}

static bool read_loop(sequence_loop *s, pattern *p, const pgy_node *concat)
{
    const pgy_node *loop = pattern_inner(concat->inputs[0], "Loop");
    if (!loop || loop->input_count != 4 || loop->inputs[0] || loop->output_count != 2 ||
        loop->subgraph_count != 1)
        return false;
    const size_t at = loop->outputs[0] == concat->inputs[0] ? 0 : 1;
    s->body = loop->subgraphs[0];
    if (s->body->input_count != 4 || s->body->output_count != 3 ||
        !pattern_from(loop->inputs[2 + at], "SequenceEmpty") || !read_counter(s, p, loop, 1 - at))
        return false;
    const pgy_node *insert = pattern_from(s->body->outputs[1 + at], "SequenceInsert");
    if (!insert || insert->input_count != 2 || insert->inputs[0] != s->body->inputs[2 + at])
        return false;
    s->row = insert->inputs[1];
    return true;
}

static const pgy_graph *branch(const pgy_node *n, const char *name)
{
    for (size_t i = 0; i < n->subgraph_count; i++)
        if (strcmp(n->subgraph_names[i], name) == 0) return n->subgraphs[i];
    return NULL;
}

/* The results of the branches of an If with this condition. False: v comes from no such node. */
static bool read_if(const pgy_value *v, pgy_value **condition, pgy_value **yes, pgy_value **no)
{
    const pgy_node *n = pattern_from(v, "If");
    if (!n || n->output_count != 1) return false;
    const pgy_graph *then = branch(n, "then_branch"), *other = branch(n, "else_branch");
    if (!then || !other) return false;
    *condition = n->inputs[0];
    *yes = then->outputs[0];
    *no = other->outputs[0];
    return true;
}

/* The bounds of bag i are offsets[i:i + 1] and offsets[i + 1:i + 2]. */
static bool read_bounds(bag_form *out, sequence_loop *s, pattern *p, const pgy_value *equal)
{
    pgy_value *starts, *ends, *from, *to;
    const pgy_node *n = pattern_from(equal, "Equal");
    if (!n) return false;
    s->start = n->inputs[0];
    s->end = n->inputs[1];
    if (!bag_slice(p, s->start, &starts, &from, &to) || !is_number(p, from, s->i, 0) ||
        !is_number(p, to, s->i, 1) || !bag_slice(p, s->end, &ends, &from, &to) ||
        !is_number(p, from, s->i, 1) || !is_number(p, to, s->i, 2))
        return false;
    out->offsets = starts;
    if (starts != ends || starts->graph == s->body || pattern_rank(starts) != 1) return false;
    const dim bags = dim_sub(&p->f.state->dims, fold_known(starts)->dims[0], dim_const(1));
    return bag_value_is(p, s->count, bags);
}

/* Is v the condition that this is the last iteration? */
static bool is_last(pattern *p, const sequence_loop *s, const pgy_value *v)
{
    const int64_t *ints;
    size_t count;
    const pgy_node *n = pattern_from(v, "Equal");
    if (!n || n->inputs[0] != s->i) return false;
    if (pattern_ints(p, s->count, &ints, &count) && count == 1)
        return bag_is_constant(p, n->inputs[1], *ints - 1);
    n = pattern_from(n->inputs[1], "Sub");
    return n && n->inputs[0] == s->count && bag_is_constant(p, n->inputs[1], 1);
}

/* v = rows[start:end]; the first call notes the rows, later ones must find the same. */
static bool is_bag(pattern *p, sequence_loop *s, const pgy_value *v, bool to_end)
{
    pgy_value *rows, *start, *end;
    if (!bag_slice(p, v, &rows, &start, &end) || start != s->start || rows->graph == v->graph ||
        rows->graph == s->body || pattern_rank(rows) != 2 || (s->rows && rows != s->rows))
        return false;
    s->rows = rows;
    return to_end ? bag_value_is(p, end, fold_known(rows)->dims[0]) : end == s->end;
}

static const char *reduction_of(pattern *p, const pgy_value *v, pgy_value **rows)
{
    const pgy_node *n = v->producer;
    if (!n || n->graph != v->graph || pattern_int(n, "keepdims", 1) != 1) return NULL;
    *rows = n->inputs[0];
    return bag_reduction(p, n, 0, 2);
}

/* Reduces the bag in all iterations alike; for a maximum the last one goes to the end. */
static bool read_plain(bag_form *out, sequence_loop *s, pattern *p, const pgy_value *v)
{
    pgy_value *rows, *condition, *yes, *no;
    out->mode = reduction_of(p, v, &rows);
    if (!out->mode) return false;
    if (is_bag(p, s, rows, false)) return true;
    out->last_to_end = true;
    return strcmp(out->mode, "max") == 0 && read_if(rows, &condition, &yes, &no) &&
           is_last(p, s, condition) && is_bag(p, s, yes, true) && is_bag(p, s, no, false);
}

/* v = sum / number, where number = size - start if that is positive, else v = sum. */
static bool is_last_mean(pattern *p, sequence_loop *s, const pgy_value *v, pgy_value **rows)
{
    pgy_value *condition, *yes, *no;
    if (!read_if(v, &condition, &yes, &no)) return false;
    const pgy_node *greater = pattern_from(condition, "Greater"), *div = pattern_from(yes, "Div");
    const pgy_node *same = pattern_from(no, "Identity"), *sub, *cast;
    if (!greater || !div || !bag_is_constant(p, greater->inputs[1], 0)) return false;
    const pgy_value *sum = div->inputs[0];
    if ((same ? same->inputs[0] : no) != sum) return false;
    sub = pattern_from(greater->inputs[0], "Sub");
    cast = pattern_from(div->inputs[1], "Cast");
    if (!sub || sub->inputs[1] != s->start || !cast || cast->inputs[0] != greater->inputs[0])
        return false;
    const char *mode = reduction_of(p, sum, rows);
    return mode && strcmp(mode, "sum") == 0 && is_bag(p, s, *rows, false) &&
           bag_value_is(p, sub->inputs[0], fold_known(s->rows)->dims[0]);
}

/* The mean, which the last iteration computes from a sum. */
static bool read_mean(bag_form *out, sequence_loop *s, pattern *p, const pgy_value *v)
{
    pgy_value *condition, *yes, *no, *rows, *last;
    if (!read_if(v, &condition, &yes, &no) || !is_last(p, s, condition)) return false;
    out->mode = reduction_of(p, no, &rows);
    out->last_to_end = true;
    return out->mode && strcmp(out->mode, "mean") == 0 && is_bag(p, s, rows, false) &&
           is_last_mean(p, s, yes, &last) && last == rows;
}

bool bag_loop_sequence(bag_form *out, pattern *p, const pgy_node *concat)
{
    sequence_loop s = {0};
    pgy_value *equal, *zeros, *result;
    *out = (bag_form){.empty_is_zero = true};
    if (!pattern_is(concat, "ConcatFromSequence") || pattern_int(concat, "axis", -1) != 0 ||
        pattern_int(concat, "new_axis", 0) || !read_loop(&s, p, concat) ||
        !read_if(s.row, &equal, &zeros, &result) || !read_bounds(out, &s, p, equal))
        return false;
    if (!read_plain(out, &s, p, result)) {
        out->last_to_end = false;
        if (!read_mean(out, &s, p, result)) return false;
    }
    if (!bag_rows_read(out, p, s.rows) || pattern_rank(out->indices) != 1) return false;
    const int64_t columns = pattern_size(out->table, 1);
    return columns > 0 && is_zeros(p, zeros, columns);
}
