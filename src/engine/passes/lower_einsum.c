/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum of one operand that only moves axes becomes Transpose, one of two operands MatMul. Axes of
 * both operands that remain are batches, those of both that vanish are summed over, the others are
 * rows and columns. Transpose brings axes into that order, and Reshape joins each group into one
 * axis. einsum_steps.c lowers all other equations, if the sizes are known. */
#include <string.h>

#include "engine/passes/einsum_steps.h"
#include "engine/passes/pass.h"
#include "transform/pattern.h"

/* The Einsum letters of a list of axes; the axes of an ellipsis have the codes 1, 2, ... instead.
 */
typedef struct letters {
    size_t count;
    char at[PGY_MAX_RANK];
} letters;

typedef struct equation {
    letters in[2], out;
    size_t operands;
} equation;

static bool has(const letters *l, char letter, size_t *at)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i] == letter) {
            if (at) *at = i;
            return true;
        }
    return false;
}

static bool add(letters *l, char letter)
{
    if (l->count == PGY_MAX_RANK || has(l, letter, NULL)) return false;
    l->at[l->count++] = letter;
    return true;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Reads letters up to one of `ends`, for `rank` axes; an ellipsis stands for the axes without a
 * letter. */
static bool read_term(letters *l, const char **text, const char *ends, int32_t rank)
{
    const char *s = *text;
    const size_t size = strcspn(s, ends);
    size_t given = 0;
    *l = (letters){0};
    for (size_t i = 0; i < size; i++) given += s[i] != ' ' && s[i] != '.';
    for (size_t i = 0; i < size; i++) {
        if (s[i] == '.') {
            if (i + 3 > size || memcmp(s + i, "...", 3) != 0 || rank < (int32_t)given) return false;
            for (size_t k = (size_t)rank - given; k > 0; k--)
                if (!add(l, (char)k)) return false;
            i += 2;
        } else if (s[i] != ' ' && !add(l, s[i])) {
            return false;
        }
    }
    *text = s + size;
    return l->count == (size_t)rank;
}

static bool read_equation(equation *e, const pgy_node *n)
{
    char text[128];
    const pgy_onnx_attribute *a = node_attribute(n, "equation");
    const char *s = text;
    if (!a || a->s.size >= sizeof text || memchr(a->s.data, 0, a->s.size)) return false;
    memcpy(text, a->s.data, a->s.size);
    text[a->s.size] = 0;
    e->operands = n->input_count;
    for (size_t i = 0; i < e->operands; i++) {
        if (i && *s++ != ',') return false;
        if (!read_term(&e->in[i], &s, ",-", pattern_rank(n->inputs[i]))) return false;
    }
    if (strncmp(s, "->", 2) != 0) return false;
    s += 2;
    return read_term(&e->out, &s, "", pattern_rank(n->outputs[0])) && !*s;
}

/* ---- Making --------------------------------------------------------------------------------- */

/* Transposes v, whose axes have the letters `from`, to the order `to`. */
static pgy_value *transpose(pattern *p, pgy_node *n, pgy_value *v, const letters *from,
                            const letters *to)
{
    int64_t perm[PGY_MAX_RANK];
    bool same = true;
    for (size_t i = 0; i < to->count; i++) {
        size_t at = 0;
        (void)has(from, to->at[i], &at);
        perm[i] = (int64_t)at;
        same = same && at == i;
    }
    if (same) return v;
    pgy_value *moved = pattern_make(p, n, NULL, "Transpose", &v, 1);
    if (moved) pattern_set_ints(p, moved->producer, "perm", perm, to->count);
    return moved;
}

/* The size of each letter's axis, indexed by letter; -1: not known. */
typedef struct sizes {
    int64_t of[256];
} sizes;

/* Are axes of one letter of the same size? An axis of size 1 repeats, which MatMul does not know;
 * axes of unknown sizes are taken to be equal. */
static bool read_sizes(sizes *s, const equation *e, const pgy_node *n)
{
    for (size_t i = 0; i < 256; i++) s->of[i] = -1;
    for (size_t k = 0; k < e->operands; k++)
        for (size_t i = 0; i < e->in[k].count; i++) {
            int64_t *size = &s->of[(unsigned char)e->in[k].at[i]];
            const int64_t own = pattern_size(n->inputs[k], (int32_t)i);
            if (own >= 0 && *size >= 0 && own != *size) return false;
            if (own >= 0) *size = own;
        }
    for (size_t i = 0; i < e->in[0].count; i++) {
        size_t at;
        if (!has(&e->in[1], e->in[0].at[i], &at)) continue;
        const int64_t a = pattern_size(n->inputs[0], (int32_t)i);
        const int64_t b = pattern_size(n->inputs[1], (int32_t)at);
        if ((a == 1) != (b == 1)) return false;
    }
    return true;
}

/* *out: the product of the sizes of the group's axes; false: not known. */
static bool joined_size(int64_t *out, const sizes *s, const letters *group)
{
    *out = 1;
    for (size_t i = 0; i < group->count; i++) {
        const int64_t size = s->of[(unsigned char)group->at[i]];
        if (size < 0 || (size && *out > INT64_MAX / size)) return false;
        *out *= size;
    }
    return true;
}

typedef struct shape {
    size_t rank;
    int64_t of[PGY_MAX_RANK + 2];
} shape;

static void add_each(shape *to, const sizes *s, const letters *group)
{
    for (size_t i = 0; i < group->count; i++)
        to->of[to->rank++] = s->of[(unsigned char)group->at[i]];
}

static void add_joined(shape *to, const sizes *s, const letters *group)
{
    int64_t size;
    to->of[to->rank++] = joined_size(&size, s, group) ? size : -1;
}

/* Reshape infers at most one size, and none if another axis has size 0. */
static bool can_reshape(const shape *to)
{
    size_t open = 0, empty = 0;
    for (size_t i = 0; i < to->rank; i++) {
        open += to->of[i] < 0;
        empty += to->of[i] == 0;
    }
    return to->rank <= PGY_MAX_RANK && open <= 1 && !empty;
}

static pgy_value *reshape(pattern *p, pgy_node *n, pgy_value *v, const shape *to)
{
    pgy_value *const inputs[] = {v, pattern_list(p, n, NULL, to->of, to->rank)};
    return pattern_make(p, n, NULL, "Reshape", inputs, 2);
}

/* ---- Two operands --------------------------------------------------------------------------- */

typedef struct groups {
    letters batch, rows, columns, depth;
} groups;

static bool find_groups(groups *g, const equation *e)
{
    const letters *a = &e->in[0], *b = &e->in[1];
    *g = (groups){0};
    for (size_t i = 0; i < e->out.count; i++) {
        const char letter = e->out.at[i];
        const bool left = has(a, letter, NULL), right = has(b, letter, NULL);
        if (!left && !right) return false;
        add(left && right ? &g->batch : left ? &g->rows : &g->columns, letter);
    }
    for (size_t i = 0; i < a->count; i++) {
        if (has(&e->out, a->at[i], NULL)) continue;
        if (!has(b, a->at[i], NULL)) return false; /* MatMul cannot sum one operand alone */
        add(&g->depth, a->at[i]);
    }
    for (size_t i = 0; i < b->count; i++)
        if (!has(&e->out, b->at[i], NULL) && !has(a, b->at[i], NULL)) return false;
    return true;
}

static letters three(const letters *a, const letters *b, const letters *c)
{
    letters all = *a;
    for (size_t i = 0; i < b->count; i++) add(&all, b->at[i]);
    for (size_t i = 0; c && i < c->count; i++) add(&all, c->at[i]);
    return all;
}

/* One operand as [batch..., first, second]. */
typedef struct operand {
    letters order;
    shape joined;
    bool joins;
} operand;

static operand arrange(const groups *g, const sizes *s, const letters *first, const letters *second)
{
    operand o = {.order = three(&g->batch, first, second),
                 .joins = first->count != 1 || second->count != 1};
    add_each(&o.joined, s, &g->batch);
    add_joined(&o.joined, s, first);
    add_joined(&o.joined, s, second);
    return o;
}

/* Axes of unknown sizes that are joined and summed could differ one by one and still have the same
 * product: the MatMul would not see it. */
static bool hides_sizes(const equation *e, const pgy_node *n, const letters *depth)
{
    size_t unknown = 0;
    for (size_t i = 0; i < depth->count; i++)
        for (size_t k = 0, at; k < 2; k++) {
            if (!has(&e->in[k], depth->at[i], &at)) continue;
            if (pattern_size(n->inputs[k], (int32_t)at) >= 0) continue;
            unknown++;
            break;
        }
    return unknown > 1;
}

static bool lower_two(pattern *p, pgy_node *n, const equation *e)
{
    groups g;
    sizes s;
    shape split = {0};
    if (!find_groups(&g, e) || !read_sizes(&s, e, n) || hides_sizes(e, n, &g.depth)) return false;
    operand o[] = {arrange(&g, &s, &g.rows, &g.depth), arrange(&g, &s, &g.depth, &g.columns)};
    bool splits = g.rows.count != 1 || g.columns.count != 1;
    /* MatMul by a matrix takes any number of axes of rows. */
    if (!g.batch.count && g.rows.count > 1 && g.depth.count == 1 && g.columns.count == 1)
        o[0].joins = splits = false;
    const letters made = three(&g.batch, &g.rows, &g.columns);
    add_each(&split, &s, &made);
    if ((o[0].joins && !can_reshape(&o[0].joined)) || (o[1].joins && !can_reshape(&o[1].joined)) ||
        (splits && !can_reshape(&split)))
        return false;
    pgy_value *inputs[2];
    for (size_t i = 0; i < 2; i++) {
        inputs[i] = transpose(p, n, n->inputs[i], &e->in[i], &o[i].order);
        if (o[i].joins) inputs[i] = reshape(p, n, inputs[i], &o[i].joined);
    }
    pgy_value *y = pattern_make(p, n, NULL, "MatMul", inputs, 2);
    if (y && splits) y = reshape(p, n, y, &split);
    if (y) y = transpose(p, n, y, &made, &e->out);
    return y && pattern_put(p, n, "Identity", &y, 1);
}

static bool lower_plain(pattern *p, pgy_node *n)
{
    equation e;
    if (n->input_count < 1 || n->input_count > 2 || !pattern_is_float(n->outputs[0]) ||
        !read_equation(&e, n))
        return false;
    if (e.operands == 2) return lower_two(p, n, &e);
    for (size_t i = 0; i < e.in[0].count; i++)
        if (!has(&e.out, e.in[0].at[i], NULL)) return false;
    pgy_value *y =
        e.out.count == e.in[0].count ? transpose(p, n, n->inputs[0], &e.in[0], &e.out) : NULL;
    return y && pattern_put(p, n, "Identity", &y, 1);
}

static bool lower(pattern *p, pgy_node *n)
{
    return pattern_is(n, "Einsum") && (lower_plain(p, n) || einsum_lower_steps(p, n));
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {lower, NULL};
    return pattern_run(g, "lower_einsum", RULES, changes, err);
}

const pass PASS_lower_einsum = {
    .name = "lower_einsum", .summary = "Einsum as products, sums, moves", .run = run};
