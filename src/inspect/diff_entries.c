/* SPDX-License-Identifier: Apache-2.0 */
/* The list of differences, and the list of weights whose elements are compared later. */
#include <string.h>

#include "base/alloc.h"
#include "inspect/diff.h"

void diff_add(pgy_diff *d, pgy_difference e)
{
    const bool weight = e.part == PGY_DIFF_WEIGHT;
    if (!weight && d->options.weights_only) return;
    void *items = d->items;
    const bool grown = mem_grow(&items, &d->capacity, d->count + 1, sizeof *d->items);
    d->items = items;
    if (!grown) {
        d->failed = true;
        return;
    }
    if (!e.path) e.path = "";
    if (!e.name) e.name = "";
    if (!e.op_type) e.op_type = "";
    if (!e.field) e.field = "";
    diff_link_entry(d, d->count);
    d->items[d->count++] = e;
    d->summary.counts[e.part][e.change]++;
    d->summary.differences += e.change != PGY_DIFF_STORED;
}

void diff_add_texts(pgy_diff *d, pgy_difference e, const char *before, const char *after)
{
    if (before == after || (before && after && strcmp(before, after) == 0)) return;
    e.before = before;
    e.after = after;
    diff_add(d, e);
}

static const char *prop(pgy_onnx_string_entry *const *items, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i]->key, key) == 0) return items[i]->value;
    return NULL;
}

void diff_add_props(pgy_diff *d, pgy_difference e, pgy_onnx_string_entry *const *a, size_t a_count,
                    pgy_onnx_string_entry *const *b, size_t b_count)
{
    for (size_t i = 0; i < a_count; i++) { /* of a repeated key the first one counts */
        e.field = a[i]->key;
        diff_add_texts(d, e, prop(a, a_count, a[i]->key), prop(b, b_count, a[i]->key));
    }
    for (size_t i = 0; i < b_count; i++) {
        e.field = b[i]->key;
        if (!prop(a, a_count, b[i]->key)) diff_add_texts(d, e, NULL, b[i]->value);
    }
}

/* ---- Weights --------------------------------------------------------------------------------- */

void diff_add_tensors(pgy_diff *d, pgy_difference e, const pgy_onnx_tensor *a,
                      const pgy_onnx_tensor *b, bool is_attribute)
{
    void *items = d->weights;
    const bool grown =
        mem_grow(&items, &d->weight_capacity, d->weight_count + 1, sizeof *d->weights);
    d->weights = items;
    if (!grown)
        d->failed = true;
    else
        d->weights[d->weight_count++] = (diff_weight){
            .entry = e, .a = a, .b = b, .subject = d->subject, .is_attribute = is_attribute};
}

void diff_add_weight(pgy_diff *d, const char *path, const diff_value *a, const diff_value *b)
{
    pgy_difference e = {.part = PGY_DIFF_WEIGHT, .path = path, .name = a->name};
    const bool renamed = strcmp(a->name, b->name) != 0;
    d->subject = (diff_subject){.value_a = a, .value_b = b};
    if (renamed) e.new_name = b->name;
    d->summary.weights_matched++;
    if (renamed && !d->options.ignore_names && !d->options.weights_only) {
        e.change = PGY_DIFF_RENAMED;
        diff_add(d, e);
    }
    e.change = PGY_DIFF_CHANGED;
    if (!a->weight != !b->weight) {
        e.field = "form";
        e.before = a->weight ? "dense" : "sparse";
        e.after = b->weight ? "dense" : "sparse";
        diff_add(d, e);
        return;
    }
    if (a->is_constant != b->is_constant) {
        e.before = a->is_constant ? "Constant node" : "initializer";
        e.after = b->is_constant ? "Constant node" : "initializer";
    }
    if (a->weight) {
        diff_add_tensors(d, e, a->weight, b->weight, false);
    } else if (a->sparse->values && b->sparse->values && a->sparse->indices && b->sparse->indices) {
        diff_add_tensors(d, e, a->sparse->values, b->sparse->values, false);
        diff_add_tensors(d, e, a->sparse->indices, b->sparse->indices, true);
    }
}
