/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts by name: shapes, addresses, memory, streams, and those who look on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <polygraphy/runtime.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/context/context.h"
#include "harness/model_builder.h"

/* ---- Models --------------------------------------------------------------------------------- */

/* y = tanh(relu(x) w), z = asinh(y): products, elementwise steps and one by its definition. */
static pgy_model *small_model(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "MatMul", "a w", "m");
    builder_node(&b, "Tanh", "m", "y");
    builder_node(&b, "Asinh", "y", "z");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "z", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

/* Rows of x that are not zero: how many is not known before. */
static pgy_model *data_model(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N");
    builder_node(&b, "Abs", "x", "a");
    builder_node(&b, "NonZero", "a", "where");
    builder_output(&b, "where", PGY_I64, NULL);
    return builder_finish_bytes(&b);
}

/* Convolutions in blocked layout, a branch, a loop body, a view, a sum, a softmax. */
static pgy_model *wide_model(void)
{
    static const int64_t flat[2] = {1, -1}, three = 3;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 3, 12, 12");
    builder_input(&b, "which", PGY_BOOL, "");
    builder_floats(&b, "w", "32, 3, 3, 3", NULL);
    builder_floats(&b, "v", "16, 32, 1, 1", NULL);
    builder_floats(&b, "u", "1600, 10", NULL);
    builder_ints(&b, "flat", "2", flat);
    builder_ints(&b, "three", "", &three);
    builder_node(&b, "Tanh", "x", "t");
    builder_node(&b, "Conv", "t w", "c");
    builder_node(&b, "Relu", "c", "r");
    builder_node(&b, "Conv", "r v", "d");
    builder_node(&b, "Erf", "d", "e");
    builder_node(&b, "Reshape", "e flat", "f");
    builder_node(&b, "MatMul", "f u", "g");
    model_builder then = builder_subgraph(&b, "then"), other = builder_subgraph(&b, "else");
    builder_node(&then, "Neg", "g", "n");
    builder_output(&then, "n", PGY_F32, "1, 10");
    builder_node(&other, "Asinh", "g", "s");
    builder_output(&other, "s", PGY_F32, "1, 10");
    pgy_onnx_node *branch = builder_node(&b, "If", "which", "i");
    builder_attr_graph(&b, branch, "then_branch", &then);
    builder_attr_graph(&b, branch, "else_branch", &other);
    builder_node(&b, "Softmax", "i", "p");
    builder_node(&b, "Add", "p i", "q");
    builder_node(&b, "Trilu", "q", "h");
    builder_output(&b, "h", PGY_F32, NULL);
    builder_output(&b, "d", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_engine *build_with(pgy_model *model, const pgy_build_config *config)
{
    pgy_engine *e = NULL;
    pgy_error err = {0};
    if (pgy_engine_build(&e, model, config, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    return e;
}

/* x of [1, 3], [2, 3], [8, 3]. */
static const int64_t FEW[] = {1, 3}, TWO[] = {2, 3}, MANY[] = {8, 3};
static const pgy_profile_range X = {.name = "x", .count = 2, .min = FEW, .opt = TWO, .max = MANY};
static const pgy_profile PROFILE = {.ranges = &X, .range_count = 1};
static const pgy_build_config RANGED = {
    .size = sizeof RANGED, .profiles = &PROFILE, .profile_count = 1, .threads = 1};

static pgy_context *context_for(pgy_engine *e, const pgy_context_options *o)
{
    pgy_context *c = NULL;
    pgy_error err = {0};
    if (pgy_context_create(&c, e, o, &err)) fail_msg("%s", err.text);
    pgy_engine_release(e);
    return c;
}

static pgy_context *small_context(const pgy_context_options *o)
{
    return context_for(build_with(small_model(), &RANGED), o);
}

static const float XS[] = {-1, 0.5f, 0.25f, 1, -2, 0.125f};

static void set_shape(pgy_context *c, const char *name, int64_t rows)
{
    const int64_t shape[] = {rows, 3};
    pgy_error err = {0};
    if (pgy_context_set_input_shape(c, name, 2, shape, &err)) fail_msg("%s", err.text);
}

/* Two rows of x go to y and z. */
static void bind(pgy_context *c, float *y, float *z)
{
    set_shape(c, "x", 2);
    assert_int_equal(pgy_context_set_input(c, "x", XS, sizeof XS, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "y", y, 8 * sizeof *y, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "z", z, 8 * sizeof *z, NULL), PGY_OK);
}

static void execute(pgy_context *c)
{
    pgy_error err = {0};
    if (pgy_context_execute(c, &err)) fail_msg("%s", err.text);
}

static void expect_right(const float *y, const float *z)
{
    for (size_t i = 0; i < 8; i++) {
        const float wanted = tanhf(i < 4 ? 0.75f : 1.125f);
        assert_float_equal(y[i], wanted, 1e-5);
        assert_float_equal(z[i], asinhf(wanted), 1e-5);
    }
}

/* ---- Names, shapes, addresses --------------------------------------------------------------- */

static void test_runtime__runs_on_addresses(void **state)
{
    float y[8], z[8];
    pgy_context *c = small_context(NULL);
    (void)state;
    bind(c, y, z);
    for (int i = 0; i < 3; i++) {
        memset(y, 0, sizeof y);
        memset(z, 0, sizeof z);
        execute(c);
        expect_right(y, z);
    }
    pgy_context_destroy(c);
}

static void test_runtime__infer_shapes_names_what_is_missing(void **state)
{
    const char *missing[2] = {NULL, NULL};
    size_t count = 0, bytes = 0;
    pgy_context *c = small_context(NULL);
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_context_infer_shapes(c, missing, 2, &count, NULL), PGY_OK);
    assert_int_equal(count, 1);
    assert_string_equal(missing[0], "x");
    assert_int_equal(pgy_context_output_bytes(&bytes, c, "y", &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "'y'"));
    set_shape(c, "x", 5);
    assert_int_equal(pgy_context_infer_shapes(c, missing, 2, &count, NULL), PGY_OK);
    assert_int_equal(count, 0);
    const pgy_tensor_info *y = pgy_context_tensor(c, "y");
    assert_int_equal(y->rank, 2);
    assert_int_equal(y->shape[0], 5);
    assert_int_equal(y->shape[1], 4);
    assert_int_equal(pgy_context_output_bytes(&bytes, c, "y", NULL), PGY_OK);
    assert_int_equal(bytes, 80);
    assert_null(pgy_context_tensor(c, "none"));
    pgy_context_destroy(c);
}

static void expect_refused(pgy_context *c, const char *name, size_t rank, const int64_t *shape,
                           pgy_status wanted, const char *text)
{
    pgy_error err = {0};
    assert_int_equal(pgy_context_set_input_shape(c, name, rank, shape, &err), wanted);
    if (!strstr(err.text, text)) fail_msg("'%s' is not in '%s'", text, err.text);
}

static void test_runtime__shapes_that_do_not_fit_are_refused(void **state)
{
    const int64_t wrong[] = {2, 4}, large[] = {9, 3}, negative[] = {-1, 3};
    pgy_context *c = small_context(NULL);
    (void)state;
    expect_refused(c, "x", 2, wrong, PGY_E_SHAPE, "input 'x': shape [2, 4] does not fit");
    expect_refused(c, "x", 1, wrong, PGY_E_SHAPE, "input 'x': shape [2] does not fit");
    expect_refused(c, "x", 2, negative, PGY_E_SHAPE, "input 'x'");
    expect_refused(c, "x", 2, large, PGY_E_SHAPE,
                   "input 'x' has shape [9, 3], outside the range of profile 0: [1, 3] to [8, 3]");
    expect_refused(c, "q", 2, large, PGY_E_NOT_FOUND,
                   "'q' is not an input of the engine; it has: 'x'");
    pgy_context_destroy(c);
}

static void test_runtime__addresses_are_checked(void **state)
{
    float y[8], z[8];
    pgy_context *c = small_context(NULL);
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_context_execute(c, &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "input 'x' has no shape"));
    set_shape(c, "x", 2);
    assert_int_equal(pgy_context_execute(c, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "input 'x' has no address"));
    bind(c, y, z);
    assert_int_equal(pgy_context_set_output(c, "z", z, 28, NULL), PGY_OK);
    assert_int_equal(pgy_context_execute(c, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "output 'z' needs 32 bytes, but its buffer has 28"));
    assert_int_equal(pgy_context_set_output(c, "z", (char *)z + 1, 32, NULL), PGY_OK);
    assert_int_equal(pgy_context_execute(c, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "the address of output 'z'"));
    assert_int_equal(pgy_context_set_output(c, "x", z, 32, &err), PGY_E_NOT_FOUND);
    bind(c, y, z);
    execute(c);
    expect_right(y, z);
    pgy_context_destroy(c);
}

typedef struct taken {
    void *memory;
    size_t size_bytes, calls;
    int64_t shape[2];
} taken;

static void *give_room(void *user, const char *name, size_t size_bytes)
{
    taken *t = user;
    assert_string_equal(name, "where");
    t->calls++;
    t->size_bytes = size_bytes;
    mem_free(t->memory);
    t->memory = mem_alloc(size_bytes);
    return t->memory;
}

static void note_shape(void *user, const char *name, pgy_view v)
{
    taken *t = user;
    (void)name;
    assert_int_equal(v.rank, 2);
    memcpy(t->shape, v.shape, sizeof t->shape);
}

static void test_runtime__outputs_whose_size_depends_on_data_are_allocated(void **state)
{
    const float xs[] = {0, 3, 0, -1, 2};
    const int64_t shape = 5;
    size_t bytes = 0;
    taken got = {0};
    const pgy_output_allocator a = {
        .size = sizeof a, .user = &got, .allocate = give_room, .filled = note_shape};
    pgy_context *c = context_for(build_with(data_model(), NULL), NULL);
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_context_set_input_shape(c, "x", 1, &shape, NULL), PGY_OK);
    assert_int_equal(pgy_context_infer_shapes(c, NULL, 0, NULL, NULL), PGY_OK);
    assert_int_equal(pgy_context_output_bytes(&bytes, c, "where", NULL), PGY_E_UNSUPPORTED);
    assert_int_equal(pgy_context_set_input(c, "x", xs, sizeof xs, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output_allocator(c, "where", &a, NULL), PGY_OK);
    if (pgy_context_execute(c, &err)) fail_msg("%s", err.text);
    assert_int_equal(got.calls, 1);
    assert_int_equal(got.size_bytes, 24);
    assert_int_equal(got.shape[0], 1);
    assert_int_equal(got.shape[1], 3);
    const int64_t *where = got.memory;
    assert_int_equal(where[0], 1);
    assert_int_equal(where[1], 3);
    assert_int_equal(where[2], 4);
    mem_free(got.memory);
    pgy_context_destroy(c);
}

/* An input that is a shape: what comes out is known from its elements. */
static void test_runtime__shapes_of_outputs_follow_elements_of_inputs(void **state)
{
    static const int64_t least[] = {1, 1}, usual[] = {2, 3}, most[] = {6, 6};
    const pgy_profile_range range = {
        .name = "s", .count = 2, .min = least, .opt = usual, .max = most};
    const pgy_profile profile = {.ranges = &range, .range_count = 1};
    const pgy_build_config config = {
        .size = sizeof config, .profiles = &profile, .profile_count = 1};
    const float xs[6] = {1, 2, 3, 4, 5, 6};
    const int64_t wanted[] = {3, 2}, large[] = {7, 1};
    const char *missing = NULL;
    float y[6] = {0};
    size_t count = 0;
    pgy_error err = {0};
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "6");
    builder_input(&b, "s", PGY_I64, "2");
    builder_node(&b, "Reshape", "x s", "r");
    builder_node(&b, "Neg", "r", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_context *c = context_for(build_with(builder_finish_bytes(&b), &config), NULL);
    assert_int_equal(pgy_context_infer_shapes(c, &missing, 1, &count, NULL), PGY_OK);
    assert_int_equal(count, 1);
    assert_string_equal(missing, "s");
    assert_int_equal(pgy_context_set_input(c, "s", wanted, sizeof wanted, NULL), PGY_OK);
    if (pgy_context_infer_shapes(c, &missing, 1, &count, &err)) fail_msg("%s", err.text);
    assert_int_equal(count, 0);
    assert_int_equal(pgy_context_tensor(c, "y")->rank, 2);
    assert_int_equal(pgy_context_tensor(c, "y")->shape[0], 3);
    assert_int_equal(pgy_context_tensor(c, "y")->shape[1], 2);
    assert_int_equal(pgy_context_set_input(c, "x", xs, sizeof xs, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "y", y, sizeof y, NULL), PGY_OK);
    execute(c);
    assert_float_equal(y[5], -6, 0);
    assert_int_equal(pgy_context_set_input(c, "s", large, sizeof large, NULL), PGY_OK);
    assert_int_not_equal(pgy_context_execute(c, &err), PGY_OK);
    assert_non_null(strstr(err.text, "input 's' has elements [7, 1], outside the range"));
    pgy_context_destroy(c);
}

/* ---- Memory --------------------------------------------------------------------------------- */

typedef struct counted {
    size_t taken, given_back;
    uint64_t held;
} counted;

static void *count_taken(void *user, size_t size_bytes, size_t alignment)
{
    counted *k = user;
    k->taken++;
    k->held += size_bytes;
    return mem_alloc_aligned(alignment, size_bytes);
}

static void count_given_back(void *user, void *memory, size_t size_bytes)
{
    counted *k = user;
    k->given_back++;
    k->held -= size_bytes;
    mem_free(memory);
}

static void test_runtime__static_memory_is_taken_at_once_and_enough(void **state)
{
    counted k = {0};
    const pgy_allocator a = {sizeof a, &k, count_taken, count_given_back};
    const pgy_context_options o = {
        .size = sizeof o, .allocation = PGY_ALLOCATION_STATIC, .allocator = &a};
    float y[8], z[8];
    uint64_t most = 0, now = 0;
    pgy_context *c = small_context(&o);
    (void)state;
    assert_int_equal(k.taken, 1);
    assert_int_equal(pgy_context_profile_memory_bytes(&most, c, SIZE_MAX, NULL), PGY_OK);
    assert_int_equal(pgy_context_describe_memory(c).held_bytes, most);
    bind(c, y, z);
    assert_int_equal(pgy_context_memory_bytes(&now, c, NULL), PGY_OK);
    assert_true(now > 0 && now <= most);
    execute(c);
    expect_right(y, z);
    assert_int_equal(k.taken, 1);
    assert_true(pgy_context_describe_memory(c).arena_bytes >=
                pgy_context_describe_memory(c).arena_bound);
    pgy_context_destroy(c);
    assert_int_equal(k.given_back, 1);
    assert_int_equal(k.held, 0);
}

static void test_runtime__profile_memory_is_taken_when_a_profile_is_set(void **state)
{
    counted k = {0};
    const pgy_allocator a = {sizeof a, &k, count_taken, count_given_back};
    const pgy_context_options o = {
        .size = sizeof o, .allocation = PGY_ALLOCATION_PROFILE, .allocator = &a};
    pgy_context *c = small_context(&o);
    pgy_error err = {0};
    (void)state;
    assert_int_equal(k.taken, 0);
    assert_int_equal(pgy_context_set_profile(c, 1, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "profile 1 does not exist; the engine has 1, counted from 0");
    assert_int_equal(pgy_context_set_profile(c, 0, NULL), PGY_OK);
    assert_int_equal(k.taken, 1);
    pgy_context_destroy(c);
    assert_int_equal(k.held, 0);
}

static void test_runtime__memory_of_the_caller_must_be_enough(void **state)
{
    const pgy_context_options o = {.size = sizeof o, .allocation = PGY_ALLOCATION_USER};
    float y[8], z[8];
    uint64_t bytes = 0;
    pgy_context *c = small_context(&o);
    pgy_error err = {0};
    (void)state;
    bind(c, y, z);
    assert_int_equal(pgy_context_execute(c, &err), PGY_E_MEMORY);
    assert_int_equal(pgy_context_memory_bytes(&bytes, c, NULL), PGY_OK);
    char *memory = mem_alloc_aligned(64, bytes + 64);
    assert_int_equal(pgy_context_set_memory(c, memory + 8, bytes, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_context_set_memory(c, memory, bytes - 1, NULL), PGY_OK);
    assert_int_equal(pgy_context_execute(c, &err), PGY_E_MEMORY);
    assert_non_null(strstr(err.text, "the caller gave the context"));
    assert_int_equal(pgy_context_set_memory(c, memory, bytes, NULL), PGY_OK);
    execute(c);
    expect_right(y, z);
    pgy_context_destroy(c);
    mem_free(memory);
}

static void test_runtime__only_contexts_made_for_it_take_memory_of_the_caller(void **state)
{
    pgy_context *c = small_context(NULL);
    (void)state;
    assert_int_equal(pgy_context_set_memory(c, NULL, 0, NULL), PGY_E_ARGUMENT);
    pgy_context_destroy(c);
}

/* Everything that a context does, but with an allocation that fails. */
static pgy_status run_all(pgy_engine *e, const pgy_profiler *p, const pgy_debug_listener *l,
                          pgy_error *err)
{
    const int64_t shape[] = {2, 3};
    float y[8], z[8];
    pgy_context *c = NULL;
    pgy_status st = pgy_context_create(&c, e, NULL, err);
    if (st) return st;
    assert_int_equal(pgy_context_set_profiler(c, p, true, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_debug_listener(c, l, NULL), PGY_OK);
    st = pgy_context_set_input_shape(c, "x", 2, shape, err);
    if (!st) st = pgy_context_infer_shapes(c, NULL, 0, NULL, err);
    if (!st) st = pgy_context_set_input(c, "x", XS, sizeof XS, err);
    if (!st) st = pgy_context_set_output(c, "y", y, sizeof y, err);
    if (!st) st = pgy_context_set_output(c, "z", z, sizeof z, err);
    if (!st) st = pgy_context_execute(c, err);
    pgy_context_destroy(c);
    if (!st) expect_right(y, z);
    return st;
}

static void ignore_layer(void *user, const char *name, double ms)
{
    (void)user, (void)name, (void)ms;
}

static bool ignore_tensor(void *user, const char *name, pgy_view v)
{
    (void)user, (void)name, (void)v;
    return true;
}

static void test_runtime__out_of_memory_is_an_error(void **state)
{
    const pgy_profiler p = {.size = sizeof p, .layer = ignore_layer};
    const pgy_debug_listener l = {.size = sizeof l, .tensor = ignore_tensor};
    pgy_build_config config = RANGED;
    (void)state;
    if (!mem_fail_nth(0)) skip();
    config.debug_unfused = true;
    pgy_engine *e = build_with(small_model(), &config);
    size_t failures = 0;
    for (uint64_t n = 1; n < 300; n++) {
        pgy_error err = {0};
        mem_fail_nth(n);
        const pgy_status st = run_all(e, &p, &l, &err);
        mem_fail_nth(0);
        if (st && st != PGY_E_MEMORY) fail_msg("allocation %d: %s", (int)n, err.text);
        failures += st != PGY_OK;
    }
    assert_true(failures > 20);
    pgy_engine_release(e);
}

/* ---- Watching ------------------------------------------------------------------------------- */

typedef struct heard {
    size_t layers, runs;
    double sum, whole, layers_ms;
    char names[512];
} heard;

static void hear_layer(void *user, const char *name, double ms)
{
    heard *h = user;
    h->layers++;
    h->sum += ms;
    snprintf(h->names + strlen(h->names), sizeof h->names - strlen(h->names), "%s ", name);
}

static void hear_run(void *user, double ms, double layers_ms)
{
    heard *h = user;
    h->runs++;
    h->whole = ms;
    h->layers_ms = layers_ms;
}

static void expect_heard(const heard *h, size_t layers)
{
    assert_int_equal(h->layers, layers);
    assert_int_equal(h->runs, 1);
    assert_true(h->sum > 0 && h->whole >= h->layers_ms);
    assert_float_equal(h->sum, h->layers_ms, 1e-9);
}

static void test_runtime__profiler_hears_every_layer(void **state)
{
    float y[8], z[8];
    heard h = {0};
    const pgy_profiler p = {.size = sizeof p, .user = &h, .layer = hear_layer, .run = hear_run};
    pgy_context *c = small_context(NULL);
    (void)state;
    bind(c, y, z);
    assert_int_equal(pgy_context_report_profile(c, NULL), PGY_E_NOT_FOUND);
    assert_int_equal(pgy_context_set_profiler(c, &p, true, NULL), PGY_OK);
    execute(c);
    expect_right(y, z);
    const size_t layers = h.layers;
    assert_true(layers >= 2);
    expect_heard(&h, layers);
    memset(&h, 0, sizeof h);
    assert_int_equal(pgy_context_set_profiler(c, &p, false, NULL), PGY_OK);
    execute(c);
    assert_int_equal(h.layers, 0);
    assert_int_equal(pgy_context_report_profile(c, NULL), PGY_OK);
    expect_heard(&h, layers);
    assert_int_equal(pgy_context_set_profiler(c, NULL, false, NULL), PGY_OK);
    execute(c);
    assert_int_equal(h.runs, 1);
    pgy_context_destroy(c);
}

static void test_runtime__profiler_hears_nodes_that_are_interpreted(void **state)
{
    const float xs[] = {0, 3};
    const int64_t shape = 2;
    int64_t where[2];
    heard h = {0};
    const pgy_profiler p = {.size = sizeof p, .user = &h, .layer = hear_layer, .run = hear_run};
    pgy_context *c = context_for(build_with(data_model(), NULL), NULL);
    (void)state;
    assert_int_equal(pgy_context_set_input_shape(c, "x", 1, &shape, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_input(c, "x", xs, sizeof xs, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "where", where, sizeof where, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_profiler(c, &p, true, NULL), PGY_OK);
    execute(c);
    assert_int_equal(where[0], 1);
    expect_heard(&h, 2);
    pgy_context_destroy(c);
}

/* Values that a listener has seen, and in which order. */
typedef struct seen {
    char names[512];
    float first[16];
    size_t count, stop_at;
    pgy_context *cancel;
} seen;

static bool see(void *user, const char *name, pgy_view v)
{
    seen *s = user;
    snprintf(s->names + strlen(s->names), sizeof s->names - strlen(s->names), "%s ", name);
    if (s->count < 16 && v.dtype == PGY_F32) s->first[s->count] = *(const float *)v.data;
    s->count++;
    if (s->cancel) pgy_context_cancel(s->cancel);
    return !s->stop_at || s->count < s->stop_at;
}

static void test_runtime__a_marked_tensor_is_seen_and_changes_nothing(void **state)
{
    static const char *const NAMES[] = {"m"};
    pgy_build_config config = RANGED;
    config.debug_tensors = (pgy_name_list){.items = NAMES, .count = 1, .given = true};
    float y[8], z[8], quiet[8];
    seen s = {0};
    const pgy_debug_listener l = {.size = sizeof l, .user = &s, .tensor = see};
    pgy_context *c = context_for(build_with(small_model(), &config), NULL);
    (void)state;
    bind(c, quiet, z);
    execute(c);
    bind(c, y, z);
    assert_int_equal(pgy_context_set_debug_listener(c, &l, NULL), PGY_OK);
    execute(c);
    assert_string_equal(s.names, "m ");
    assert_float_equal(s.first[0], 0.75, 1e-6);
    assert_memory_equal(y, quiet, sizeof y);
    assert_int_equal(pgy_context_set_debug(c, "m", false, NULL), PGY_OK);
    execute(c);
    assert_int_equal(s.count, 1);
    assert_int_equal(pgy_context_set_debug(c, "y", true, NULL), PGY_E_NOT_FOUND);
    assert_int_equal(pgy_context_set_debug(c, NULL, true, NULL), PGY_OK);
    execute(c);
    assert_int_equal(s.count, 2);
    pgy_context_destroy(c);
}

static void test_runtime__a_name_that_is_not_there_cannot_be_marked(void **state)
{
    static const char *const NAMES[] = {"m", "nowhere"};
    pgy_build_config config = RANGED;
    config.debug_tensors = (pgy_name_list){.items = NAMES, .count = 2, .given = true};
    pgy_model *model = small_model();
    pgy_engine *e = NULL;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_engine_build(&e, model, &config, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "'nowhere'"));
    pgy_model_destroy(model);
}

/* Runs the wide model; h and d are its outputs. */
typedef struct wide_run {
    float h[10], d[1600];
} wide_run;

static float WIDE_X[432];

static void bind_wide(pgy_context *c, wide_run *r, const bool *which)
{
    for (size_t i = 0; i < 432; i++) WIDE_X[i] = (float)((i * 7919 + 13) % 101) / 50.0f - 1;
    assert_int_equal(pgy_context_set_input(c, "x", WIDE_X, sizeof WIDE_X, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_input(c, "which", which, 1, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "h", r->h, sizeof r->h, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "d", r->d, sizeof r->d, NULL), PGY_OK);
}

static void test_runtime__what_fusions_leave_is_seen(void **state)
{
    const pgy_build_config config = {.size = sizeof config, .debug_unfused = true, .threads = 2};
    static wide_run quiet, loud;
    const bool which = false;
    seen s = {0};
    const pgy_debug_listener l = {.size = sizeof l, .user = &s, .tensor = see};
    pgy_context *c = context_for(build_with(wide_model(), &config), NULL);
    (void)state;
    bind_wide(c, &quiet, &which);
    execute(c);
    assert_int_equal(pgy_context_set_debug_listener(c, &l, NULL), PGY_OK);
    bind_wide(c, &loud, &which);
    execute(c);
    assert_memory_equal(&quiet, &loud, sizeof quiet);
    assert_non_null(strstr(s.names, "t "));
    assert_non_null(strstr(s.names, "f "));
    assert_non_null(strstr(s.names, "i p q h "));
    assert_null(strstr(s.names, "w "));
    assert_float_equal(s.first[0], tanhf(WIDE_X[0]), 1e-6);
    pgy_context_destroy(c);
}

static void test_runtime__a_listener_can_end_a_run(void **state)
{
    const pgy_build_config config = {.size = sizeof config, .debug_unfused = true, .threads = 2};
    static wide_run r;
    const bool which = true;
    seen s = {.stop_at = 2};
    const pgy_debug_listener l = {.size = sizeof l, .user = &s, .tensor = see};
    pgy_context *c = context_for(build_with(wide_model(), &config), NULL);
    pgy_error err = {0};
    (void)state;
    bind_wide(c, &r, &which);
    assert_int_equal(pgy_context_set_debug_listener(c, &l, NULL), PGY_OK);
    assert_int_equal(pgy_context_execute(c, &err), PGY_E_CANCELLED);
    assert_int_equal(s.count, 2);
    s = (seen){.cancel = c};
    assert_int_equal(pgy_context_execute(c, &err), PGY_E_CANCELLED);
    assert_int_equal(s.count, 1);
    assert_string_equal(err.text, "the run was cancelled");
    s = (seen){0};
    pgy_context_cancel(c);
    execute(c);
    assert_true(s.count > 4);
    pgy_context_destroy(c);
}

static void test_runtime__interpreted_nodes_are_seen_and_cancelled(void **state)
{
    const pgy_build_config config = {.size = sizeof config, .debug_unfused = true};
    const float xs[] = {0, 3};
    const int64_t shape = 2;
    int64_t where[2];
    seen s = {0};
    const pgy_debug_listener l = {.size = sizeof l, .user = &s, .tensor = see};
    pgy_context *c = context_for(build_with(data_model(), &config), NULL);
    (void)state;
    assert_int_equal(pgy_context_set_input_shape(c, "x", 1, &shape, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_input(c, "x", xs, sizeof xs, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "where", where, sizeof where, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_debug_listener(c, &l, NULL), PGY_OK);
    execute(c);
    assert_string_equal(s.names, "a where ");
    s = (seen){.cancel = c};
    assert_int_equal(pgy_context_execute(c, NULL), PGY_E_CANCELLED);
    assert_string_equal(s.names, "a ");
    assert_int_equal(pgy_context_set_debug_listener(c, NULL, NULL), PGY_OK);
    execute(c);
    pgy_context_destroy(c);
}

/* ---- Progress ------------------------------------------------------------------------------- */

typedef struct progress {
    char text[4096];
    size_t starts, finishes, steps, stop_at;
} progress;

static void begin(void *user, const char *phase, const char *parent, size_t step_count)
{
    progress *p = user;
    p->starts++;
    snprintf(p->text + strlen(p->text), sizeof p->text - strlen(p->text), "%s (%s, %zu); ", phase,
             parent ? parent : "-", step_count);
}

static bool go_on(void *user, const char *phase, size_t step)
{
    progress *p = user;
    (void)phase, (void)step;
    return ++p->steps != p->stop_at;
}

static void end(void *user, const char *phase)
{
    (void)phase;
    ((progress *)user)->finishes++;
}

static void test_runtime__a_monitor_hears_and_can_stop_the_build(void **state)
{
    progress p = {.stop_at = 0};
    const pgy_progress_monitor m = {
        .size = sizeof m, .user = &p, .start = begin, .step = go_on, .finish = end};
    pgy_build_config config = RANGED;
    pgy_engine *e = NULL;
    pgy_error err = {0};
    (void)state;
    config.monitor = &m;
    pgy_engine_release(build_with(small_model(), &config));
    assert_non_null(strstr(p.text, "Rewriting the graph (-, "));
    assert_non_null(strstr(p.text, "Building a program (-, 3); "));
    assert_non_null(strstr(p.text, "Looking for kernels (Building a program, "));
    assert_int_equal(p.starts, p.finishes);
    const size_t steps = p.steps;
    for (size_t stop = 1; stop <= steps; stop++) {
        pgy_model *model = small_model();
        p = (progress){.stop_at = stop};
        assert_int_equal(pgy_engine_build(&e, model, &config, &err), PGY_E_CANCELLED);
        assert_null(e);
        assert_int_equal(p.steps, stop);
        assert_int_equal(p.starts, p.finishes);
        pgy_model_destroy(model);
    }
    assert_non_null(strstr(err.text, "cancelled the build"));
}

/* ---- Errors --------------------------------------------------------------------------------- */

static void test_runtime__errors_are_recorded(void **state)
{
    pgy_error_recorder *own = NULL, *of_engine = NULL;
    pgy_engine *e = build_with(small_model(), &RANGED);
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_error_recorder_create(&own, 2, NULL), PGY_OK);
    assert_int_equal(pgy_error_recorder_create(&of_engine, 0, NULL), PGY_OK);
    pgy_engine_set_error_recorder(e, of_engine);
    pgy_context *c = context_for(e, NULL);
    assert_int_not_equal(pgy_context_execute(c, NULL), PGY_OK);
    assert_int_equal(pgy_error_recorder_count(of_engine), 1);
    pgy_context_set_error_recorder(c, own);
    for (int i = 0; i < 3; i++) assert_int_not_equal(pgy_context_execute(c, NULL), PGY_OK);
    assert_int_equal(pgy_error_recorder_count(of_engine), 1);
    assert_int_equal(pgy_error_recorder_count(own), 2);
    assert_true(pgy_error_recorder_overflowed(own));
    assert_int_equal(pgy_error_recorder_at(&err, own, 0), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "input 'x' has no shape"));
    assert_int_equal(pgy_error_recorder_at(NULL, own, 2), PGY_OK);
    pgy_error_recorder_clear(own);
    assert_int_equal(pgy_error_recorder_count(own), 0);
    assert_false(pgy_error_recorder_overflowed(own));
    pgy_error_recorder_release(own);
    pgy_error_recorder_release(of_engine);
    pgy_context_destroy(c);
}

/* ---- Threads -------------------------------------------------------------------------------- */

static void test_runtime__streams_run_in_order(void **state)
{
    float y[8] = {0}, z[8] = {0};
    pgy_ticket first = 0, second = 0;
    pgy_stream *s = NULL;
    pgy_context *c = small_context(NULL);
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_stream_create(&s, NULL), PGY_OK);
    assert_int_equal(pgy_stream_last(s), 0);
    assert_int_equal(pgy_context_enqueue(c, s, &first, NULL), PGY_OK);
    assert_int_equal(pgy_stream_wait(s, first, &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "has no shape"));
    assert_int_equal(pgy_stream_synchronize(s, NULL), PGY_E_SHAPE);
    assert_int_equal(pgy_stream_synchronize(s, NULL), PGY_OK);
    bind(c, y, z);
    for (int i = 0; i < 10; i++) assert_int_equal(pgy_context_enqueue(c, s, &second, NULL), PGY_OK);
    assert_int_equal(second, first + 10);
    assert_int_equal(pgy_stream_last(s), second);
    assert_int_equal(pgy_stream_wait(s, second, NULL), PGY_OK);
    assert_true(pgy_stream_is_done(s, first) && pgy_stream_is_done(s, second));
    assert_int_equal(pgy_stream_wait(s, second + 1, NULL), PGY_E_ARGUMENT);
    expect_right(y, z);
    pgy_stream_destroy(s);
    pgy_context_destroy(c);
}

/* The same for any number of threads, and in every run. */
static void test_runtime__results_do_not_depend_on_threads(void **state)
{
    const pgy_build_config config = {.size = sizeof config, .threads = 1};
    static wide_run wanted[2], got;
    pgy_engine *e = build_with(wide_model(), &config);
    (void)state;
    for (size_t threads = 1; threads <= 4; threads++) {
        const pgy_context_options o = {.size = sizeof o, .threads = threads};
        pgy_context *c = context_for(pgy_engine_retain(e), &o);
        for (int run = 0; run < 6; run++) {
            const bool which = run % 2;
            const bool first = threads == 1 && run < 2;
            bind_wide(c, first ? &wanted[which] : &got, &which);
            execute(c);
            if (!first) assert_memory_equal(&got, &wanted[which], sizeof got);
        }
        pgy_context_destroy(c);
    }
    assert_memory_not_equal(wanted[0].h, wanted[1].h, sizeof wanted[0].h);
    pgy_engine_release(e);
}

/* One of several threads with contexts of one engine. */
typedef struct worker {
    pgy_engine *engine;
    pgy_team *shared;
    int64_t rows;
    int failures;
} worker;

static void *work(void *user)
{
    worker *w = user;
    const pgy_context_options o = {.size = sizeof o, .threads = 2, .team = w->shared};
    pgy_context *c = NULL;
    float x[24], y[32], z[32];
    if (pgy_context_create(&c, w->engine, &o, NULL)) return NULL;
    for (int round = 0; round < 20; round++) {
        const int64_t rows = 1 + (w->rows + round) % 8, shape[] = {rows, 3};
        for (int64_t i = 0; i < rows * 3; i++) x[i] = (float)(i % 5) / 4;
        w->failures += pgy_context_set_input_shape(c, "x", 2, shape, NULL) != PGY_OK;
        w->failures += pgy_context_set_input(c, "x", x, sizeof x, NULL) != PGY_OK;
        w->failures += pgy_context_set_output(c, "y", y, sizeof y, NULL) != PGY_OK;
        w->failures += pgy_context_set_output(c, "z", z, sizeof z, NULL) != PGY_OK;
        w->failures += pgy_context_execute(c, NULL) != PGY_OK;
        for (int64_t i = 0; i < rows; i++) {
            const float wanted = tanhf(x[3 * i] + x[3 * i + 1] + x[3 * i + 2]);
            w->failures += fabsf(y[4 * i] - wanted) > 1e-5f;
            w->failures += fabsf(z[4 * i] - asinhf(wanted)) > 1e-5f;
        }
    }
    pgy_context_destroy(c);
    return NULL;
}

static void run_workers(pgy_team *shared)
{
    enum { COUNT = 4 };
    pgy_engine *e = build_with(small_model(), &RANGED);
    pthread_t threads[COUNT];
    worker workers[COUNT];
    for (int i = 0; i < COUNT; i++) {
        workers[i] = (worker){.engine = e, .shared = shared, .rows = i, .failures = 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    pgy_engine_release(e);
}

/* Each infers and builds for shapes of its own while others run steps by definition. */
static void test_runtime__contexts_of_one_engine_run_side_by_side(void **state)
{
    (void)state;
    run_workers(NULL);
}

static void test_runtime__contexts_share_a_team(void **state)
{
    pgy_team *shared = NULL;
    (void)state;
    assert_int_equal(pgy_team_create(&shared, 2, NULL), PGY_OK);
    run_workers(shared);
    pgy_team_release(shared);
}

/* Branches write into their graph while they run: each context has a copy of it. */
static void *work_wide(void *user)
{
    worker *w = user;
    wide_run *r = mem_alloc(sizeof *r), *again = mem_alloc(sizeof *again);
    pgy_context *c = NULL;
    const bool which = w->rows % 2;
    if (pgy_context_create(&c, w->engine, NULL, NULL)) return NULL;
    for (int round = 0; round < 5; round++) {
        wide_run *to = round ? again : r;
        w->failures += pgy_context_set_input(c, "x", WIDE_X, sizeof WIDE_X, NULL) != PGY_OK;
        w->failures += pgy_context_set_input(c, "which", &which, 1, NULL) != PGY_OK;
        w->failures += pgy_context_set_output(c, "h", to->h, sizeof to->h, NULL) != PGY_OK;
        w->failures += pgy_context_set_output(c, "d", to->d, sizeof to->d, NULL) != PGY_OK;
        w->failures += pgy_context_execute(c, NULL) != PGY_OK;
        w->failures += round && memcmp(r, again, sizeof *r) != 0;
    }
    pgy_context_destroy(c);
    mem_free(r);
    mem_free(again);
    return NULL;
}

static void test_runtime__branches_run_side_by_side(void **state)
{
    enum { COUNT = 4 };
    const pgy_build_config config = {.size = sizeof config, .threads = 1};
    pgy_engine *e = build_with(wide_model(), &config);
    pthread_t threads[COUNT];
    worker workers[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        workers[i] = (worker){.engine = e, .rows = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work_wide, &workers[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    pgy_engine_release(e);
}

/* Interpreted: x w, and where that is not zero. */
static void *work_on_nodes(void *user)
{
    worker *w = user;
    pgy_context *c = NULL;
    if (pgy_context_create(&c, w->engine, NULL, NULL)) return NULL;
    for (int round = 0; round < 10; round++) {
        const int64_t rows = 1 + (w->rows + round) % 4, shape[] = {rows, 3};
        float x[12] = {0};
        int64_t where[2 * 16];
        x[0] = 1;
        w->failures += pgy_context_set_input_shape(c, "x", 2, shape, NULL) != PGY_OK;
        w->failures += pgy_context_set_input(c, "x", x, sizeof x, NULL) != PGY_OK;
        w->failures += pgy_context_set_output(c, "where", where, sizeof where, NULL) != PGY_OK;
        w->failures += pgy_context_execute(c, NULL) != PGY_OK;
        for (int64_t i = 0; i < 4; i++) w->failures += where[i] != 0 || where[4 + i] != i;
    }
    pgy_context_destroy(c);
    return NULL;
}

static void test_runtime__interpreted_graphs_run_side_by_side(void **state)
{
    enum { COUNT = 4 };
    const pgy_build_config config = {.size = sizeof config, .threads = 2};
    model_builder b = builder_start(17);
    (void)state;
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "NonZero", "m", "where");
    builder_output(&b, "where", PGY_I64, NULL);
    pgy_engine *e = build_with(builder_finish_bytes(&b), &config);
    pthread_t threads[COUNT];
    worker workers[COUNT];
    for (int i = 0; i < COUNT; i++) {
        workers[i] = (worker){.engine = e, .rows = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work_on_nodes, &workers[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    pgy_engine_release(e);
}

/* Cancelled from another thread until it has hit a run. */
typedef struct canceller {
    pgy_context *context;
    atomic_bool done;
} canceller;

static void *cancel_again_and_again(void *user)
{
    canceller *k = user;
    while (!atomic_load(&k->done)) pgy_context_cancel(k->context);
    return NULL;
}

static void test_runtime__another_thread_cancels(void **state)
{
    const pgy_build_config config = {.size = sizeof config, .threads = 2};
    static wide_run r;
    const bool which = true;
    pgy_context *c = context_for(build_with(wide_model(), &config), NULL);
    canceller k = {.context = c};
    pthread_t thread;
    pgy_status st = PGY_OK;
    (void)state;
    bind_wide(c, &r, &which);
    assert_int_equal(pthread_create(&thread, NULL, cancel_again_and_again, &k), 0);
    for (int i = 0; !st && i < 100000; i++) st = pgy_context_execute(c, NULL);
    atomic_store(&k.done, true);
    pthread_join(thread, NULL);
    assert_int_equal(st, PGY_E_CANCELLED);
    execute(c);
    pgy_context_destroy(c);
}
