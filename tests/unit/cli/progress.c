/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/progress.h"

static void test_progress__waits_a_second(void **state)
{
    (void)state;
    char text[96];
    progress p = {.asks_per_iteration = 3, .iterations = 10};
    int64_t start = 5000000000;
    assert_false(progress_text(text, sizeof text, &p, start));
    for (int i = 0; i < 5; i++)
        assert_false(progress_text(text, sizeof text, &p, start + 100000000));
    assert_true(progress_text(text, sizeof text, &p, start + 1500000000));
    assert_string_equal(text, "    2 of 10 iterations done, 1 s");
    assert_false(progress_text(text, sizeof text, &p, start + 1600000000));
    p.iterations = 0;
    assert_true(progress_text(text, sizeof text, &p, start + 61000000000));
    assert_string_equal(text, "    2 iterations done, 61 s");
    p.asks_per_iteration = 0;
    assert_true(progress_text(text, sizeof text, &p, start + 62000000000));
    assert_string_equal(text, "    running, 62 s");
    p.off = true;
    assert_false(progress_text(text, sizeof text, &p, start + 70000000000));
}
