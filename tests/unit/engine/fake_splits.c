/* SPDX-License-Identifier: Apache-2.0 */
/* Models divided at random between the host and fake devices give the same bits as on the host
 * alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "harness/fake_kernels.h"
#include "harness/fake_split.h"
#include "harness/random_network.h"

static const char *const MODELS[] = {
    "examples/models/attention.onnx",
    "examples/models/digits.onnx",
    "examples/models/fp16_overflow.onnx",
    "examples/models/leaky_relu_good.onnx",
    "examples/models/nan_source.onnx",
    "examples/models/shape_arithmetic.onnx",
    "examples/models/tanh_limits.onnx",
    "examples/models/transformer_block.onnx",
    "tests/data/cli/qdq.onnx",
    "tests/data/cli/sparsity.onnx",
    "tests/data/onnx/external.onnx",
    "tests/data/onnx/function.onnx",
    "tests/data/onnx/subgraph_if_loop.onnx",
    "tests/data/shard/scaled.onnx",
    "tests/data/surgeon/branch.onnx",
    "tests/data/surgeon/channels.onnx",
    "tests/data/surgeon/decoder.onnx",
    "tests/data/surgeon/nested.onnx",
    "tests/data/surgeon/products.onnx",
    "tests/data/surgeon/wide.onnx",
};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS, DRAWS = 200, NETWORKS = 100 };

/* What draws have met, all together. */
typedef struct tally {
    size_t draws, on_device, on_host, copies, waits;
} tally;

static void add(tally *t, const program *p)
{
    t->draws++;
    t->on_device += fake_split_steps(p);
    for (size_t i = 0; i < p->step_count; i++) {
        t->copies += p->steps[i].act == PROGRAM_COPY;
        t->waits += p->steps[i].act == PROGRAM_WAIT;
        t->on_host += p->steps[i].act == PROGRAM_RUN && !p->steps[i].space;
    }
}

static void expect_same(const fake_split_model *m, engine *e, const char *name, uint64_t seed)
{
    context *c = NULL;
    pgy_error err = {0};
    if (context_create(&c, e, 1, &err)) fail_msg("%s, draw %d: %s", name, (int)seed, err.text);
    for (int i = 0; i < 2; i++) {
        const char *differs = fake_split_differs(m, c);
        if (differs) fail_msg("%s, draw %d: %s", name, (int)seed, differs);
    }
    context_destroy(c);
}

static void try_split(tally *t, const fake_split_model *m, const char *name, uint64_t seed)
{
    fake_split s = fake_split_draw(seed);
    fake_split_build(&s, m);
    program *p = fake_split_program(&s, m);
    add(t, p);
    program_release(p);
    expect_same(m, s.engine, name, seed);
    fake_split_destroy(&s);
}

static void try_model(tally *all, const char *path, uint64_t first, uint64_t step, uint64_t end)
{
    fake_split_model m;
    pgy_model *model = NULL;
    pgy_error err = {0};
    tally t = {0};
    if (pgy_model_load(&model, path, NULL, &err)) fail_msg("%s: %s", path, err.text);
    if (!fake_split_open(&m, model)) fail_msg("%s has no program", path);
    for (uint64_t seed = first; seed < end; seed += step) try_split(&t, &m, path, seed);
    fake_split_close(&m);
    print_message("%s: %zu draws, %zu steps on devices, %zu on the host, %zu copies, %zu waits\n",
                  path, t.draws, t.on_device, t.on_host, t.copies, t.waits);
    all->draws += t.draws;
    all->on_device += t.on_device;
    all->on_host += t.on_host;
    all->copies += t.copies;
    all->waits += t.waits;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_fake_splits__a_third_of_the_families_runs_there(void **state)
{
    (void)state;
    size_t families = 0;
#define KERNEL(family) families++;
#include "kernels/kernels.def"
#undef KERNEL
    assert_true(3 * fake_kernel_families() >= families);
}

/* PGY_TEST_DRAWS=5000 draws more often, PGY_TEST_MODEL=resnet.onnx tries another model. */
static void test_fake_splits__models_give_the_same_bits(void **state)
{
    const char *many = getenv("PGY_TEST_DRAWS"), *other = getenv("PGY_TEST_MODEL");
    const uint64_t draws = many ? strtoull(many, NULL, 10) : DRAWS;
    tally all = {0};
    (void)state;
    if (other) {
        try_model(&all, other, 0, 1, draws);
        return;
    }
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", TEST_SOURCE_DIR, MODELS[i]);
        try_model(&all, path, i, MODEL_COUNT, draws);
    }
    print_message("%zu draws: %zu steps on devices, %zu on the host, %zu copies, %zu waits\n",
                  all.draws, all.on_device, all.on_host, all.copies, all.waits);
    assert_true(all.draws == draws);
    assert_true(all.on_device > 2 * draws && all.copies > 2 * draws && all.waits > draws);
}

static void test_fake_splits__random_networks_give_the_same_bits(void **state)
{
    (void)state;
    tally t = {0};
    for (uint64_t seed = 0; seed < NETWORKS; seed++) {
        byte_source source = {.state = seed};
        fake_split_model m;
        pgy_model *model = random_network(&source);
        assert_non_null(model);
        if (fake_split_open(&m, model)) try_split(&t, &m, "random network", seed);
        fake_split_close(&m);
    }
    assert_true(t.on_device > NETWORKS && t.copies > NETWORKS);
}
