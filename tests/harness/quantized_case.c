/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/quantized_case.h"

void bytes(model_builder *b, const char *name, pgy_dtype dtype, size_t rank, const int64_t *shape,
           int64_t least, int64_t step)
{
    pgy_tensor *wide = NULL, *t = NULL;
    assert_int_equal(pgy_tensor_create(&wide, PGY_I64, rank, shape, NULL), 0);
    for (size_t i = 0; i < pgy_tensor_count(wide); i++)
        ((int64_t *)pgy_tensor_data(wide))[i] = least + (int64_t)(i * 7919 % 251) * step % 253;
    assert_int_equal(pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, NULL), 0);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
    pgy_tensor_release(wide);
}

void grid(model_builder *b, const char *scale, float value, const char *zero, pgy_dtype dtype,
          int64_t at)
{
    scalar(b, scale, value);
    bytes(b, zero, dtype, 0, NULL, at, 0);
}

model_builder start_quantised(const char *shape, pgy_dtype dtype)
{
    model_builder b = start(shape);
    grid(&b, "xs", 0.017f, "xz", dtype, dtype == PGY_U8 ? 120 : -3);
    builder_node(&b, "QuantizeLinear", "x xs xz", "xq");
    builder_node(&b, "DequantizeLinear", "xq xs xz", "xd");
    return b;
}

void quantise(model_builder *b, const char *v, const char *name, float scale, pgy_dtype dtype,
              int64_t zero)
{
    char s[16], z[16], d[16], names[64];
    snprintf(s, sizeof s, "%ss", name);
    snprintf(z, sizeof z, "%sz", name);
    snprintf(d, sizeof d, "%sd", name);
    grid(b, s, scale, z, dtype, zero);
    snprintf(names, sizeof names, "%s %s %s", v, s, z);
    builder_node(b, "QuantizeLinear", names, name);
    snprintf(names, sizeof names, "%s %s %s", name, s, z);
    builder_node(b, "DequantizeLinear", names, d);
}

void end_quantised(model_builder *b, const char *v, float scale, pgy_dtype dtype, int64_t zero)
{
    char names[64];
    grid(b, "ys", scale, "yz", dtype, zero);
    snprintf(names, sizeof names, "%s ys yz", v);
    builder_node(b, "QuantizeLinear", names, "yq");
    builder_node(b, "DequantizeLinear", "yq ys yz", "y");
}
