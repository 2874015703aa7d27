/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLSTM with constant weights becomes LSTM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pass_case.h"

static void bytes(model_builder *b, const char *name, pgy_dtype dtype, size_t rank,
                  const int64_t *shape, int64_t least)
{
    pgy_tensor *wide = NULL, *t = NULL;
    assert_int_equal(pgy_tensor_create(&wide, PGY_I64, rank, shape, NULL), 0);
    for (size_t i = 0; i < pgy_tensor_count(wide); i++)
        ((int64_t *)pgy_tensor_data(wide))[i] = least + (int64_t)(i * 7919 % 251);
    assert_int_equal(pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, NULL), 0);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
    pgy_tensor_release(wide);
}

/* Two directions, hidden size 3; a scale for each direction or each column. */
static void test_lower_quantized_lstm__directions(void **state)
{
    (void)state;
    for (int each = 0; each < 2; each++)
        for (int type = 0; type < 2; type++) {
            const pgy_dtype dtype = type ? PGY_I8 : PGY_U8;
            const int64_t least = type ? -125 : 0;
            const int64_t zeros[] = {2, 12};
            model_builder b = start("5, 2, 4");
            builder_opset(&b, "com.microsoft", 1);
            bytes(&b, "w", dtype, 3, (const int64_t[]){2, 4, 12}, least);
            bytes(&b, "r", dtype, 3, (const int64_t[]){2, 3, 12}, least);
            weights(&b, "b", "2, 24", 48);
            weights_from(&b, "ws", each ? "2, 12" : "2", each ? 24 : 2, 0.01f);
            weights_from(&b, "rs", each ? "2, 12" : "2", each ? 24 : 2, 0.01f);
            bytes(&b, "wz", dtype, each ? 2 : 1, zeros, 3);
            bytes(&b, "rz", dtype, each ? 2 : 1, zeros, 5);
            pgy_onnx_node *n =
                builder_node(&b, "DynamicQuantizeLSTM", "x w r b - - - - ws wz rs rz", "y");
            n->domain = "com.microsoft";
            builder_attr_int(&b, n, "hidden_size", 3);
            builder_attr_string(&b, n, "direction", "bidirectional");
            expect_y(&b, "LSTM");
        }
}
