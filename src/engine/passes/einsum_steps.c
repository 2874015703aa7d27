/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum as a sequence of steps, for known sizes. Each operand loses axes that only repeat it,
 * takes the diagonal of letters that it has twice (Reshape and Slice), and sums letters that nobody
 * else has (ReduceSum). Then pairs of operands are joined until one is left: a MatMul if they share
 * letters that are summed, else a Mul. The order of pairs is the one with the fewest
 * multiplications, among all orders for up to ALL_ORDERS operands, else greedily. */
#include "engine/passes/einsum_steps.h"

#include <ctype.h>
#include <string.h>

enum { MOST_OPERANDS = 16, ALL_ORDERS = 5, CODES = 128 };

/* Letters, and codes 1, 2, ... for the axes of an ellipsis from the right. */
typedef struct term {
    pgy_value *value;
    size_t count;
    char at[PGY_MAX_RANK];
} term;

typedef struct equation {
    pattern *p;
    pgy_node *n;
    size_t count;
    term in[MOST_OPERANDS], out;
    int64_t size[CODES]; /* of each letter's axis */
} equation;

static bool find(const term *t, char letter, size_t *at)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->at[i] == letter) {
            if (at) *at = i;
            return true;
        }
    return false;
}

static bool push(term *t, char letter)
{
    if (t->count == PGY_MAX_RANK) return false;
    t->at[t->count++] = letter;
    return true;
}

static void erase(term *t, size_t at)
{
    memmove(t->at + at, t->at + at + 1, t->count - at - 1);
    t->count--;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Reads letters up to a comma, an arrow or the end; an ellipsis stands for `dots` axes, or for
 * those that `rank` leaves if it is not negative. */
static bool read_term(term *t, const char **text, int32_t rank, size_t *dots)
{
    const char *s = *text;
    size_t letters = 0;
    for (const char *c = s; *c && *c != ',' && *c != '-'; c++)
        letters += isalpha((unsigned char)*c) != 0;
    for (; *s && *s != ',' && *s != '-'; s++) {
        if (*s == ' ') continue;
        if (isalpha((unsigned char)*s)) {
            if (!push(t, *s)) return false;
            continue;
        }
        if (strncmp(s, "...", 3) != 0 || (rank >= 0 && (size_t)rank < letters)) return false;
        if (rank >= 0) *dots = (size_t)rank - letters;
        for (size_t k = *dots; k > 0; k--)
            if (!push(t, (char)k)) return false;
        s += 2;
    }
    *text = s;
    return rank < 0 || t->count == (size_t)rank;
}

/* Without an arrow: the ellipsis, then the letters that occur once, in ASCII order. */
static bool imply_output(equation *e, size_t dots)
{
    size_t uses[CODES] = {0};
    for (size_t k = 0; k < e->count; k++)
        for (size_t i = 0; i < e->in[k].count; i++) uses[(unsigned char)e->in[k].at[i]]++;
    for (size_t k = dots; k > 0; k--)
        if (!push(&e->out, (char)k)) return false;
    for (size_t c = 'A'; c <= 'z'; c++)
        if (uses[c] == 1 && !push(&e->out, (char)c)) return false;
    return true;
}

static bool read_terms(equation *e, const char *s)
{
    size_t most = 0;
    for (size_t k = 0; k < e->count; k++) {
        size_t dots = 0;
        if (k && *s++ != ',') return false;
        e->in[k].value = e->n->inputs[k];
        if (!e->in[k].value || !read_term(&e->in[k], &s, pattern_rank(e->in[k].value), &dots))
            return false;
        if (dots > most) most = dots;
    }
    if (!*s) return imply_output(e, most);
    if (strncmp(s, "->", 2) != 0) return false;
    s += 2;
    return read_term(&e->out, &s, -1, &most) && !*s;
}

/* Are all products of sizes small enough? The square of one is the length of a diagonal's axis. */
static bool are_sizes_small(const equation *e)
{
    int64_t all = 1;
    for (size_t c = 0; c < CODES; c++)
        if (e->size[c] > INT32_MAX || (e->size[c] && __builtin_mul_overflow(all, e->size[c], &all)))
            return false;
    return true;
}

/* Axes of size 1 stand for any size. */
static bool read_sizes(equation *e)
{
    for (size_t k = 0; k < e->count; k++)
        for (size_t i = 0; i < e->in[k].count; i++) {
            int64_t *size = &e->size[(unsigned char)e->in[k].at[i]];
            const int64_t own = pattern_size(e->in[k].value, (int32_t)i);
            if (own < 1 || (*size > 1 && own > 1 && own != *size)) return false;
            if (own > *size) *size = own;
            for (size_t j = 0; j < i; j++)
                if (e->in[k].at[j] == e->in[k].at[i] &&
                    pattern_size(e->in[k].value, (int32_t)j) != own)
                    return false;
        }
    for (size_t i = 0; i < e->out.count; i++)
        if (e->size[(unsigned char)e->out.at[i]] != pattern_size(e->n->outputs[0], (int32_t)i))
            return false;
    return pattern_rank(e->n->outputs[0]) == (int32_t)e->out.count && are_sizes_small(e);
}

static bool read_equation(equation *e, pattern *p, pgy_node *n)
{
    char text[256];
    const pgy_onnx_attribute *a = node_attribute(n, "equation");
    if (!a || a->s.size >= sizeof text || memchr(a->s.data, 0, a->s.size)) return false;
    memcpy(text, a->s.data, a->s.size);
    text[a->s.size] = 0;
    *e = (equation){.p = p, .n = n, .count = n->input_count};
    return read_terms(e, text) && read_sizes(e);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static pgy_value *make(equation *e, const char *op, pgy_value *const *inputs, size_t count)
{
    return pattern_make(e->p, e->n, NULL, op, inputs, count);
}

static pgy_value *int_list(equation *e, const int64_t *values, size_t count)
{
    return pattern_list(e->p, e->n, NULL, values, count);
}

static pgy_value *reshape(equation *e, pgy_value *v, const int64_t *shape, size_t rank)
{
    return make(e, "Reshape", (pgy_value *const[]){v, int_list(e, shape, rank)}, 2);
}

static pgy_value *permute(equation *e, pgy_value *v, const int64_t *order, size_t count)
{
    pgy_value *y = make(e, "Transpose", &v, 1);
    if (y) pattern_set_ints(e->p, y->producer, "perm", order, count);
    return y;
}

/* Brings the axes of t, which has these letters, into this order. */
static void order_axes(equation *e, term *t, const term *wanted)
{
    int64_t order[PGY_MAX_RANK];
    bool same = true;
    for (size_t i = 0; i < wanted->count; i++) {
        size_t at = 0;
        (void)find(t, wanted->at[i], &at);
        order[i] = (int64_t)at;
        same = same && at == i;
    }
    if (!same) t->value = permute(e, t->value, order, wanted->count);
    memcpy(t->at, wanted->at, wanted->count);
}

static size_t sizes_of(const equation *e, const term *t, int64_t *shape)
{
    for (size_t i = 0; i < t->count; i++) shape[i] = e->size[(unsigned char)t->at[i]];
    return t->count;
}

/* ---- One operand ---------------------------------------------------------------------------- */

static void drop_repeating(equation *e, term *t)
{
    const pgy_value *v = t->value;
    const size_t before = t->count;
    int64_t shape[PGY_MAX_RANK];
    for (size_t i = before; i-- > 0;)
        if (pattern_size(v, (int32_t)i) != e->size[(unsigned char)t->at[i]]) erase(t, i);
    if (t->count != before) t->value = reshape(e, t->value, shape, sizes_of(e, t, shape));
}

/* Takes the diagonal of axes i and j: next to each other they are one axis of which every n + 1st
 * element is on the diagonal. */
static void take_diagonal(equation *e, term *t, size_t i, size_t j)
{
    int64_t order[PGY_MAX_RANK], shape[PGY_MAX_RANK];
    const int64_t size = e->size[(unsigned char)t->at[i]], zero = 0, end = size * size;
    const int64_t axis = (int64_t)i, step = size + 1;
    size_t n = 0;
    for (size_t k = 0; k < t->count; k++) {
        if (k == j) continue;
        order[n++] = (int64_t)k;
        if (k == i) order[n++] = (int64_t)j;
    }
    if (j != i + 1) t->value = permute(e, t->value, order, n);
    erase(t, j);
    n = sizes_of(e, t, shape);
    shape[i] = end;
    pgy_value *inputs[] = {reshape(e, t->value, shape, n), int_list(e, &zero, 1),
                           int_list(e, &end, 1), int_list(e, &axis, 1), int_list(e, &step, 1)};
    t->value = make(e, "Slice", inputs, 5);
}

/* Does the output, or an operand other than a and b, have this letter? */
static bool is_kept(const equation *e, char letter, size_t a, size_t b)
{
    for (size_t k = 0; k < e->count; k++)
        if (k != a && k != b && find(&e->in[k], letter, NULL)) return true;
    return find(&e->out, letter, NULL);
}

static void sum_lonely(equation *e, size_t k)
{
    term *t = &e->in[k], rest = {0};
    int64_t axes[PGY_MAX_RANK];
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        if (is_kept(e, t->at[i], k, k))
            push(&rest, t->at[i]);
        else
            axes[count++] = (int64_t)i;
    if (!count) return;
    rest.value = make(e, "ReduceSum", (pgy_value *const[]){t->value, int_list(e, axes, count)}, 2);
    if (rest.value) pattern_set_int(e->p, rest.value->producer, "keepdims", 0);
    *t = rest;
}

static void take_diagonals(equation *e, term *t)
{
    for (size_t i = 0; i < t->count; i++)
        for (size_t j = i + 1; j < t->count;)
            if (t->at[i] == t->at[j])
                take_diagonal(e, t, i, j);
            else
                j++;
}

static bool are_present(const equation *e)
{
    for (size_t k = 0; k < e->count; k++)
        if (!e->in[k].value) return false;
    return true;
}

/* Axes of size 1 go first: an operand that only repeats a letter must not keep others from summing
 * it. */
static bool simplify(equation *e)
{
    for (size_t k = 0; k < e->count; k++) drop_repeating(e, &e->in[k]);
    for (size_t k = 0; are_present(e) && k < e->count; k++) take_diagonals(e, &e->in[k]);
    for (size_t k = 0; are_present(e) && k < e->count; k++) sum_lonely(e, k);
    return are_present(e);
}

/* ---- Two operands --------------------------------------------------------------------------- */

typedef struct groups {
    term batch, rows, columns, depth;
} groups;

static void find_groups(const equation *e, size_t a, size_t b, groups *g)
{
    const term *x = &e->in[a], *y = &e->in[b];
    *g = (groups){0};
    for (size_t i = 0; i < x->count; i++) {
        const bool both = find(y, x->at[i], NULL), kept = is_kept(e, x->at[i], a, b);
        push(!both ? &g->rows : kept ? &g->batch : &g->depth, x->at[i]);
    }
    for (size_t i = 0; i < y->count; i++)
        if (!find(x, y->at[i], NULL)) push(&g->columns, y->at[i]);
}

static term joined(const term *a, const term *b, const term *c)
{
    term all = *a;
    for (size_t i = 0; i < b->count; i++) push(&all, b->at[i]);
    for (size_t i = 0; c && i < c->count; i++) push(&all, c->at[i]);
    return all;
}

/* a and b share all letters that they both have with the result: a product without sums. */
static term multiply(equation *e, term *a, term *b, const groups *g)
{
    int64_t shape[PGY_MAX_RANK];
    term y = joined(&g->batch, &g->rows, &g->columns), *const operands[] = {a, b};
    pgy_value *inputs[2];
    if (e->count == 2) y = e->out;
    for (size_t k = 0; k < 2; k++) {
        term own = {0};
        for (size_t i = 0; i < y.count; i++) {
            const bool has = find(operands[k], y.at[i], NULL);
            shape[i] = has ? e->size[(unsigned char)y.at[i]] : 1;
            if (has) push(&own, y.at[i]);
        }
        order_axes(e, operands[k], &own);
        inputs[k] = own.count == y.count ? operands[k]->value
                                         : reshape(e, operands[k]->value, shape, y.count);
    }
    y.value = make(e, "Mul", inputs, 2);
    return y;
}

static int64_t volume(const equation *e, const term *t)
{
    int64_t v = 1;
    for (size_t i = 0; i < t->count; i++) v *= e->size[(unsigned char)t->at[i]];
    return v;
}

/* The operand as [batch, first, second]. If its axes are in the order batch, second, first, a
 * Transpose of the last two follows, which becomes part of the product. */
static pgy_value *arrange(equation *e, term *t, const term *batch, const term *first,
                          const term *second)
{
    const term turned = joined(batch, second, first), order = joined(batch, first, second);
    const bool turns = memcmp(t->at, turned.at, t->count) == 0 && first->count && second->count;
    const term *rows = turns ? second : first, *columns = turns ? first : second;
    const int64_t shape[] = {volume(e, batch), volume(e, rows), volume(e, columns)};
    const size_t skip = batch->count == 0;
    if (!turns) order_axes(e, t, &order);
    const bool fits = rows->count == 1 && columns->count == 1 && batch->count <= 1;
    pgy_value *v = fits || !t->value ? t->value : reshape(e, t->value, shape + skip, 3 - skip);
    static const int64_t TURNED[2][3] = {{0, 2, 1}, {1, 0}};
    return turns ? permute(e, v, TURNED[skip], 3 - skip) : v;
}

static term contract(equation *e, term *a, term *b, const groups *g)
{
    int64_t shape[PGY_MAX_RANK];
    pgy_value *inputs[] = {arrange(e, a, &g->batch, &g->rows, &g->depth),
                           arrange(e, b, &g->batch, &g->depth, &g->columns)};
    term y = joined(&g->batch, &g->rows, &g->columns);
    y.value = make(e, "MatMul", inputs, 2);
    const bool fits = g->rows.count == 1 && g->columns.count == 1 && g->batch.count <= 1;
    if (!fits && y.value) y.value = reshape(e, y.value, shape, sizes_of(e, &y, shape));
    return y;
}

/* Replaces operands a and b by their product. The one with the leading letters of the output comes
 * first. */
static void join(equation *e, size_t a, size_t b)
{
    groups g;
    find_groups(e, a, b, &g);
    for (size_t i = 0; i < e->out.count; i++) {
        if (find(&g.rows, e->out.at[i], NULL)) break;
        if (!find(&g.columns, e->out.at[i], NULL)) continue;
        const size_t other = a;
        a = b;
        b = other;
        find_groups(e, a, b, &g);
        break;
    }
    const term y = g.depth.count ? contract(e, &e->in[a], &e->in[b], &g)
                                 : multiply(e, &e->in[a], &e->in[b], &g);
    const size_t low = a < b ? a : b, high = a < b ? b : a;
    e->in[low] = y;
    memmove(e->in + high, e->in + high + 1, (e->count - high - 1) * sizeof *e->in);
    e->count--;
}

/* ---- The order of pairs --------------------------------------------------------------------- */

/* Sets of letters as bits; `size` of each bit. */
typedef struct sets {
    uint64_t out;
    double size[64];
} sets;

static double count_of(const sets *s, uint64_t set)
{
    double count = 1;
    for (; set; set &= set - 1) count *= s->size[__builtin_ctzll(set)];
    return count;
}

/* The pair to join first, and the multiplications of all joins. */
static double cheapest(const sets *s, const uint64_t *have, size_t count, size_t *a, size_t *b)
{
    double least = -1;
    for (size_t i = 0; count > 1 && i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            uint64_t next[MOST_OPERANDS], kept = s->out;
            size_t n = 1, x, y;
            for (size_t k = 0; k < count; k++)
                if (k != i && k != j) kept |= next[n++] = have[k];
            next[0] = (have[i] | have[j]) & kept;
            const double own = count_of(s, have[i] | have[j]);
            const double rest =
                count <= ALL_ORDERS ? cheapest(s, next, n, &x, &y) : count_of(s, next[0]);
            if (least >= 0 && own + rest >= least) continue;
            least = own + rest;
            *a = i;
            *b = j;
        }
    return least < 0 ? 0 : least;
}

/* False: more letters than bits. */
static bool find_pair(const equation *e, size_t *a, size_t *b)
{
    sets s = {0};
    uint64_t have[MOST_OPERANDS] = {0};
    uint8_t bit[CODES] = {0}; /* from 1 */
    size_t bits = 0;
    for (size_t k = 0; k < e->count; k++)
        for (size_t i = 0; i < e->in[k].count; i++) {
            const unsigned char c = (unsigned char)e->in[k].at[i];
            if (!bit[c] && bits == 64) return false;
            if (!bit[c]) {
                s.size[bits] = (double)e->size[c];
                bit[c] = (uint8_t)++bits;
                if (find(&e->out, (char)c, NULL)) s.out |= UINT64_C(1) << (bit[c] - 1);
            }
            have[k] |= UINT64_C(1) << (bit[c] - 1);
        }
    (void)cheapest(&s, have, e->count, a, b);
    return true;
}

bool einsum_lower_steps(pattern *p, pgy_node *n)
{
    equation e;
    size_t a = 0, b = 1;
    if (!n->input_count || n->input_count > MOST_OPERANDS || pgy_graph_opset(n->graph, "") < 13)
        return false;
    const pgy_dtype dtype = pattern_dtype(n->outputs[0]);
    if ((dtype != PGY_F32 && dtype != PGY_F64) || !read_equation(&e, p, n) ||
        !find_pair(&e, &a, &b))
        return false;
    if (!simplify(&e)) return false;
    while (e.count > 1) {
        if (!find_pair(&e, &a, &b)) return false;
        join(&e, a, b);
        if (!are_present(&e)) return false;
    }
    order_axes(&e, &e.in[0], &e.out);
    return e.in[0].value && pattern_put(p, n, "Identity", &e.in[0].value, 1);
}
