/* SPDX-License-Identifier: Apache-2.0 */
/* Models divided at random between the host and fake devices give the same bits as on the host
 * alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/fake_kernels.h"
#include "harness/fake_split.h"
#include "harness/random_network.h"

/* Exports of PyTorch (make_exported_models.py). */
static const char *const EXPORTED[] = {
    "convnext",   "deeplab",      "densenet",      "detector",  "dlrm",    "encoder",
    "generator",  "gpt",          "graph_network", "gru",       "llama",   "loop_and_branch",
    "lstm",       "mobilenet_v2", "mobilenet_v3",  "quantized", "resnet",  "resnet_with_batch_norm",
    "shufflenet", "swin",         "unet",          "vit",       "wavenet",
};
enum { EXPORTED_COUNT = sizeof EXPORTED / sizeof *EXPORTED, DRAWS = 200, NETWORKS = 100 };

/* Made by hand: weights in another file, functions, captured values, 16-bit floats, NaN. */
static const char *const HAND_MADE[] = {
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
enum { HAND_MADE_COUNT = sizeof HAND_MADE / sizeof *HAND_MADE, HAND_MADE_DRAWS = 60 };

/* ---- What a failure tells -------------------------------------------------------------------- */

/* The split at hand. A mistake that the fake device finds ends the process, by a signal. */
static char at_hand[16384];

static void tell_at_hand(int number)
{
    const ssize_t written = write(STDERR_FILENO, at_hand, strlen(at_hand));
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

static void note(const fake_split *s, const fake_split_model *m, const char *name)
{
    const int length = snprintf(at_hand, sizeof at_hand, "%s, ", name);
    fake_split_describe(at_hand + length, sizeof at_hand - (size_t)length, s, m);
}

/* Until the test ends. */
static void listen_to_signals(void)
{
    static const int NUMBERS[] = {SIGABRT, SIGSEGV, SIGBUS};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) signal(NUMBERS[i], tell_at_hand);
}

/* ---- Draws ----------------------------------------------------------------------------------- */

enum { MOST_FAMILIES = 256, LEAST_FAMILIES = 16 };

/* What draws have met, all together. */
typedef struct tally {
    size_t draws, on_device, on_host, copies, waits;
    bool families[MOST_FAMILIES]; /* those that ran on a device */
} tally;

static void add(tally *t, const program *p)
{
    t->draws++;
    t->on_device += fake_split_steps(p);
    for (size_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        t->copies += s->act == PROGRAM_COPY;
        t->waits += s->act == PROGRAM_WAIT;
        t->on_host += s->act == PROGRAM_RUN && !s->space;
        if (s->act == PROGRAM_RUN && s->space) t->families[fake_kernel_family(s->kernel)] = true;
    }
}

__attribute__((noreturn)) static void give_up(const char *what)
{
    fputs(at_hand, stderr); /* cmocka cuts off longer texts */
    fail_msg("what differs, or has failed: %s", what);
    abort();
}

static void expect_same(const fake_split_model *m, engine *e)
{
    context *c = NULL;
    pgy_error err = {0};
    if (context_create(&c, e, 1, &err)) give_up(err.text);
    for (int i = 0; i < 2; i++) {
        const char *differs = fake_split_differs(m, c);
        if (differs) give_up(differs);
    }
    context_destroy(c);
}

static void try_split(tally *t, const fake_split_model *m, const char *name, uint64_t seed)
{
    fake_split s = fake_split_draw(seed);
    note(&s, m, name);
    fake_split_build(&s, m);
    note(&s, m, name);
    program *p = fake_split_program(&s, m);
    add(t, p);
    program_release(p);
    expect_same(m, s.engine);
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
    for (size_t i = 0; i < MOST_FAMILIES; i++) all->families[i] |= t.families[i];
}

/* Draw i is one of model i % count. */
static tally try_models(const char *format, const char *const *names, size_t count, uint64_t draws)
{
    tally all = {0};
    listen_to_signals();
    for (size_t i = 0; i < count; i++) {
        char path[512];
        snprintf(path, sizeof path, format, TEST_SOURCE_DIR, names[i]);
        try_model(&all, path, i, count, draws);
    }
    print_message("%zu draws: %zu steps on devices, %zu on the host, %zu copies, %zu waits\n",
                  all.draws, all.on_device, all.on_host, all.copies, all.waits);
    assert_true(all.draws == draws);
    return all;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static size_t count_families(const tally *t)
{
    size_t families = 0;
    for (size_t i = 0; i < MOST_FAMILIES; i++) families += t->families[i];
    return families;
}

/* PGY_TEST_DRAWS=5000 draws more often, PGY_TEST_SEED=17 repeats one draw,
 * PGY_TEST_MODEL=resnet.onnx tries another model. */
static void test_fake_splits__exported_models_give_the_same_bits(void **state)
{
    const char *many = getenv("PGY_TEST_DRAWS"), *seed = getenv("PGY_TEST_SEED"),
               *other = getenv("PGY_TEST_MODEL");
    const uint64_t draws = many ? strtoull(many, NULL, 10) : DRAWS,
                   first = seed ? strtoull(seed, NULL, 10) : 0;
    tally all = {0};
    (void)state;
    if (other) {
        listen_to_signals();
        try_model(&all, other, first, 1, seed ? first + 1 : draws);
        return;
    }
    all = try_models("%s/tests/data/exported/%s.onnx", EXPORTED, EXPORTED_COUNT, draws);
    assert_true(all.on_device > 5 * draws && all.on_host > 5 * draws);
    assert_true(all.copies > 5 * draws && all.waits > 2 * draws);
    print_message("%zu kernel families ran on devices\n", count_families(&all));
    assert_true(count_families(&all) >= LEAST_FAMILIES);
}

static void test_fake_splits__hand_made_models_give_the_same_bits(void **state)
{
    (void)state;
    const tally all = try_models("%s/%s", HAND_MADE, HAND_MADE_COUNT, HAND_MADE_DRAWS);
    assert_true(all.on_device > HAND_MADE_DRAWS && all.copies > HAND_MADE_DRAWS);
}

static void test_fake_splits__random_networks_give_the_same_bits(void **state)
{
    (void)state;
    tally t = {0};
    listen_to_signals();
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
