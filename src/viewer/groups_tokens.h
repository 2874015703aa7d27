/* SPDX-License-Identifier: Apache-2.0 */
/* Describes pieces of a graph by tokens: two pieces with the same tokens are equal but for names
 * and values, place by place. */
#ifndef VIEWER_GROUPS_TOKENS_H
#define VIEWER_GROUPS_TOKENS_H

#include "viewer/groups.h"

typedef struct group_tokens {
    uint64_t *items;
    size_t count, room;
} group_tokens;

typedef struct tokenizer {
    grouping *s;
    uint64_t *node_hash;               /* of nodes: operator, attributes, types */
    uint32_t *output_index;            /* of tensors */
    uint32_t *place, *place_stamp;     /* of nodes of the current piece */
    uint32_t *outside, *outside_stamp; /* of tensors that it reads from outside */
    uint32_t stamp, place_count, outside_count;
    group_tokens *out;
    bool failed;
} tokenizer;

bool tokenizer_start(tokenizer *x, grouping *s);
/* Writes the tokens of some children of a container; later x->place_count is the number of nodes in
 * them. False: out of memory. */
bool tokenizer_read(tokenizer *x, group_tokens *out, const view_item *items, uint32_t count);

#endif
