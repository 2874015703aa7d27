/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of keys and values, and look-ups of texts. A table of hashes costs more than it saves if
 * only few texts are looked up. */
#include "ops/class_label.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

label_list label_list_of(const op_node *n, const char *const *names)
{
    for (; *names; names++) {
        const op_attr *a = op_attr_find(n, *names);
        if (!a) continue;
        const bool tensor = a->kind == OP_ATTR_TENSOR;
        return (label_list){a,
                            tensor                      ? a->tensor_dtype
                            : a->kind == OP_ATTR_FLOATS ? PGY_F32
                            : a->kind == OP_ATTR_INTS   ? PGY_I64
                                                        : PGY_STRING,
                            tensor ? pgy_tensor_count(a->tensor) : a->count};
    }
    return (label_list){0};
}

label_list label_keys_of(const op_node *n)
{
    static const char *const NAMES[] = {"keys_strings", "keys_int64s", "keys_floats", "keys_tensor",
                                        NULL};
    return label_list_of(n, NAMES);
}

label_list label_values_of(const op_node *n)
{
    static const char *const NAMES[] = {"values_strings", "values_int64s", "values_floats",
                                        "values_tensor", NULL};
    return label_list_of(n, NAMES);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

uint64_t label_bits_of(double value)
{
    uint64_t bits;
    if (isnan(value)) value = (double)NAN;
    if (value == 0) value = 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint64_t label_bits(pgy_dtype storage, const void *data, size_t i)
{
    return storage == PGY_I64 ? (uint64_t)((const int64_t *)data)[i]
                              : label_bits_of(((const double *)data)[i]);
}

uint64_t label_key(const label_list *l, size_t i)
{
    if (l->a->kind == OP_ATTR_TENSOR)
        return label_bits(pgy_tensor_dtype(l->a->tensor), pgy_tensor_data(l->a->tensor), i);
    if (l->dtype == PGY_I64) return (uint64_t)l->a->ints[i];
    return label_bits_of((double)l->a->floats[i]);
}

/* ---- Texts ---------------------------------------------------------------------------------- */

bool label_texts_init(label_texts *t, size_t count)
{
    *t = (label_texts){.count = count};
    t->texts = count < UINT32_MAX ? mem_calloc(count + 1, sizeof *t->texts) : NULL;
    return t->texts != NULL;
}

static size_t slot_of(const label_texts *t, const char *text, size_t size)
{
    enum { SHORT = 16 };
    const uint64_t prime = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t first = 0, last = 0;
    if (size > SHORT) return (size_t)hash_xxh64(text, size, 0) & t->mask;
    if (size >= 8) {
        memcpy(&first, text, 8);
        memcpy(&last, text + size - 8, 8);
    } else {
        for (size_t i = 0; i < size; i++) first = first << 8 | (unsigned char)text[i];
    }
    const uint64_t mixed = (first * prime ^ last ^ size) * prime;
    return (size_t)(mixed ^ mixed >> 32) & t->mask;
}

static bool is_text(const label_texts *t, size_t entry, const char *text, size_t size)
{
    const span *s = &t->texts[entry];
    return s->size == size && (!size || !memcmp(s->data, text, size));
}

bool label_texts_sort(label_texts *t, size_t lookups)
{
    enum { FEW = 8 }; /* comparisons in order that cost less than an entry of the table */
    size_t slots = 4;
    if (lookups <= FEW) return true;
    while (slots < 2 * t->count) slots *= 2;
    t->slots = mem_calloc(slots, sizeof *t->slots);
    if (!t->slots) return false;
    t->mask = slots - 1;
    for (size_t i = 0; i < t->count; i++) {
        const span *s = &t->texts[i];
        size_t at = slot_of(t, s->data, s->size);
        while (t->slots[at] && !is_text(t, t->slots[at] - 1, s->data, s->size))
            at = (at + 1) & t->mask;
        t->slots[at] = (uint32_t)i + 1;
    }
    return true;
}

size_t label_texts_find(const label_texts *t, const char *text, size_t size)
{
    if (!t->slots) {
        for (size_t i = t->count; i-- > 0;)
            if (is_text(t, i, text, size)) return i + 1;
        return 0;
    }
    size_t at = slot_of(t, text, size);
    while (t->slots[at] && !is_text(t, t->slots[at] - 1, text, size)) at = (at + 1) & t->mask;
    return t->slots[at];
}

void label_texts_deinit(label_texts *t)
{
    mem_free(t->texts);
    mem_free(t->slots);
    *t = (label_texts){0};
}

bool label_texts_read(label_texts *t, const op_attr *a, size_t lookups)
{
    const bool tensor = a && a->kind == OP_ATTR_TENSOR;
    const size_t count = !a ? 0 : tensor ? pgy_tensor_count(a->tensor) : a->count;
    const pgy_string *texts = tensor ? pgy_tensor_data(a->tensor) : NULL;
    if (!label_texts_init(t, count)) return false;
    for (size_t i = 0; i < count; i++)
        t->texts[i] = tensor ? (span){texts[i].data, texts[i].size} : a->strings[i];
    return label_texts_sort(t, lookups);
}
