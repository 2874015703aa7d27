/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft PagedAttention: attention of packed sequences whose keys and values lie in blocks.
 */
#ifndef OPS_CLASS_PAGED_ATTENTION_H
#define OPS_CLASS_PAGED_ATTENTION_H

#include "ops/class_paged_cache.h"

enum {
    PAGED_QUERY,
    PAGED_KEY,
    PAGED_VALUE,
    PAGED_KEY_CACHE,
    PAGED_VALUE_CACHE,
    PAGED_FIRSTS, /* the first token of each sequence, and the number of all */
    PAGED_PASTS,
    PAGED_TABLE,
    PAGED_COS,
    PAGED_SIN,
    PAGED_SLOTS,
    PAGED_SINK,
    PAGED_Q_NORM,
    PAGED_K_NORM,
    PAGED_KEY_SCALE,
    PAGED_VALUE_SCALE,
    PAGED_BOUNDS, /* hints for an accelerator */
    PAGED_INPUTS
};

extern const paged_names PAGED_KEYS, PAGED_VALUES;

/* Do values lie in the first elements of the keys? */
bool paged_is_latent(const op_node *n);
pgy_status paged_attention_eval(op_eval *c, pgy_error *err) PGY_MUST_CHECK;

#endif
