/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by operators on maps: ZipMap, DictVectorizer and CastMap. A map is an op_sequence of two
 * vectors, keys and values. */
#ifndef OPS_CLASS_MAP_H
#define OPS_CLASS_MAP_H

#include "ops/rule.h"

/* Checks that input 0 is a map, where its type is known, with the key type `key` unless that is
 * NONE. */
pgy_status map_infer(const op_infer *c, pgy_dtype key, pgy_error *err) PGY_MUST_CHECK;

/* The keys and values of input 0, which has passed map_infer. */
typedef struct map_parts {
    const pgy_tensor *keys, *values; /* in storage types */
    pgy_dtype value_type;            /* declared */
    size_t count;
} map_parts;
pgy_status map_input(map_parts *out, const op_eval *c, pgy_dtype key,
                     pgy_error *err) PGY_MUST_CHECK;

/* The keys of all maps of a ZipMap: its labels in ascending order, each once. */
typedef struct map_keys {
    pgy_tensor *keys;
    size_t *columns; /* of each key: the column with its numbers */
    size_t count;
    bool in_order; /* the columns are 0, 1, 2 ..., and there are no others */
} map_keys;
pgy_status map_keys_init(map_keys *out, const op_node *n, pgy_error *err) PGY_MUST_CHECK;
void map_keys_deinit(map_keys *k);

#endif
