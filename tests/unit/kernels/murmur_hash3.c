/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MurmurHash3 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

static void test_murmur_hash3__types(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_I32, PGY_U32, PGY_I64, PGY_U64, PGY_F32, PGY_F64};
    for (size_t i = 0; i < 12; i++) {
        reference_case c;
        reference_start(&c, "com.microsoft", "MurmurHash3", 1);
        reference_attr_int(&c, "positive", i & 1);
        if (i > 5) reference_attr_int(&c, "seed", 42);
        reference_input(&c, TYPES[i / 2], "3 1001");
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}
