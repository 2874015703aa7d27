/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by LabelEncoder and OneHotEncoder, their definitions and their kernel: lists of keys and
 * values in attributes. */
#ifndef OPS_CLASS_LABEL_H
#define OPS_CLASS_LABEL_H

#include "ops/op.h"

/* A list (keys or values) and the attribute that holds it; one attribute exists per element type. a
 * is NULL if none is given. */
typedef struct label_list {
    const op_attr *a;
    pgy_dtype dtype; /* declared type of the elements */
    size_t count;
} label_list;

/* The first attribute of these names (which end with NULL) that the node has. */
label_list label_list_of(const op_node *n, const char *const *names);
label_list label_keys_of(const op_node *n);   /* of LabelEncoder */
label_list label_values_of(const op_node *n); /* the same */

/* The bits of a number in storage type; equal numbers have equal bits: there is one zero and one
 * NaN. */
uint64_t label_bits(pgy_dtype storage, const void *data, size_t i);
uint64_t label_bits_of(double value);
/* Those of entry i of a list of numbers. */
uint64_t label_key(const label_list *l, size_t i);

/* Texts and where they are, for look-ups: with few of them in order, else by their hash. */
typedef struct label_texts {
    span *texts; /* owned; the bytes are borrowed */
    size_t count, mask;
    uint32_t *slots; /* entry + 1, or 0; NULL: texts are looked up in order */
} label_texts;

/* For entries 0 .. count - 1, which the caller sets in t->texts before label_texts_sort. False: out
 * of memory. */
bool label_texts_init(label_texts *t, size_t count);
/* Prepares for this number of look-ups. False: out of memory. */
bool label_texts_sort(label_texts *t, size_t lookups);
/* The last entry with this text, plus 1, or 0. */
size_t label_texts_find(const label_texts *t, const char *text, size_t size);
void label_texts_deinit(label_texts *t);
/* The texts of an attribute (a list of texts, or a tensor of them; NULL: none), for `lookups`
 * look-ups. False: out of memory. */
bool label_texts_read(label_texts *t, const op_attr *a, size_t lookups);

#endif
