/* SPDX-License-Identifier: Apache-2.0 */
/* Maps as inputs of operators, and the keys of ZipMap. */
#include "ops/class_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_scores.h"

pgy_status map_infer(const op_infer *c, pgy_dtype key, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    if (x->dtype || x->sequence)
        return op_error(c->node, err, PGY_E_TYPE, "input 0 must be a map, not a %s",
                        x->sequence ? "sequence" : "tensor");
    if (!key || !x->map_key || x->map_key == key) return PGY_OK;
    return op_error(c->node, err, PGY_E_TYPE, "the keys of input 0 have type %s, but must have %s",
                    pgy_dtype_name(x->map_key), pgy_dtype_name(key));
}

pgy_status map_input(map_parts *out, const op_eval *c, pgy_dtype key, pgy_error *err)
{
    const op_sequence *map = c->inputs[0].sequence;
    if (!map || !map->map || !map->items[0].value || !map->items[1].value)
        return op_error(c->node, err, PGY_E_TYPE, "input 0 must be a map");
    if (map->items[0].dtype != key)
        return op_error(c->node, err, PGY_E_TYPE,
                        "the keys of input 0 have type %s, but must have %s",
                        pgy_dtype_name(map->items[0].dtype), pgy_dtype_name(key));
    *out = (map_parts){map->items[0].value, map->items[1].value, map->items[1].dtype,
                       pgy_tensor_count(map->items[0].value)};
    if (pgy_tensor_count(out->values) == out->count) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE, "input 0 has %zu keys, but %zu values", out->count,
                    pgy_tensor_count(out->values));
}

/* ---- The keys of ZipMap --------------------------------------------------------------------- */

typedef struct label {
    span text;
    int64_t number;
    size_t column;
} label;

static int compare(const void *a, const void *b)
{
    const label *x = a, *y = b;
    const size_t least = x->text.size < y->text.size ? x->text.size : y->text.size;
    int order = least ? memcmp(x->text.data, y->text.data, least) : 0;
    if (!order) order = (x->text.size > y->text.size) - (x->text.size < y->text.size);
    if (!order) order = (x->number > y->number) - (x->number < y->number);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

static bool same(const label *a, const label *b)
{
    return span_equal(a->text, b->text) && a->number == b->number;
}

/* The labels in ascending order, each once; NULL: out of memory. */
static label *sorted_labels(size_t *count, const scores_labels l)
{
    label *list = mem_calloc(l.count + 1, sizeof *list);
    if (!list) return NULL;
    for (size_t i = 0; i < l.count; i++) {
        list[i].column = i;
        if (l.texts)
            list[i].text = l.texts[i];
        else
            list[i].number = l.ints[i];
    }
    if (l.count) qsort(list, l.count, sizeof *list, compare);
    *count = 0;
    for (size_t i = 0; i < l.count; i++) {
        if (*count && same(&list[*count - 1], &list[i])) --*count;
        list[(*count)++] = list[i];
    }
    return list;
}

static pgy_status make_keys(pgy_tensor **out, const label *labels, size_t count, bool texts,
                            pgy_error *err)
{
    const int64_t shape[] = {(int64_t)count};
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_create(&t, texts ? PGY_STRING : PGY_I64, 1, shape, err);
    for (size_t i = 0; !st && i < count; i++) {
        if (texts)
            st = pgy_tensor_set_string(t, i, labels[i].text.data, labels[i].text.size, err);
        else
            op_i64(t)[i] = labels[i].number;
    }
    if (st)
        pgy_tensor_release(t);
    else
        *out = t;
    return st;
}

pgy_status map_keys_init(map_keys *out, const op_node *n, pgy_error *err)
{
    const scores_labels l = scores_labels_of(n, "classlabels_strings", "classlabels_int64s");
    map_keys made = {.in_order = true};
    label *labels = sorted_labels(&made.count, l);
    made.columns = labels ? mem_calloc(made.count + 1, sizeof *made.columns) : NULL;
    pgy_status st = made.columns ? PGY_OK : rule_no_memory(n, err);
    if (!st) st = make_keys(&made.keys, labels, made.count, l.texts != NULL, err);
    for (size_t i = 0; !st && i < made.count; i++) {
        made.columns[i] = labels[i].column;
        made.in_order &= labels[i].column == i;
    }
    made.in_order &= made.count == l.count;
    mem_free(labels);
    if (st)
        map_keys_deinit(&made);
    else
        *out = made;
    return st;
}

void map_keys_deinit(map_keys *k)
{
    pgy_tensor_release(k->keys);
    mem_free(k->columns);
    *k = (map_keys){0};
}
