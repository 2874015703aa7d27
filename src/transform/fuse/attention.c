/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses softmax(scale Q K' + mask) V into Attention. The search goes back from the last product:
 * softmax, masks that are added or select, a soft cap, factors, and the product of queries and
 * keys. Inner scores may also have the shape [batch * heads, length, length]. */
#include "transform/fuse/attention.h"

enum { MAX_DEPTH = 12 };

/* Is x so low that, as a score, softmax makes it 0 next to any other score? */
static bool is_closing(const pgy_value *like, double x)
{
    return x < -1e30 || (pattern_dtype(like) == PGY_F16 && x <= -65504);
}

/* Float64 is excluded, because ONNX Runtime computes part of it in float32. */
static bool takes(pgy_dtype dtype)
{
    return dtype == PGY_F32 || dtype == PGY_F16 || dtype == PGY_BF16;
}

static attention_product product_of(const pattern *p, const pgy_node *n)
{
    if (!n) return ATTENTION_NO_PRODUCT;
    const bool plain = pattern_is(n, "MatMul");
    const int32_t rank = plain || pattern_is(n, "Einsum") ? pattern_rank(n->inputs[0]) : -1;
    if (rank < 3 || rank > 5 || (!p->standard && (rank != 4 || !plain)) || n->input_count != 2 ||
        pattern_rank(n->inputs[1]) != rank)
        return ATTENTION_NO_PRODUCT;
    return plain ? ATTENTION_MATRICES : attention_einsum(n, (size_t)rank);
}

/* ---- Scores --------------------------------------------------------------------------------- */

static bool read_scores(attention *a, pattern *p, pgy_value *v, size_t depth);

/* Does the mask fit unless a size differs that must be equal for the model to be valid? Exporters
 * name the length of a mask and that of the cache with the new keys differently. If the scores had
 * one column and the mask several, their product with the values would be refused. */
static bool may_fit(const pgy_value *mask, const pgy_value *scores, const pgy_value *result)
{
    if (pattern_rank(scores) < 0 || pattern_rank(scores) != pattern_rank(result)) return false;
    for (int32_t d = 0; d + 1 < pattern_rank(scores); d++)
        if (!pattern_same_size(scores, d, result, d)) return false;
    const int64_t has = pattern_size(mask, -1), wanted = pattern_size(scores, -1);
    return has == 1 || has < 0 || wanted < 0 || has == wanted;
}

/* True if the mask's last axis has one number per key, and adding the mask does not add axes to the
 * scores. */
static bool fits_mask(const pattern *p, attention *a, const pgy_value *mask,
                      const pgy_value *scores, const pgy_value *result)
{
    const int32_t least = p->standard ? 2 : 1;
    if (a->mask_count >= ATTENTION_MAX_MASKS || a->deep || !(a->scale > 0) ||
        (!p->standard && a->scale != 1) || pattern_rank(mask) < least ||
        pattern_rank(mask) > pattern_rank(scores))
        return false;
    if (pattern_covers(mask, -1, scores, -1) && pattern_same_shape(scores, result)) return true;
    if (!a->own || !may_fit(mask, scores, result)) return false;
    a->column = true;
    return true;
}

/* Records a mask and continues with the scores; drops the mask again if that fails. */
static bool read_masked(attention *a, pattern *p, attention_mask mask, pgy_value *scores,
                        size_t depth)
{
    const attention before = *a;
    mask.scores = scores;
    mask.factor = a->scale;
    mask.closed *= a->scale;
    a->masks[a->mask_count++] = mask;
    if (mask.chooses || a->mask_count > 1) a->plain = false;
    if (read_scores(a, p, scores, depth)) return true;
    *a = before;
    return false;
}

/* n = scores + mask, or scores - mask */
static bool read_sum(attention *a, pattern *p, const pgy_node *n, size_t depth)
{
    const bool negative = pattern_is(n, "Sub");
    for (size_t i = 0; i < (negative ? 1 : 2); i++) {
        pgy_value *scores = n->inputs[i], *mask = n->inputs[1 - i];
        if (takes(pattern_dtype(mask)) && fits_mask(p, a, mask, scores, n->outputs[0]) &&
            read_masked(a, p, (attention_mask){.v = mask, .negative = negative}, scores, depth))
            return true;
    }
    return false;
}

/* n = condition ? scores : a number far below, or the other way round */
static bool read_choice(attention *a, pattern *p, const pgy_node *n, size_t depth)
{
    for (size_t i = 1; i < 3; i++) {
        attention_mask mask = {.v = n->inputs[0], .chooses = true, .opposite = i == 2};
        pgy_value *scores = n->inputs[i];
        if (pattern_scalar(p, n->inputs[3 - i], &mask.closed) && is_closing(scores, mask.closed) &&
            pattern_dtype(mask.v) == PGY_BOOL && fits_mask(p, a, mask.v, scores, n->outputs[0]))
            return read_masked(a, p, mask, scores, depth);
    }
    return false;
}

/* n = max(scores, a number far below), which only keeps infinity away */
static bool read_floor(attention *a, pattern *p, const pgy_node *n, size_t depth)
{
    double floor;
    for (size_t i = 0; n->input_count == 2 && i < 2; i++)
        if (pattern_scalar(p, n->inputs[1 - i], &floor) && is_closing(n->inputs[i], floor))
            return read_scores(a, p, n->inputs[i], depth);
    return false;
}

/* Reads factors of the scores: constants, or one number per head. */
static bool read_factors(attention *a, pattern *p, pgy_value *v, size_t depth)
{
    const pattern_product q = pattern_factors(p, v);
    if (q.count == 1 && q.values[0] != v) {
        a->scale *= q.factor;
        return read_scores(a, p, q.values[0], depth);
    }
    for (size_t i = 0; q.count == 2 && i < 2 && p->standard && !a->gain && !a->cap; i++) {
        pgy_value *gain = q.values[i], *scores = q.values[1 - i];
        if (gain == scores || pattern_size(gain, -1) != 1 || pattern_size(gain, -2) != 1 ||
            pattern_rank(gain) > 4 || !pattern_is_inner(scores) ||
            pattern_dtype(gain) != pattern_dtype(v) || !pattern_same_shape(scores, v))
            continue;
        a->gain = gain;
        a->gained = scores;
        a->scale *= q.factor;
        a->deep = true;
        a->plain = false;
        return read_scores(a, p, scores, depth);
    }
    return false;
}

/* Reads cap * tanh(scores / cap); the outer factor has been read already. */
static bool read_cap(attention *a, pattern *p, const pgy_node *n, size_t depth)
{
    if (a->cap != 0 || a->gain || !(a->scale > 0)) return false;
    a->cap = a->scale;
    a->deep = true;
    a->plain = false;
    return read_scores(a, p, n->inputs[0], depth);
}

static bool read_scores(attention *a, pattern *p, pgy_value *v, size_t depth)
{
    if (!pattern_is_inner(v) || depth > MAX_DEPTH) return false;
    const pgy_node *n = v->producer;
    const attention_product kind = product_of(p, n);
    if (kind == ATTENTION_MATRICES || kind == ATTENTION_ROWS || kind == ATTENTION_SCORES) {
        const bool apart = kind == ATTENTION_SCORES;
        attention_read_operand(a, p, ATTENTION_Q, n->inputs[0], apart, false);
        attention_read_operand(a, p, ATTENTION_K, n->inputs[1], apart, kind == ATTENTION_MATRICES);
        return true;
    }
    if (kind == ATTENTION_LEADING_SCORES) {
        attention_read_leading(a, p, ATTENTION_Q, n->inputs[0]);
        attention_read_leading(a, p, ATTENTION_K, n->inputs[1]);
        return true;
    }
    if (pattern_is(n, "Add")) return read_sum(a, p, n, depth + 1);
    if (pattern_is(n, "Mul") || pattern_is(n, "Div")) return read_factors(a, p, v, depth + 1);
    if (!p->standard) return false;
    if (pattern_is(n, "Sub")) return read_sum(a, p, n, depth + 1);
    if (pattern_is(n, "Where")) return read_choice(a, p, n, depth + 1);
    if (pattern_is(n, "Max")) return read_floor(a, p, n, depth + 1);
    if (pattern_is(n, "Tanh")) return read_cap(a, p, n, depth + 1);
    pgy_value *seen = attention_seen_through(v, false);
    return seen && read_scores(a, p, seen, depth + 1);
}

/* ---- The softmax ---------------------------------------------------------------------------- */

/* Recognises softmax(s) with NaN replaced by 0, so that rows without any open key are 0, as in
 * Attention. */
static const pgy_node *read_guarded(pattern *p, pgy_value *v)
{
    const pgy_node *plain = pattern_inner(v, "Softmax"), *where = pattern_inner(v, "Where");
    if (plain || !where || !p->standard) return plain;
    const pgy_node *test = pattern_inner(where->inputs[0], "IsNaN"),
                   *softmax = pattern_from(where->inputs[2], "Softmax");
    const bool fits = test && softmax && test->inputs[0] == where->inputs[2] &&
                      where->inputs[2]->consumer_count == 2 && !where->inputs[2]->is_output &&
                      pattern_scalar_is(p, where->inputs[1], 0);
    return fits ? softmax : NULL;
}

/* *scores: the input of the softmax, before a Cast from 16 bits. */
static const pgy_node *read_softmax(attention *a, pattern *p, pgy_value *v, pgy_value **scores)
{
    const pgy_node *narrow = p->standard ? pattern_inner(v, "Cast") : NULL;
    const pgy_node *softmax = read_guarded(p, narrow ? narrow->inputs[0] : v);
    if (!softmax) return NULL;
    *scores = softmax->inputs[0];
    if (!narrow) return softmax;
    const pgy_node *wide = pattern_inner(*scores, "Cast");
    if (!wide || pattern_dtype(*scores) != PGY_F32 ||
        pattern_dtype(wide->inputs[0]) != pattern_dtype(v))
        return NULL;
    *scores = wide->inputs[0];
    a->wide = true;
    return softmax;
}

/* softmax(factor (x / factor - m)) with one m for each row is softmax(x): a trick against overflow.
 */
static pgy_value *unshifted(pattern *p, pgy_value *v)
{
    if (!p->standard || !pattern_is_inner(v)) return v;
    const pattern_product outer = pattern_factors(p, v);
    const pgy_node *sub = outer.count == 1 ? pattern_from(outer.values[0], "Sub") : NULL;
    if (!sub || pattern_size(sub->inputs[1], -1) != 1 || !pattern_same_shape(sub->inputs[0], v))
        return v;
    const pattern_product inner = pattern_factors(p, sub->inputs[0]);
    return inner.count == 1 && inner.values[0] != sub->inputs[0] &&
                   pattern_close(v, outer.factor * inner.factor, 1)
               ? inner.values[0]
               : v;
}

static pgy_value *whole_view(const pattern *p, pgy_value *v)
{
    pgy_value *seen = p->standard ? attention_seen_through(v, false) : NULL;
    return seen ? seen : v;
}

/* ---- Does it fit? --------------------------------------------------------------------------- */

static bool same_lead(attention_lead a, attention_lead b)
{
    return dim_equal(a.batch, b.batch) && dim_equal(a.heads, b.heads);
}

/* Do the numbers of heads allow several query heads to share each key or value head? */
static bool shares(const pattern *p, bool own, attention_lead query, attention_lead heads)
{
    if (!dim_equal(query.batch, heads.batch)) return false;
    if (dim_equal(query.heads, heads.heads)) return true;
    return (p->standard || own) && dim_is_const(query.heads) && dim_is_const(heads.heads) &&
           heads.heads.value > 0 && query.heads.value % heads.heads.value == 0;
}

/* Do all operands, masks and gains agree in batch and heads? */
static bool agree(attention *a, const pattern *p)
{
    attention_lead k, v, other;
    const attention_operand *of = a->of;
    for (size_t i = 0; i < ATTENTION_OPERANDS; i++)
        if (!takes(pattern_dtype(of[i].v))) return false;
    if (!(a->scale > 0) || !attention_operand_lead(&a->lead, &of[ATTENTION_Q]) ||
        !attention_operand_lead(&k, &of[ATTENTION_K]) ||
        !attention_operand_lead(&v, &of[ATTENTION_V]) || !same_lead(k, v) ||
        !shares(p, a->own, a->lead, k))
        return false;
    if (a->gain && (!attention_lead_of(&other, a->gained) || !same_lead(other, a->lead)))
        return false;
    return (p->standard || a->plain) && attention_masks_fit(a, p);
}

static bool recognise(attention *a, pattern *p, pgy_node *n, bool grouped, bool own)
{
    *a = (attention){.scale = 1, .plain = true, .grouped = grouped, .own = own};
    const attention_product kind = product_of(p, n);
    if ((kind != ATTENTION_MATRICES && kind != ATTENTION_VALUES &&
         kind != ATTENTION_LEADING_VALUES) ||
        !takes(pattern_dtype(n->outputs[0])) || pgy_graph_opset(n->graph, "") < 23)
        return false;
    pgy_value *scores = NULL;
    const pgy_node *softmax = read_softmax(a, p, whole_view(p, n->inputs[0]), &scores);
    const int64_t axis = softmax ? pattern_int(softmax, "axis", -1) : 0;
    if (!softmax || (axis != -1 && axis != pattern_rank(softmax->outputs[0]) - 1) ||
        !read_scores(a, p, unshifted(p, scores), 0))
        return false;
    if (kind == ATTENTION_LEADING_VALUES)
        attention_read_leading(a, p, ATTENTION_V, n->inputs[1]);
    else
        attention_read_operand(a, p, ATTENTION_V, n->inputs[1], kind == ATTENTION_VALUES, false);
    attention_split_cache(a, p);
    return agree(a, p);
}

bool fuse_attention(pattern *p, pgy_node *n)
{
    attention a;
    return (recognise(&a, p, n, p->standard, false) ||
            (p->standard && recognise(&a, p, n, false, false))) &&
           attention_make(&a, p, n);
}

bool fuse_attention_own(pattern *p, pgy_node *n)
{
    attention a;
    return (recognise(&a, p, n, true, true) || recognise(&a, p, n, false, true)) &&
           attention_make(&a, p, n);
}
