/* SPDX-License-Identifier: Apache-2.0 */
/* Images in blocks of channels: the shapes of a model tell how many channels a block has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/graph_case.h"

static pgy_onnx_node *blocked(model_builder *b, const char *op, const char *in, const char *out)
{
    pgy_onnx_node *n = builder_node(b, op, in, out);
    n->domain = "com.microsoft.nchwc";
    return n;
}

/* Channels of the image behind ReorderInput, whose 20 channels a Conv of `padded` takes. */
static int64_t channels_of(const char *weights, int64_t kept)
{
    model_builder b = builder_start(17);
    builder_opset(&b, "com.microsoft.nchwc", 1);
    builder_input(&b, "x", PGY_F32, "1, 20, 4, 4");
    builder_floats(&b, "w", weights, NULL);
    blocked(&b, "ReorderInput", "x", "a");
    blocked(&b, "Conv", "a w", "c");
    builder_attr_int(&b, blocked(&b, "ReorderOutput", "c", "y"), "channels", kept);
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_error err = {0};
    pgy_graph *g = import_graph(&b);
    if (pgy_graph_infer_shapes(g, NULL, &err)) fail_msg("%s", err.text);
    const pgy_value *a = pgy_graph_find_value(g, "a");
    assert_int_equal(a->rank, 4);
    const int64_t found = a->dims[1].value;
    pgy_graph_destroy(g);
    return found;
}

static void test_block__sizes_tell_blocks_of_8_from_16(void **state)
{
    (void)state;
    assert_int_equal(channels_of("48, 24, 1, 1", 41), 24);
    assert_int_equal(channels_of("40, 24, 1, 1", 40), 24);
    assert_int_equal(channels_of("48, 32, 1, 1", 40), 32);
    assert_int_equal(channels_of("32, 32, 1, 1", 32), 32); /* 20 channels and 12 of padding */
}
