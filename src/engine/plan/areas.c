/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are widened in stretches, and each stretch's pages of the file are given back, so that
 * opening a plan does not hold both forms of all weights. */
#include "engine/plan/areas.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/half.h"

enum { WIDEN_STRETCH = 1 << 22 }; /* numbers between two looks at the cancellation */

static pgy_dtype type_of(plan_area area)
{
    return area == PLAN_AREA_F16 ? PGY_F16 : PGY_BF16;
}

static const half_loops *loops_of(plan_area area)
{
    return half_loops_of(type_of(area), CPU_AVX512);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static plan_area choose(const area_pools *a, const void *data, uint64_t size_bytes)
{
    if (a->plain_only || !size_bytes || size_bytes % (2 * sizeof(float))) return PLAN_AREA_PLAIN;
    for (plan_area area = PLAN_AREA_F16; area <= PLAN_AREA_BF16; area++)
        if (half_holds(type_of(area), data, size_bytes)) return area;
    return PLAN_AREA_PLAIN;
}

void area_pools_init(area_pools *a, bool plain_only)
{
    *a = (area_pools){.plain_only = plain_only};
    for (uint64_t i = 0; i < PLAN_AREA_END; i++) a->pools[i].base = i << PLAN_AREA_SHIFT;
}

void area_pools_deinit(area_pools *a)
{
    for (size_t i = 0; i < PLAN_AREA_END; i++) plan_pool_deinit(&a->pools[i]);
}

bool area_pools_add(uint64_t *offset, area_pools *a, const void *data, uint64_t size_bytes)
{
    return plan_pool_add(offset, &a->pools[choose(a, data, size_bytes)], data, size_bytes);
}

bool area_pools_find(uint64_t *offset, const area_pools *a, const void *data, uint64_t size_bytes)
{
    return plan_pool_find(offset, &a->pools[choose(a, data, size_bytes)], data, size_bytes);
}

uint64_t area_pools_bytes(const area_pools *a)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < PLAN_AREA_END; i++) sum += a->pools[i].size_bytes;
    return sum;
}

void area_narrow(void *to, const void *words, size_t count, plan_area area)
{
    loops_of(area)->narrow(to, words, count);
}

/* ---- Reading --------------------------------------------------------------------------------- */

bool area_bytes_hold(const area_bytes *a, uint64_t offset, uint64_t size_bytes)
{
    const plan_area area = area_of(offset);
    if (area >= PLAN_AREA_END) return false;
    const uint64_t size = a->at[area].size, place = area_place(offset);
    return place <= size && size_bytes <= size - place;
}

const void *area_bytes_at(const area_bytes *a, uint64_t offset)
{
    const unsigned char *data = a->at[area_of(offset)].data;
    return data ? data + area_place(offset) : NULL; /* a plan may name bytes of an absent section */
}

/* Calls `with`, which is file_map_need or file_map_forget, for the pages that hold the numbers. */
static void touch(const file_map *map, const uint16_t *from, size_t count,
                  void (*with)(const file_map *map, size_t offset, size_t size_bytes))
{
    if (map)
        with(map, (size_t)((const char *)from - (const char *)map->data), count * sizeof *from);
}

pgy_status area_widen(pgy_bytes *out, const file_map *map, const void *section, uint64_t size_bytes,
                      plan_area area, pgy_error *err)
{
    if (!size_bytes) return PGY_OK;
    float *wide = mem_alloc_block(2 * size_bytes);
    if (!wide)
        return pgy_error_set(err, PGY_E_MEMORY,
                             "out of memory for the %llu bytes of a plan's weights",
                             (unsigned long long)(2 * size_bytes));
    *out = (pgy_bytes){.data = (void *)wide, .size = 2 * size_bytes};
    const size_t count = size_bytes / sizeof(uint16_t);
    for (size_t i = 0; i < count && !cancel_requested(); i += WIDEN_STRETCH) {
        const uint16_t *from = (const uint16_t *)section + i;
        const size_t part = count - i < WIDEN_STRETCH ? count - i : WIDEN_STRETCH;
        touch(map, from, part, file_map_need);
        loops_of(area)->widen(wide + i, from, part);
        touch(map, from, part, file_map_forget);
    }
    return cancel_check(err);
}

void area_release(pgy_bytes *wide)
{
    mem_free_block((void *)wide->data, wide->size);
    *wide = (pgy_bytes){0};
}
