/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in 16-bit floats that a program holds as float32: which ones, and that results are the
 * same bit for bit as those of a program that holds none, for which all are debug tensors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/context/context.h"
#include "harness/pass_case.h"
#include "kernels/half.h"

enum { COUNT = 3 * 19 * 17 };

static pgy_onnx_node *conv(model_builder *b, const char *inputs, const char *y, int64_t pad)
{
    const int64_t pads[] = {pad, pad, pad, pad};
    pgy_onnx_node *n = builder_node(b, "Conv", inputs, y);
    builder_attr_ints(b, n, "pads", 4, pads);
    return n;
}

/* First convolution, SiLU, a depthwise one, Split, Concat, a gate by means, pool, product. */
static model_builder network(void)
{
    static const int64_t window[] = {3, 3};
    model_builder b = start("1, 3, 19, 17");
    weights(&b, "w", "16, 3, 3, 3", 432);
    weights(&b, "d", "16, 1, 3, 3", 144);
    weights(&b, "p", "16, 16, 1, 1", 256);
    weights(&b, "m", "17, 5", 85);
    conv(&b, "x w", "c", 1);
    builder_node(&b, "Sigmoid", "c", "s");
    builder_node(&b, "Mul", "c s", "silu");
    builder_attr_int(&b, conv(&b, "silu d", "deep", 1), "group", 16);
    pgy_onnx_node *split = builder_node(&b, "Split", "deep", "lower upper");
    builder_attr_int(&b, split, "axis", 1);
    builder_attr_int(&b, split, "num_outputs", 2);
    builder_attr_int(&b, builder_node(&b, "Concat", "upper lower", "turned"), "axis", 1);
    builder_node(&b, "GlobalAveragePool", "turned", "mean");
    builder_node(&b, "Sigmoid", "mean", "gate");
    builder_node(&b, "Mul", "turned gate", "gated");
    conv(&b, "gated p", "mixed", 0);
    builder_node(&b, "Add", "mixed silu", "sum");
    pgy_onnx_node *pool = builder_node(&b, "MaxPool", "sum", "pooled");
    builder_attr_ints(&b, pool, "kernel_shape", 2, window);
    builder_attr_ints(&b, pool, "strides", 2, (const int64_t[]){1, 1});
    builder_attr_ints(&b, pool, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    builder_node(&b, "MatMul", "pooled m", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    return b;
}

/* Runs the network. *half, *wide: tensors in memory of the program in 16 bits, in float32. */
static pgy_tensor_map *run(const pgy_build_config *config, size_t threads, size_t *half,
                           size_t *wide)
{
    const int64_t shape[] = {1, 3, 19, 17};
    pgy_error err = {0};
    engine *e = NULL;
    context *c = NULL;
    program *p = NULL;
    pgy_tensor *x = NULL;
    pgy_tensor_map *feed = NULL, *got = NULL;
    model_builder b = network();
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&got, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 4, shape, NULL), PGY_OK);
    for (size_t i = 0; i < COUNT; i++)
        ((float *)pgy_tensor_data(x))[i] = (float)(i * 37 % 101) / 50.0f - 1;
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", x, NULL), PGY_OK);
    if (engine_build(&e, model, config, &err) || context_create(&c, e, threads, &err) ||
        engine_program_for(&p, e, 0, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 2; i++) /* memory is no longer as it came */
        if (context_run(c, feed, got, NULL, &err)) fail_msg("%s", err.text);
    *half = *wide = 0;
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (p->tensors[i].place != PROGRAM_ARENA) continue;
        *half += half_is(p->tensors[i].dtype);
        *wide += p->tensors[i].dtype == PGY_F32;
    }
    program_release(p);
    context_destroy(c);
    engine_release(e);
    pgy_tensor_map_destroy(feed);
    pgy_model_destroy(model);
    return got;
}

/* Level 1 chooses kernels by estimates, so both programs have the same. */
static void test_wide__results_are_those_of_16_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        pgy_build_config config = {.size = sizeof config,
                                   .fp16 = i % 2 == 0,
                                   .bf16 = i % 2 != 0,
                                   .has_optimization_level = true,
                                   .optimization_level = 1};
        size_t half, wide, narrow_half, narrow_wide;
        pgy_tensor_map *got = run(&config, 1 + (size_t)i, &half, &wide);
        config.debug_unfused = true;
        pgy_tensor_map *wanted = run(&config, 1, &narrow_half, &narrow_wide);
        const pgy_tensor *y = pgy_tensor_map_at(got, 0), *z = pgy_tensor_map_at(wanted, 0);
        assert_int_equal(pgy_tensor_size_bytes(y), pgy_tensor_size_bytes(z));
        assert_memory_equal(pgy_tensor_data((pgy_tensor *)y), pgy_tensor_data((pgy_tensor *)z),
                            pgy_tensor_size_bytes(y));
        assert_true(wide > half);
        assert_int_equal(half, 3); /* not what the Cast to the output reads */
        assert_int_equal(narrow_wide, 0);
        pgy_tensor_map_destroy(got);
        pgy_tensor_map_destroy(wanted);
    }
}
