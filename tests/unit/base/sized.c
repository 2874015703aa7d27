/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of callers that know fewer or more fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/sized.h"

typedef struct pgy_sample {
    size_t size;
    int64_t first;
    const char *second;
} pgy_sample;

typedef struct pgy_newer {
    size_t size;
    int64_t first;
    const char *second;
    int64_t third;
} pgy_newer;

static const pgy_sample DEFAULTS = {sizeof DEFAULTS, 7, "seven"};

static pgy_status take(pgy_sample *out, const void *given, pgy_error *err)
{
    *out = DEFAULTS;
    return SIZED_TAKE(pgy_sample, out, (const pgy_sample *)given, err);
}

static void test_sized__nothing_is_the_defaults(void **state)
{
    (void)state;
    pgy_sample s;
    assert_int_equal(take(&s, NULL, NULL), PGY_OK);
    assert_memory_equal(&s, &DEFAULTS, sizeof s);
}

static void test_sized__an_older_struct_leaves_defaults(void **state)
{
    (void)state;
    const struct {
        size_t size;
        int64_t first;
    } older = {sizeof older, 1};
    pgy_sample s;
    assert_int_equal(take(&s, &older, NULL), PGY_OK);
    assert_int_equal(s.size, sizeof s);
    assert_int_equal(s.first, 1);
    assert_string_equal(s.second, "seven");
}

static void test_sized__a_newer_struct_may_have_zeros_only(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_newer newer = {sizeof newer, 1, "one", 0};
    pgy_sample s;
    assert_int_equal(take(&s, &newer, &err), PGY_OK);
    assert_int_equal(s.size, sizeof s);
    assert_string_equal(s.second, "one");
    newer.third = 1 << 8;
    assert_int_equal(take(&s, &newer, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "pgy_sample has 32 bytes and byte 25 is not zero"));
    assert_memory_equal(&s, &DEFAULTS, sizeof s);
}

static void test_sized__a_size_that_was_not_set(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_sample s;
    static const size_t WRONG[] = {0, 7, SIZE_MAX, (size_t)1 << 40};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        const pgy_sample given = {.size = WRONG[i]};
        assert_int_equal(take(&s, &given, &err), PGY_E_ARGUMENT);
        assert_non_null(strstr(err.text, "; set it to sizeof(pgy_sample)"));
    }
}
