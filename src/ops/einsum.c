/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum. The equation becomes lists of labels (letters in ASCII order, then the axes behind an
 * ellipsis, aligned to the right). Evaluation folds the operands from the left: each pair becomes a
 * batched matrix product that sums the labels that neither a later operand nor the output needs.
 * One strided copy with summation does transposes, diagonals and plain sums. */
#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_matmul.h"

enum { LETTERS = 52, LABELS = LETTERS + PGY_MAX_RANK, MAX_OPERANDS = 64 };

static const op_attr_def ATTRS[] = {{"equation", OP_ATTR_STRING, true, NULL}, {NULL}};

typedef struct term {
    size_t rank;
    uint8_t labels[PGY_MAX_RANK];
    size_t ellipsis; /* position of the ellipsis among the labels; SIZE_MAX: none */
} term;

typedef struct equation {
    size_t count;
    term in[MAX_OPERANDS], out;
    size_t ellipsis_rank;
} equation;

/* ---- Parsing -------------------------------------------------------------------------------- */

static pgy_status bad(const op_node *n, span text, const char *why, pgy_error *err)
{
    return op_error(n, err, PGY_E_ARGUMENT, "equation '%.*s' %s", (int)text.size,
                    text.data ? text.data : "", why);
}

/* Reads one term up to a comma, an arrow or the end. */
static const char *read_term(term *t, span text, size_t *at)
{
    *t = (term){.ellipsis = SIZE_MAX};
    for (; *at < text.size; ++*at) {
        char ch = text.data[*at];
        if (ch == ' ') continue;
        if (ch == ',' || ch == '-') break;
        if (ch == '.') {
            if (*at + 2 >= text.size || memcmp(text.data + *at, "...", 3) != 0)
                return "has a lone dot";
            if (t->ellipsis != SIZE_MAX) return "has two ellipses in one term";
            t->ellipsis = t->rank;
            *at += 2;
        } else if (isalpha((unsigned char)ch) && (unsigned char)ch < 128) {
            if (t->rank == PGY_MAX_RANK) return "has too many letters in one term";
            t->labels[t->rank++] = (uint8_t)(ch >= 'a' ? ch - 'a' + 26 : ch - 'A');
        } else {
            return "has a character that is not a letter";
        }
    }
    return NULL;
}

/* Without an arrow: the ellipsis, then the labels that occur once. */
static void implied_output(equation *e)
{
    size_t uses[LETTERS] = {0};
    e->out = (term){.ellipsis = SIZE_MAX};
    for (size_t i = 0; i < e->count; i++) {
        if (e->in[i].ellipsis != SIZE_MAX) e->out.ellipsis = 0;
        for (size_t j = 0; j < e->in[i].rank; j++) uses[e->in[i].labels[j]]++;
    }
    for (uint8_t l = 0; l < LETTERS; l++)
        if (uses[l] == 1) e->out.labels[e->out.rank++] = l;
}

static const char *check_output(const equation *e)
{
    bool known[LETTERS] = {0}, used[LETTERS] = {0};
    for (size_t i = 0; i < e->count; i++)
        for (size_t j = 0; j < e->in[i].rank; j++) known[e->in[i].labels[j]] = true;
    for (size_t j = 0; j < e->out.rank; j++) {
        if (!known[e->out.labels[j]]) return "has a letter in the output that is in no input";
        if (used[e->out.labels[j]]) return "repeats a letter in the output";
        used[e->out.labels[j]] = true;
    }
    return NULL;
}

static pgy_status parse(equation *e, const op_node *n, pgy_error *err)
{
    const op_attr *a = op_attr_find(n, "equation");
    span text = a ? a->s : (span){0};
    size_t at = 0;
    e->count = 0;
    e->ellipsis_rank = 0;
    if (n->input_count > MAX_OPERANDS) return bad(n, text, "has too many operands", err);
    for (;;) {
        if (e->count == n->input_count)
            return bad(n, text, "has more terms than there are inputs", err);
        const char *why = read_term(&e->in[e->count++], text, &at);
        if (why) return bad(n, text, why, err);
        if (at >= text.size || text.data[at] == '-') break;
        at++;
    }
    if (e->count != n->input_count)
        return bad(n, text, "has fewer terms than there are inputs", err);
    if (at >= text.size) {
        implied_output(e);
        return PGY_OK;
    }
    if (at + 1 >= text.size || text.data[at + 1] != '>')
        return bad(n, text, "has a '-' without '>'", err);
    at += 2;
    const char *why = read_term(&e->out, text, &at);
    if (!why && at < text.size) why = "has text after the output";
    if (!why) why = check_output(e);
    return why ? bad(n, text, why, err) : PGY_OK;
}

static bool expand(term *t, size_t own, size_t widest)
{
    if (t->ellipsis == SIZE_MAX) return true;
    if (t->rank + own > PGY_MAX_RANK) return false;
    memmove(t->labels + t->ellipsis + own, t->labels + t->ellipsis, t->rank - t->ellipsis);
    for (size_t i = 0; i < own; i++)
        t->labels[t->ellipsis + i] = (uint8_t)(LETTERS + widest - own + i);
    t->rank += own;
    return true;
}

/* Replaces ellipses by labels; the ranks of all inputs must be known. */
static pgy_status settle(equation *e, const op_node *n, const size_t *ranks, pgy_error *err)
{
    size_t own[MAX_OPERANDS] = {0};
    for (size_t i = 0; i < e->count; i++) {
        const term *t = &e->in[i];
        if (ranks[i] < t->rank || (t->ellipsis == SIZE_MAX && ranks[i] != t->rank))
            return op_error(n, err, PGY_E_SHAPE,
                            "input %zu has rank %zu, but its term has %zu letters", i, ranks[i],
                            t->rank);
        own[i] = ranks[i] - t->rank;
        if (own[i] > e->ellipsis_rank) e->ellipsis_rank = own[i];
    }
    for (size_t i = 0; i < e->count; i++)
        if (!expand(&e->in[i], own[i], e->ellipsis_rank))
            return op_error(n, err, PGY_E_SHAPE, "input %zu has more dimensions than are supported",
                            i);
    if (!expand(&e->out, e->ellipsis_rank, e->ellipsis_rank))
        return op_error(n, err, PGY_E_SHAPE, "the output has more than %d dimensions",
                        PGY_MAX_RANK);
    return PGY_OK;
}

/* ---- Shape ---------------------------------------------------------------------------------- */

static pgy_status join_dim(op_infer *c, size_t input, dim *known, dim d, pgy_error *err)
{
    dim one = dim_const(1);
    if (dim_equal(*known, one)) {
        *known = d;
        return PGY_OK;
    }
    if (dim_equal(d, one) || op_unify(known, *known, d)) return PGY_OK;
    str a = {0}, b = {0};
    dim_print(&a, d);
    dim_print(&b, *known);
    pgy_status st =
        op_error(c->node, err, PGY_E_SHAPE,
                 "input %zu has size %s for a letter that stands for size %s in another input",
                 input, str_text(&a), str_text(&b));
    str_deinit(&a);
    str_deinit(&b);
    return st;
}

static pgy_status infer_known(op_infer *c, equation *e, pgy_error *err)
{
    size_t ranks[MAX_OPERANDS];
    dim extents[LABELS];
    for (size_t i = 0; i < e->count; i++) ranks[i] = (size_t)c->inputs[i].rank;
    for (size_t l = 0; l < LABELS; l++) extents[l] = dim_const(1);
    pgy_status st = settle(e, c->node, ranks, err);
    for (size_t i = 0; !st && i < e->count; i++)
        for (size_t j = 0; !st && j < e->in[i].rank; j++)
            st = join_dim(c, i, &extents[e->in[i].labels[j]], c->inputs[i].dims[j], err);
    if (st) return st;
    dim *dims = op_dims(c, e->out.rank);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < e->out.rank; i++) dims[i] = extents[e->out.labels[i]];
    op_set_output(c, 0, c->inputs[0].dtype, (int32_t)e->out.rank, dims);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    equation e;
    bool known = true;
    pgy_status st = parse(&e, c->node, err);
    if (st) return st;
    for (size_t i = 0; i < e.count; i++) known = known && rank_known(c, i);
    if (known) return infer_known(c, &e, err);
    op_set_unknown(c, 0, c->inputs[0].dtype, e.out.ellipsis == SIZE_MAX ? (int32_t)e.out.rank : -1,
                   "the shape of an input is not known");
    return PGY_OK;
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

/* An operand and its labels with their strides. A repeated label is listed once with the sum of its
 * strides, which gives the diagonal. */
typedef struct operand {
    const void *data;
    void *owned;
    size_t rank;
    uint8_t labels[LABELS];
    size_t strides[LABELS];
} operand;

static size_t place(const operand *o, uint8_t label)
{
    for (size_t i = 0; i < o->rank; i++)
        if (o->labels[i] == label) return i;
    return SIZE_MAX;
}

static size_t stride_of(const operand *o, uint8_t label)
{
    size_t i = place(o, label);
    return i == SIZE_MAX ? 0 : o->strides[i];
}

static void view_input(operand *o, const op_eval *c, const term *t, size_t input)
{
    const int64_t *shape = in_shape(c, input);
    size_t stride = 1;
    *o = (operand){.data = in_data(c, input)};
    for (size_t j = t->rank; j-- > 0;) {
        size_t at = place(o, t->labels[j]);
        if (at == SIZE_MAX) {
            at = o->rank++;
            o->labels[at] = t->labels[j];
            o->strides[at] = 0;
        }
        if (shape[j] != 1) o->strides[at] += stride;
        stride *= (size_t)shape[j];
    }
}

typedef struct walk {
    size_t rank;
    size_t extents[LABELS], strides[LABELS];
} walk;

static size_t walk_count(const walk *w)
{
    size_t count = 1;
    for (size_t i = 0; i < w->rank; i++) count *= w->extents[i];
    return count;
}

static size_t walk_offset(const walk *w, size_t index)
{
    size_t offset = 0;
    for (size_t i = w->rank; i-- > 0; index /= w->extents[i])
        offset += index % w->extents[i] * w->strides[i];
    return offset;
}

static walk walk_of(const operand *o, const uint8_t *labels, size_t count, const size_t *extents)
{
    walk w = {.rank = count};
    for (size_t i = 0; i < count; i++) {
        w.extents[i] = extents[labels[i]];
        w.strides[i] = stride_of(o, labels[i]);
    }
    return w;
}

#define T double
#define NAME copy_f64
#include "ops/einsum.inc"
#undef T
#undef NAME
#define T uint64_t
#define NAME copy_u64
#include "ops/einsum.inc"
#undef T
#undef NAME

typedef struct fold {
    op_eval *c;
    size_t extents[LABELS];
    bool is_float;
} fold;

static void copy_sum(const fold *f, void *to, const operand *o, const uint8_t *labels, size_t rank)
{
    uint8_t summed[LABELS];
    size_t count = 0;
    for (size_t i = 0; i < o->rank; i++)
        if (!memchr(labels, o->labels[i], rank)) summed[count++] = o->labels[i];
    walk kept = walk_of(o, labels, rank, f->extents), rest = walk_of(o, summed, count, f->extents);
    if (f->is_float)
        copy_f64(to, o->data, &kept, &rest);
    else
        copy_u64(to, o->data, &kept, &rest);
}

static bool label_extent(size_t *product, const fold *f, const uint8_t *labels, size_t count)
{
    *product = 1;
    for (size_t i = 0; i < count; i++)
        if (!size_mul(product, *product, f->extents[labels[i]])) return false;
    return true;
}

/* Makes a compact operand with these labels; sums over the other labels of `o`. */
static pgy_status rearrange(void **out, const fold *f, const operand *o, const uint8_t *labels,
                            size_t rank, pgy_error *err)
{
    size_t count = 0;
    void *to = NULL;
    if (!label_extent(&count, f, labels, rank))
        return op_error(f->c->node, err, PGY_E_MEMORY,
                        "an intermediate result is too large for memory");
    pgy_status st = workspace_alloc(&to, f->c, count, sizeof(double), err);
    if (st) return st;
    copy_sum(f, to, o, labels, rank);
    *out = to;
    return PGY_OK;
}

/* The labels of a pair of operands by kind. batch: in both and kept; left: only in a; inner: in
 * both and summed; right: only in b. */
typedef struct split {
    uint8_t batch[LABELS], left[LABELS], inner[LABELS], right[LABELS];
    size_t batches, lefts, inners, rights;
} split;

static void split_labels(split *s, const operand *a, const operand *b, const bool *needed)
{
    *s = (split){0};
    for (size_t i = 0; i < a->rank; i++) {
        uint8_t l = a->labels[i];
        bool both = place(b, l) != SIZE_MAX;
        if (both && needed[l])
            s->batch[s->batches++] = l;
        else if (both)
            s->inner[s->inners++] = l;
        else if (needed[l])
            s->left[s->lefts++] = l;
    }
    for (size_t i = 0; i < b->rank; i++)
        if (place(a, b->labels[i]) == SIZE_MAX && needed[b->labels[i]])
            s->right[s->rights++] = b->labels[i];
}

static size_t append(uint8_t *to, size_t at, const uint8_t *labels, size_t count)
{
    memcpy(to + at, labels, count);
    return at + count;
}

static pgy_status multiply(const fold *f, const split *s, const void *a, const void *b, void *y,
                           pgy_error *err)
{
    matmul_plan p = {.rank = 1};
    if (!label_extent(&p.batch, f, s->batch, s->batches) ||
        !label_extent(&p.m, f, s->left, s->lefts) || !label_extent(&p.k, f, s->inner, s->inners) ||
        !label_extent(&p.n, f, s->right, s->rights))
        return op_error(f->c->node, err, PGY_E_MEMORY,
                        "an intermediate result is too large for memory");
    p.dims[0] = p.batch;
    p.a_strides[0] = p.m * p.k;
    p.b_strides[0] = p.k * p.n;
    if (f->is_float) return matmul_run_f64(&p, a, b, y, err);
    matmul_run_u64(&p, a, b, y);
    return PGY_OK;
}

static void compact(operand *o, const fold *f, void *data, const uint8_t *labels, size_t rank)
{
    size_t stride = 1;
    *o = (operand){.data = data, .owned = data, .rank = rank};
    memcpy(o->labels, labels, rank);
    for (size_t i = rank; i-- > 0; stride *= f->extents[labels[i]]) o->strides[i] = stride;
}

/* Replaces a by the product of a and b, summed over all labels that are not needed later. */
static pgy_status join(const fold *f, operand *a, const operand *b, const bool *needed,
                       pgy_error *err)
{
    split s;
    uint8_t labels[LABELS];
    void *left = NULL, *right = NULL, *y = NULL;
    size_t rank, count = 0;
    split_labels(&s, a, b, needed);
    rank = append(labels, append(labels, append(labels, 0, s.batch, s.batches), s.left, s.lefts),
                  s.inner, s.inners);
    pgy_status st = rearrange(&left, f, a, labels, rank, err);
    rank = append(labels, append(labels, append(labels, 0, s.batch, s.batches), s.inner, s.inners),
                  s.right, s.rights);
    if (!st) st = rearrange(&right, f, b, labels, rank, err);
    if (st) goto done;
    rank = append(labels, append(labels, append(labels, 0, s.batch, s.batches), s.left, s.lefts),
                  s.right, s.rights);
    if (!label_extent(&count, f, labels, rank))
        st = op_error(f->c->node, err, PGY_E_MEMORY,
                      "an intermediate result is too large for memory");
    if (!st) st = workspace_alloc(&y, f->c, count, sizeof(double), err);
    if (!st) st = multiply(f, &s, left, right, y, err);
    if (st) goto done;
    mem_free(a->owned);
    compact(a, f, y, labels, rank);
    y = NULL;
done:
    mem_free(left);
    mem_free(right);
    mem_free(y);
    return st;
}

static void mark_needed(bool *needed, const equation *e, size_t from)
{
    memset(needed, 0, LABELS * sizeof *needed);
    for (size_t j = 0; j < e->out.rank; j++) needed[e->out.labels[j]] = true;
    for (size_t i = from; i < e->count; i++)
        for (size_t j = 0; j < e->in[i].rank; j++) needed[e->in[i].labels[j]] = true;
}

static pgy_status prepare(equation *e, fold *f, pgy_error *err)
{
    size_t ranks[MAX_OPERANDS];
    op_eval *c = f->c;
    pgy_status st = parse(e, c->node, err);
    if (st) return st;
    for (size_t i = 0; i < e->count; i++) {
        if (!c->inputs[i].value ||
            pgy_tensor_dtype(c->inputs[i].value) != pgy_tensor_dtype(c->inputs[0].value))
            return op_error(c->node, err, PGY_E_TYPE,
                            "input %zu is missing or has another type than input 0", i);
        ranks[i] = in_rank(c, i);
    }
    st = settle(e, c->node, ranks, err);
    if (st) return st;
    for (size_t l = 0; l < LABELS; l++) f->extents[l] = 1;
    for (size_t i = 0; i < e->count; i++)
        for (size_t j = 0; j < e->in[i].rank; j++) {
            size_t *extent = &f->extents[e->in[i].labels[j]];
            if (*extent == 1) *extent = (size_t)in_shape(c, i)[j];
        }
    f->is_float = pgy_tensor_dtype(c->inputs[0].value) == PGY_F64;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    equation e;
    fold f = {.c = c};
    operand total = {0}, next;
    bool needed[LABELS];
    pgy_status st = prepare(&e, &f, err);
    if (st) return st;
    view_input(&total, c, &e.in[0], 0);
    for (size_t i = 1; !st && i < e.count; i++) {
        view_input(&next, c, &e.in[i], i);
        mark_needed(needed, &e, i + 1);
        st = join(&f, &total, &next, needed, err);
    }
    if (!st && out_count(c, 0)) copy_sum(&f, out_data(c, 0), &total, e.out.labels, e.out.rank);
    mem_free(total.owned);
    return st;
}

/* One multiply-add per combination of labels and pair of operands. */
static double flops(const op_infer *c)
{
    equation e;
    size_t ranks[MAX_OPERANDS];
    double extents[LABELS], total = 2;
    if (parse(&e, c->node, NULL)) return 0;
    for (size_t i = 0; i < e.count; i++)
        ranks[i] = c->inputs[i].rank < 0 ? 0 : (size_t)c->inputs[i].rank;
    if (settle(&e, c->node, ranks, NULL)) return 0;
    for (size_t l = 0; l < LABELS; l++) extents[l] = 1;
    for (size_t i = 0; i < e.count; i++)
        for (size_t j = 0; j < e.in[i].rank; j++)
            extents[e.in[i].labels[j]] = (double)c->inputs[i].dims[j].value;
    for (size_t l = 0; l < LABELS; l++) total *= extents[l];
    return total;
}

#define ROW(version, words)                                                                       \
    {                                                                                             \
        "Einsum", "", version, 0, 1, 255, 1, 1, OP_VARIADIC_INPUTS | OP_SAME_TYPES, ATTRS, words, \
            infer, eval, flops                                                                    \
    }
const op_def OP_einsum[] = {ROW(12, TYPES_N11), ROW(28, TYPES_N12), {NULL}};
