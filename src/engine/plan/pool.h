/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a large plan section: pieces one after the other. Equal pieces are stored once. */
#ifndef ENGINE_PLAN_POOL_H
#define ENGINE_PLAN_POOL_H

#include <polygraphy/base.h>

#include "base/str.h"

typedef struct plan_piece {
    const void *data; /* borrowed */
    uint64_t size_bytes, offset;
} plan_piece;

typedef struct plan_pool {
    plan_piece *pieces; /* sorted by offset */
    size_t count, capacity;
    uint64_t size_bytes; /* includes the gaps between pieces */
    uint64_t base;       /* added to all offsets */
    strmap by_hash;      /* maps hash and size of a piece to its index in `pieces` + 1 */
} plan_pool;

void plan_pool_deinit(plan_pool *p);
/* Adds bytes, or finds equal ones; *offset is a multiple of PLAN_ALIGN. False: out of memory. */
bool plan_pool_add(uint64_t *offset, plan_pool *p, const void *data, uint64_t size_bytes);
/* Does the pool hold these bytes already? */
bool plan_pool_find(uint64_t *offset, const plan_pool *p, const void *data, uint64_t size_bytes);

#endif
