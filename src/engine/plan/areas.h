/* SPDX-License-Identifier: Apache-2.0 */
/* The host's constants of a plan. Float32 numbers that all are float16 or bfloat16 numbers, such as
 * the weights that --fp16 rounds, take half the bytes in the file: what kernels read is widened
 * when the plan is opened. Whether words qualify depends on their bits alone, not on what they
 * mean. */
#ifndef ENGINE_PLAN_AREAS_H
#define ENGINE_PLAN_AREAS_H

#include <polygraphy/onnx.h>

#include "base/file.h"
#include "engine/plan/format.h"
#include "engine/plan/pool.h"

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct area_pools {
    plan_pool pools[PLAN_AREA_END]; /* indexed by plan_area */
    bool plain_only;                /* stripped plans have no bytes to save */
} area_pools;
void area_pools_init(area_pools *a, bool plain_only);
void area_pools_deinit(area_pools *a);
bool area_pools_add(uint64_t *offset, area_pools *a, const void *data, uint64_t size_bytes);
bool area_pools_find(uint64_t *offset, const area_pools *a, const void *data, uint64_t size_bytes);
uint64_t area_pools_bytes(const area_pools *a); /* in memory */

/* Stores words of an area that is not plain; count is a multiple of 2, `to` has half their bytes.
 */
void area_narrow(void *to, const void *words, size_t count, plan_area area);

/* ---- Reading --------------------------------------------------------------------------------- */

static inline plan_area area_of(uint64_t offset)
{
    return (plan_area)(offset >> PLAN_AREA_SHIFT);
}

static inline uint64_t area_place(uint64_t offset)
{
    return offset & ((UINT64_C(1) << PLAN_AREA_SHIFT) - 1);
}

/* The constants in memory, indexed by plan_area. */
typedef struct area_bytes {
    pgy_bytes at[PLAN_AREA_END];
} area_bytes;
/* Is the range within its area? */
bool area_bytes_hold(const area_bytes *a, uint64_t offset, uint64_t size_bytes);
/* The bytes of a range that area_bytes_hold accepts; NULL: it is empty, in an absent section. */
const void *area_bytes_at(const area_bytes *a, uint64_t offset);
/* Widens a section into new memory, a block of huge pages where there are any. `map`: the file that
 * the section lies in; its pages are given back. NULL: it lies in other memory. */
pgy_status area_widen(pgy_bytes *out, const file_map *map, const void *section, uint64_t size_bytes,
                      plan_area area, pgy_error *err) PGY_MUST_CHECK;
void area_release(pgy_bytes *wide);

#endif
