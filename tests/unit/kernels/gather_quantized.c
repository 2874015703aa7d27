/* SPDX-License-Identifier: Apache-2.0 */
/* GatherBlockQuantized against its definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

typedef struct gather_case {
    const char *data, *scales, *zeros; /* shapes */
    int64_t bits, block, axis, along;
    pgy_dtype dtype;
} gather_case;

static const gather_case CASES[] = {
    {"5 16", "5 2", "5 1", 4, 16, 0, 1, PGY_F32},
    {"5 17", "5 3", "5 2", 4, 16, 0, -1, PGY_F32},
    {"7 12", "7 3", "7 1", 2, 16, 0, 1, PGY_F16},
    {"4 40", "4 3", "4 3", 8, 16, 0, 1, PGY_BF16},
    {"3 4 8", "3 4 1", "3 4 1", 4, 16, 1, 2, PGY_F32},
    {"3 33 4", "3 3 8", "3 3 4", 4, 16, 0, 1, PGY_F32},
    {"33 2 300", "3 2 300", "3 2 300", 8, 16, 2, 0, PGY_F32},
    {"17 2 3 4", "2 2 3 4", "2 2 3 4", 8, 16, 1, 0, PGY_F16},
};

static void run(const gather_case *g, bool zeros, bool constant)
{
    reference_case c;
    reference_start(&c, "com.microsoft", "GatherBlockQuantized", 1);
    reference_attr_int(&c, "bits", g->bits);
    reference_attr_int(&c, "block_size", g->block);
    reference_attr_int(&c, "gather_axis", g->axis);
    reference_attr_int(&c, "quantize_axis", g->along);
    uint8_t *data = reference_input(&c, PGY_U8, g->data);
    for (size_t i = 0; i < pgy_tensor_count(c.inputs[0]); i++) data[i] = (uint8_t)(i * 89 + 7);
    if (constant) reference_constant(&c);
    /* 8 and -9 lie beyond some tables: rows of zeros. */
    int64_t *indices = reference_input(&c, PGY_I64, "2 3");
    static const int64_t INDICES[] = {0, 2, -1, 8, 1, -9};
    for (size_t i = 0; i < 6; i++) indices[i] = INDICES[i];
    reference_input(&c, g->dtype, g->scales);
    if (zeros) {
        uint8_t *z = reference_input(&c, PGY_U8, g->zeros);
        for (size_t i = 0; i < pgy_tensor_count(c.inputs[3]); i++) z[i] = (uint8_t)(i * 53 + 31);
    }
    assert_int_equal(reference_run(&c, 1, 0), 1);
}

static void test_gather_quantized__bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (int zeros = 0; zeros < 2; zeros++)
            for (int constant = 0; constant < 2; constant++) run(&CASES[i], zeros, constant);
}
