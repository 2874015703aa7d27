/* SPDX-License-Identifier: Apache-2.0 */
/* Selection with eight formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/select/select.h"

static size_t sets_of(int places, uint32_t needed)
{
    static uint32_t sets[SELECT_MAX_SETS + 1];
    const uint32_t in_play = places == 32 ? UINT32_MAX : (UINT32_C(1) << places) - 1;
    sets[SELECT_MAX_SETS] = 0xabcd;
    const size_t count = select_sets(sets, in_play, needed);
    bool found = false;
    assert_int_equal(sets[SELECT_MAX_SETS], 0xabcd);
    for (size_t i = 0; i < count; i++) {
        assert_true(i ? sets[i - 1] < sets[i] : sets[i] > 0); /* each once */
        assert_int_equal(sets[i] & ~in_play, 0);
        found |= sets[i] == needed;
    }
    assert_true(found);
    return count;
}

static void test_formats__sets_of_places_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(sets_of(2, 1), 3);
    assert_int_equal(sets_of(3, 7), 7);
    assert_int_equal(sets_of(4, 15), 15);
    assert_int_equal(sets_of(5, 7), 25);
    assert_int_equal(sets_of(8, 1), 92);
    assert_int_equal(sets_of(8, 0xff), 93);
    assert_int_equal(sets_of(9, 3), 45);
    assert_int_equal(sets_of(32, 1), 528);
    assert_int_equal(sets_of(32, UINT32_MAX), SELECT_MAX_SETS);
}
