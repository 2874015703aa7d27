/* SPDX-License-Identifier: Apache-2.0 */
/* softmax(scale Q K' + mask) V written out becomes Attention. Where queries, keys, values and the
 * result are transposed between [batch, length, heads, size] and [batch, heads, length, size],
 * Attention takes them as they lie. */
#include <string.h>

#include "transform/fuse/fuse.h"

enum { Q, K, V, MASK, INPUTS };

/* What was recognised. */
typedef struct attention {
    pgy_value *in[INPUTS];    /* [batch, heads, length, size]; K may be turned */
    pgy_value *apart[INPUTS]; /* the same as [batch, length, heads, size], or NULL */
    pgy_value *more;          /* another mask, or NULL */
    bool turned;              /* K is [batch, heads, size, length] */
    double scale;
} attention;

static bool has_perm(const pgy_node *n, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const pgy_onnx_attribute *perm = n ? node_attribute(n, "perm") : NULL;
    return perm && perm->int_count == 4 && perm->ints[0] == a && perm->ints[1] == b &&
           perm->ints[2] == c && perm->ints[3] == d;
}

/* v without a constant factor, which goes into the scale. */
static pgy_value *unscaled(pattern *p, pgy_value *v, double *scale)
{
    if (!pattern_is_inner(v)) return v;
    const pattern_product q = pattern_factors(p, v);
    if (q.count != 1) return v;
    *scale *= q.factor;
    return q.values[0];
}

static void read_operand(attention *a, size_t i, pgy_value *v)
{
    const pgy_node *t = pattern_from(v, "Transpose");
    a->in[i] = v;
    if (has_perm(t, 0, 2, 1, 3)) a->apart[i] = t->inputs[0];
}

static void read_keys(attention *a, pgy_value *v)
{
    const pgy_node *t = pattern_from(v, "Transpose");
    a->turned = !has_perm(t, 0, 1, 3, 2);
    if (!a->turned)
        read_operand(a, K, t->inputs[0]);
    else
        a->in[K] = v;
    if (has_perm(t, 0, 2, 3, 1)) a->apart[K] = t->inputs[0];
}

static bool is_product(const pgy_node *n)
{
    return n && pattern_is(n, "MatMul") && pattern_rank(n->inputs[0]) == 4 &&
           pattern_rank(n->inputs[1]) == 4;
}

/* Scores without mask: a product, perhaps times a number. */
static bool read_scores(attention *a, pattern *p, pgy_value *v)
{
    a->scale = 1;
    const pgy_node *n = pattern_inner(unscaled(p, v, &a->scale), "MatMul");
    if (!pattern_is_inner(v) || !is_product(n)) return false;
    read_operand(a, Q, unscaled(p, n->inputs[0], &a->scale));
    read_keys(a, unscaled(p, n->inputs[1], &a->scale));
    return true;
}

/* The engine computes it in float32; float64 is left alone, as ONNX Runtime computes part of it in
 * float32. */
static bool takes(const pattern *p, pgy_dtype dtype)
{
    return dtype == PGY_F32 || (p->standard && (dtype == PGY_F16 || dtype == PGY_BF16));
}

/* The mask has a number for each key, and gives the scores no more axes. */
static bool fits_mask(const pattern *p, const pgy_value *mask, const pgy_value *scores,
                      const pgy_value *sum)
{
    const int32_t least = p->standard ? 2 : 1;
    return takes(p, pattern_dtype(mask)) && pattern_rank(mask) >= least &&
           pattern_rank(mask) <= 4 && pattern_same_size(mask, -1, scores, -1) &&
           pattern_same_shape(scores, sum);
}

/* v = scores + mask, where scores are what `read` reads. */
static bool read_sum(attention *a, pattern *p, pgy_value *v, pgy_value **mask,
                     bool (*read)(attention *a, pattern *p, pgy_value *v))
{
    const pgy_node *add = pattern_inner(v, "Add");
    for (size_t i = 0; add && i < 2; i++) {
        pgy_value *other = add->inputs[1 - i];
        memset(a, 0, sizeof *a);
        if (!fits_mask(p, other, add->inputs[i], v) || !read(a, p, add->inputs[i])) continue;
        *mask = other;
        return true;
    }
    return false;
}

/* Scores with a mask. */
static bool read_once(attention *a, pattern *p, pgy_value *v)
{
    return read_sum(a, p, v, &a->in[MASK], read_scores);
}

static bool read_masked(attention *a, pattern *p, pgy_value *v)
{
    if (!pattern_inner(v, "Add")) return read_scores(a, p, v);
    return read_once(a, p, v) || (p->standard && read_sum(a, p, v, &a->more, read_once));
}

/* One head of keys and values for all queries? */
static bool is_shared(const attention *a)
{
    return pattern_size(a->in[K], 1) == 1 && pattern_size(a->in[V], 1) == 1;
}

/* Are batches and heads the same everywhere? */
static bool agree(const pattern *p, const attention *a, const pgy_node *n)
{
    for (size_t i = Q; i <= V; i++)
        if (!takes(p, pattern_dtype(a->in[i])) ||
            !pattern_same_size(a->in[i], 0, n->outputs[0], 0) ||
            (!pattern_same_size(a->in[i], 1, n->outputs[0], 1) &&
             !(p->standard && i != Q && is_shared(a))))
            return false;
    return a->scale > 0;
}

static bool recognise(attention *a, pattern *p, pgy_node *n)
{
    *a = (attention){0};
    if (!is_product(n) || !takes(p, pattern_dtype(n->outputs[0])) ||
        pgy_graph_opset(n->graph, "") < 23)
        return false;
    const pgy_node *softmax = pattern_inner(n->inputs[0], "Softmax");
    const int64_t axis = softmax ? pattern_int(softmax, "axis", -1) : 0;
    if ((axis != -1 && axis != 3) || !read_masked(a, p, softmax->inputs[0])) return false;
    read_operand(a, V, n->inputs[1]);
    return agree(p, a, n);
}

/* ---- Making --------------------------------------------------------------------------------- */

static pgy_value *new_value(pattern *p, const pgy_node *n)
{
    pgy_value *v = value_create_unique(n->graph, n->outputs[0]->name, p->err);
    if (!v && !p->status) p->status = PGY_E_MEMORY;
    return v;
}

static pgy_value *transpose(pattern *p, pgy_node *n, pgy_value *v, int64_t b, int64_t c, int64_t d)
{
    pgy_value *made = new_value(p, n);
    if (!made) return NULL;
    const int64_t perm[] = {0, b, c, d};
    pattern_set_ints(p, pattern_add(p, n, "Transpose", &v, 1, made), "perm", perm, 4);
    return made;
}

/* The sizes behind batch and length. */
static pgy_value *sizes(pattern *p, const pgy_node *n, int64_t first, int64_t second)
{
    pgy_value *list = NULL;
    const int64_t shape[] = {0, 0, first, second};
    const pgy_status st =
        fold_make_ints(&list, &p->f, n->graph, n->outputs[0]->name, shape, second ? 4 : 3, p->err);
    if (st && !p->status) p->status = st;
    return list;
}

/* Heads side by side in a row; they often were before. */
static pgy_value *flat(pattern *p, pgy_node *n, pgy_value *v, int64_t heads, int64_t size)
{
    const pgy_node *cut = pattern_from(v, "Reshape");
    if (heads < 1 || size > INT64_MAX / heads) return NULL;
    if (cut && pattern_rank(cut->inputs[0]) == 3 && pattern_same_size(cut->inputs[0], 0, v, 0) &&
        pattern_same_size(cut->inputs[0], 1, v, 1) &&
        pattern_size(cut->inputs[0], 2) == heads * size)
        return cut->inputs[0];
    pgy_value *inputs[] = {v, sizes(p, n, heads * size, 0)}, *made = new_value(p, n);
    return made && inputs[1] && pattern_add(p, n, "Reshape", inputs, 2, made) ? made : NULL;
}

/* With Q, K, V and the result [batch, length, heads, size]. */
static bool put_apart(pattern *p, pgy_node *n, const attention *a, pgy_node *user)
{
    const int64_t heads = pattern_size(a->in[Q], 1), shared = pattern_size(a->in[K], 1);
    pgy_value *in[INPUTS] = {NULL, NULL, NULL, a->in[MASK]}, *y = new_value(p, n);
    const int64_t last = pattern_size(n->outputs[0], 3);
    for (size_t i = Q; i <= V; i++)
        in[i] = flat(p, n, a->apart[i], i == Q ? heads : shared, pattern_size(a->apart[i], 3));
    if (!in[Q] || !in[K] || !in[V] || !y) return false;
    pgy_node *made = pattern_add(p, n, "Attention", in, INPUTS, y);
    pattern_set_int(p, made, "q_num_heads", heads);
    pattern_set_int(p, made, "kv_num_heads", shared);
    pattern_set_float(p, made, "scale", a->scale);
    pgy_value *inputs[] = {y, sizes(p, n, heads, last)};
    return inputs[1] && pattern_put(p, user, "Reshape", inputs, 2);
}

/* The number of queries as a list of one, made where it is needed. */
static pgy_value *length_of(pattern *p, pgy_node *n, pgy_value *q)
{
    pgy_value *made = new_value(p, n);
    pgy_node *shape = made ? pattern_add(p, n, "Shape", &q, 1, made) : NULL;
    pattern_set_int(p, shape, "start", 2);
    pattern_set_int(p, shape, "end", 3);
    return shape ? made : NULL;
}

static pgy_value *ints(pattern *p, const pgy_node *n, const int64_t *values, size_t count)
{
    pgy_value *list = NULL;
    const pgy_status st =
        fold_make_ints(&list, &p->f, n->graph, n->outputs[0]->name, values, count, p->err);
    if (st && !p->status) p->status = st;
    return list;
}

/* ONNX Runtime wants a row of the mask for each query: a single one is repeated. */
static bool widen_mask(attention *a, pattern *p, pgy_node *n)
{
    static const int64_t ONES[] = {1, 1};
    pgy_value *mask = a->in[MASK], *shape;
    const bool single = pattern_size(mask, -2) == 1 && (!a->more || pattern_size(a->more, -2) == 1),
               whole = pattern_same_size(mask, -2, a->in[Q], 2) ||
                       pattern_same_size(a->more, -2, a->in[Q], 2);
    if (!p->standard || !mask) return true;
    if (!single && !whole) return false;
    if (a->more) {
        pgy_value *terms[] = {mask, a->more};
        mask = a->in[MASK] = new_value(p, n);
        if (!mask || !pattern_add(p, n, "Add", terms, 2, mask)) return false;
    }
    if (whole) return true;
    const int64_t length = pattern_size(a->in[Q], 2), sizes[] = {length, 1};
    if (length > 0) {
        shape = ints(p, n, sizes, 2);
    } else {
        pgy_value *parts[] = {length_of(p, n, a->in[Q]), ints(p, n, ONES, 1)};
        shape = parts[0] && parts[1] ? new_value(p, n) : NULL;
        pattern_set_int(p, shape ? pattern_add(p, n, "Concat", parts, 2, shape) : NULL, "axis", 0);
    }
    pgy_value *inputs[] = {mask, shape};
    a->in[MASK] = shape ? new_value(p, n) : NULL;
    return a->in[MASK] && pattern_add(p, n, "Expand", inputs, 2, a->in[MASK]);
}

bool fuse_attention(pattern *p, pgy_node *n)
{
    attention a;
    if (!recognise(&a, p, n) || !widen_mask(&a, p, n)) return false;
    bool apart = pattern_size(a.in[Q], 1) > 0 && pattern_size(a.in[K], 1) > 0 &&
                 pattern_size(n->outputs[0], 3) > 0;
    for (size_t i = Q; i <= V; i++) apart = apart && a.apart[i] && pattern_size(a.apart[i], 3) > 0;
    pgy_node *user = pattern_user(n);
    if (apart && user && pattern_is(user, "Transpose") && has_perm(user, 0, 2, 1, 3))
        return put_apart(p, n, &a, user);
    if (a.turned)
        a.in[K] =
            a.apart[K] ? transpose(p, n, a.apart[K], 2, 1, 3) : transpose(p, n, a.in[K], 1, 3, 2);
    if (!a.in[K]) return false;
    pgy_node *made = pattern_put(p, n, "Attention", a.in, INPUTS);
    pattern_set_float(p, made, "scale", a.scale);
    return made != NULL;
}
