/* SPDX-License-Identifier: Apache-2.0 */
/* Caches of Attention: keys and values that a Concat makes of a cache and new rows, and that are
 * outputs of the graph. Attention joins them itself then, in the caller's buffer if there is one.
 * Nodes that read the shape of such an output compute it from the shapes of both parts, because the
 * mask often depends on it, and Attention on the mask. */
#include "transform/fuse/attention.h"

enum { LENGTHS = 2, RANK = 4 };

static bool reads_shape(const pgy_node *reader, const pgy_value *v)
{
    return pattern_is(reader, "Shape") && reader->graph == v->producer->graph;
}

static bool is_read_for_shapes(const pgy_value *v)
{
    for (size_t i = 0; i < v->consumer_count; i++)
        if (!reads_shape(v->consumers[i], v)) return false;
    return true;
}

/* Does the node only cast v to the type of an output? Layers in 16 bits leave that to a Cast. */
static bool casts_to_output(const pgy_node *reader, const pgy_value *v)
{
    return pattern_is(reader, "Cast") && reader->graph == v->producer->graph &&
           reader->outputs[0]->is_output && is_read_for_shapes(reader->outputs[0]);
}

/* Is v, or what a Cast makes of it, an output, and does one other node alone read its elements? */
static bool is_new_cache(const pgy_value *v)
{
    size_t count = 0, casts = 0;
    for (size_t i = 0; i < v->consumer_count; i++) {
        const bool cast = !v->is_output && casts_to_output(v->consumers[i], v);
        casts += cast;
        count += !cast && !reads_shape(v->consumers[i], v);
    }
    return count == 1 && (v->is_output ? !casts : casts == 1);
}

/* The Concat that makes v, [batch, heads, length, size], from a cache and new rows, or NULL. */
static pgy_node *joined_from_cache(const attention_operand *o)
{
    pgy_node *n = pattern_from(o->v, "Concat");
    if (!n || n->input_count != 2 || pattern_rank(o->v) != 4 || o->turned || o->lies_apart ||
        o->leads || !is_new_cache(o->v) || o->v->producer->graph != n->graph)
        return NULL;
    const int64_t axis = pattern_int(n, "axis", 0);
    if (axis != 2 && axis != -2) return NULL;
    for (int32_t d = 0; d < 4; d++)
        if (d != 2 && !pattern_same_size(n->inputs[0], d, n->inputs[1], d)) return NULL;
    return n;
}

void attention_split_cache(attention *a, pattern *p)
{
    attention_operand *k = &a->of[ATTENTION_K], *v = &a->of[ATTENTION_V];
    pgy_node *keys = joined_from_cache(k), *values = joined_from_cache(v);
    if (!(p->standard || a->own) || !keys || !values || keys == values ||
        !pattern_same_size(keys->inputs[0], 2, values->inputs[0], 2))
        return;
    const attention before = *a;
    attention_read_operand(a, p, ATTENTION_K, keys->inputs[1], false, false);
    attention_read_operand(a, p, ATTENTION_V, values->inputs[1], false, false);
    if (!a->own) a->plain = false;
    if (a->scale != before.scale || k->v != keys->inputs[1] || v->v != values->inputs[1]) {
        /* Operations on the new keys alone stay outside of Attention. */
        *a = before;
        *k = (attention_operand){.v = keys->inputs[1]};
        *v = (attention_operand){.v = values->inputs[1]};
    }
    k->joined = keys;
    v->joined = values;
}

/* A part whose Cast is not needed for its shape. */
static pgy_value *part_of(const pgy_node *joined, size_t i)
{
    pgy_node *cast = pattern_from(joined->inputs[i], "Cast");
    return cast ? cast->inputs[0] : joined->inputs[i];
}

/* Makes a Shape node of one part with the attributes of n. */
static pgy_value *shape_of(pattern *p, pgy_node *n, pgy_value *part)
{
    pgy_value *made = pattern_make(p, n, NULL, "Shape", &part, 1);
    if (!made) return NULL;
    pattern_copy(p, made->producer, n, "start");
    pattern_copy(p, made->producer, n, "end");
    return made;
}

static int64_t place_of(int64_t at)
{
    if (at < 0) at += RANK;
    return at < 0 ? 0 : at > RANK ? RANK : at;
}

/* Shape n of what the Concat makes is Shape(cache) + Shape(new rows) * [0, 0, 1, 0]. */
static void put_shape(pattern *p, pgy_node *n, const pgy_node *joined)
{
    const int64_t start = place_of(pattern_int(n, "start", 0)),
                  end = place_of(pattern_int(n, "end", RANK));
    int64_t counts[RANK] = {0};
    if (start > LENGTHS || end <= LENGTHS) {
        pgy_value *past = part_of(joined, 0);
        pgy_node *made = pattern_put(p, n, "Shape", &past, 1);
        pattern_set_int(p, made, "start", start);
        pattern_set_int(p, made, "end", end);
        return;
    }
    counts[LENGTHS - start] = 1;
    pgy_value *const factors[] = {shape_of(p, n, part_of(joined, 1)),
                                  pattern_list(p, n, NULL, counts, (size_t)(end - start))};
    pgy_value *const terms[] = {shape_of(p, n, part_of(joined, 0)),
                                pattern_make(p, n, NULL, "Mul", factors, 2)};
    if (terms[0] && terms[1]) (void)pattern_put(p, n, "Add", terms, 2);
}

static void free_shapes_of(pattern *p, const pgy_value *v, const pgy_node *joined)
{
    for (size_t i = v->consumer_count; !p->status && i-- > 0;)
        if (i < v->consumer_count && reads_shape(v->consumers[i], v))
            put_shape(p, v->consumers[i], joined);
}

void attention_free_shapes(pattern *p, const pgy_node *joined)
{
    const pgy_value *v = joined->outputs[0];
    free_shapes_of(p, v, joined);
    for (size_t i = 0; i < v->consumer_count; i++)
        if (casts_to_output(v->consumers[i], v))
            free_shapes_of(p, v->consumers[i]->outputs[0], joined);
}
