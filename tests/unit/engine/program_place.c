/* SPDX-License-Identifier: Apache-2.0 */
/* The arena planner on random lifetimes: never an overlap, never below the bound, and not far above
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/program/program.h"

enum { MOST = 200 };

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void check(program_interval *items, size_t count)
{
    uint64_t total = 0, bound = 0;
    assert_int_equal(program_place_intervals(items, count, &total, &bound, NULL), PGY_OK);
    assert_true(total >= bound);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].offset % 64, 0);
        assert_true(items[i].offset + items[i].size_bytes <= total);
        for (size_t k = 0; k < i; k++) {
            const bool in_time = items[i].first <= items[k].last && items[k].first <= items[i].last;
            const bool in_memory = items[i].offset < items[k].offset + items[k].size_bytes &&
                                   items[k].offset < items[i].offset + items[i].size_bytes;
            assert_false(in_time && in_memory);
        }
    }
}

static void test_program_place__no_overlap(void **state)
{
    (void)state;
    static program_interval items[MOST];
    uint64_t seed = 1;
    for (int round = 0; round < 60; round++) {
        const size_t count = next_random(&seed) % MOST;
        for (size_t i = 0; i < count; i++) {
            const uint32_t first = (uint32_t)(next_random(&seed) % 100);
            items[i] = (program_interval){.first = first,
                                          .last = first + (uint32_t)(next_random(&seed) % 12),
                                          .size_bytes = next_random(&seed) % 5000};
        }
        check(items, count);
    }
}

static void test_program_place__a_chain_needs_two_buffers(void **state)
{
    (void)state;
    program_interval items[10];
    uint64_t total, bound;
    for (uint32_t i = 0; i < 10; i++)
        items[i] = (program_interval){.first = i, .last = i + 1, .size_bytes = 640};
    assert_int_equal(program_place_intervals(items, 10, &total, &bound, NULL), PGY_OK);
    assert_int_equal(bound, 1280);
    assert_int_equal(total, 1280);
    assert_int_equal(program_place_intervals(NULL, 0, &total, &bound, NULL), PGY_OK);
    assert_int_equal(total, 0);
}
