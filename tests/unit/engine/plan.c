/* SPDX-License-Identifier: Apache-2.0 */
/* Plans go to a file and come back; what is damaged, foreign or newer is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "engine/context/context.h"
#include "engine/plan/areas.h"
#include "engine/plan/format.h"
#include "engine/plan/plan.h"
#include "harness/model_builder.h"
#include "harness/plain_plan.h"

/* A product with packed weights, a view, an operator by its reference, a branch. */
static pgy_model *small_model(const char *shape)
{
    static const int64_t flat[2] = {-1, 6};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, shape);
    builder_floats(&b, "w", "6, 4", NULL);
    builder_ints(&b, "shape", "2", flat);
    builder_node(&b, "Reshape", "x shape", "r");
    builder_node(&b, "MatMul", "r w", "m");
    builder_node(&b, "Hardmax", "m", "a");
    builder_node(&b, "Add", "m a", "s");
    builder_output(&b, "s", PGY_F32, NULL);
    builder_output(&b, "r", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_tensor_map *feed_of(int64_t n)
{
    pgy_tensor_map *feed = NULL;
    pgy_tensor *t = NULL;
    const int64_t shape[3] = {n, 2, 3};
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 3, shape, NULL), PGY_OK);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        ((float *)pgy_tensor_data(t))[i] = (float)(i % 11) - 5;
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", t, NULL), PGY_OK);
    return feed;
}

static pgy_tensor_map *run(context *s, int64_t n)
{
    pgy_tensor_map *feed = feed_of(n), *out = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    if (context_run(s, feed, out, NULL, &err)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(feed);
    return out;
}

static void expect_same(pgy_tensor_map *a, pgy_tensor_map *b)
{
    assert_int_equal(pgy_tensor_map_count(a), pgy_tensor_map_count(b));
    for (size_t i = 0; i < pgy_tensor_map_count(a); i++) {
        const pgy_tensor *x = pgy_tensor_map_at(a, i), *y = pgy_tensor_map_at(b, i);
        assert_string_equal(pgy_tensor_map_name(a, i), pgy_tensor_map_name(b, i));
        assert_true(pgy_view_same_shape(pgy_tensor_view(x), pgy_tensor_view(y)));
        assert_memory_equal(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(x));
    }
    pgy_tensor_map_destroy(a);
    pgy_tensor_map_destroy(b);
}

/* A context of its own engine. */
static context *context_of(engine *e)
{
    context *c = NULL;
    pgy_error err = {0};
    if (context_create(&c, e, 2, &err)) fail_msg("%s", err.text);
    engine_release(e);
    return c;
}

static context *create(pgy_model *model)
{
    engine *e = NULL;
    pgy_error err = {0};
    if (engine_build(&e, model, NULL, &err)) fail_msg("%s", err.text);
    return context_of(e);
}

static context *open(const char *path)
{
    engine *e = NULL;
    pgy_error err = {0};
    if (engine_open(&e, path, &err)) fail_msg("%s", err.text);
    return context_of(e);
}

/* Built for n rows of x; from `low` to `high` are allowed. */
static char *save_range(pgy_model *model, int64_t low, int64_t n, int64_t high)
{
    const int64_t min[3] = {low, 2, 3}, opt[3] = {n, 2, 3}, max[3] = {high, 2, 3};
    const pgy_profile_range x = {.name = "x", .count = 3, .min = min, .opt = opt, .max = max};
    const pgy_profile profile = {.ranges = &x, .range_count = 1};
    const pgy_build_config config = {
        .size = sizeof config, .profiles = &profile, .profile_count = 1};
    char *path = NULL;
    engine *e = NULL;
    pgy_error err = {0};
    assert_int_equal(file_temp_path(&path, ".plan", &err), PGY_OK);
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    if (engine_save(e, path, &err)) fail_msg("%s", err.text);
    engine_release(e);
    return path;
}

static char *save(pgy_model *model, int64_t n)
{
    return save_range(model, n, n, n);
}

/* A plan of the small model, in memory. */
static str plan_bytes(void)
{
    str bytes = {0};
    pgy_model *model = small_model("2, 2, 3");
    char *path = save(model, 2);
    assert_int_equal(file_read(&bytes, path, NULL), PGY_OK);
    file_temp_release(path);
    pgy_model_destroy(model);
    return bytes;
}

/* The same without deflated sections. */
static str plain_bytes(void)
{
    str bytes = plan_bytes(), plain = {0};
    plain_plan_append(&plain, bytes.data);
    str_deinit(&bytes);
    return plain;
}

static pgy_status parse(const str *bytes, size_t size, bool trusted, pgy_error *err)
{
    plan_file *p = NULL;
    program *made = NULL;
    void *data = mem_alloc_aligned(PLAN_ALIGN, size ? size : 1);
    assert_non_null(data);
    memcpy(data, bytes->data, size);
    pgy_status st = plan_parse(&p, data, size, trusted, err);
    if (!st && plan_describe(p)->program_count) st = plan_program_at(&made, p, 0, true, err);
    program_release(made);
    plan_close(p);
    mem_free(data);
    return st;
}

static void sign(str *bytes)
{
    plan_header h;
    memcpy(&h, bytes->data, sizeof h);
    h.hash = 0;
    const uint64_t hash = hash_xxh64(bytes->data + sizeof h, h.section_count * sizeof(plan_section),
                                     hash_xxh64(&h, sizeof h, 0));
    memcpy(bytes->data + offsetof(plan_header, hash), &hash, sizeof hash);
}

/* ---- Round trips ---------------------------------------------------------------------------- */

static void test_plan__comes_back_with_the_same_results(void **state)
{
    (void)state;
    pgy_model *model = small_model("N, 2, 3");
    char *path = save_range(model, 1, 3, 9);
    context *c = create(model), *loaded = open(path);
    for (int64_t n = 1; n < 5; n++) expect_same(run(loaded, n), run(c, n));
    assert_non_null(context_program(loaded));
    context_destroy(loaded);
    context_destroy(c);
    file_temp_release(path);
    pgy_model_destroy(model);
}

static void test_plan__can_be_saved_from_a_plan(void **state)
{
    (void)state;
    pgy_model *model = small_model("N, 2, 3");
    engine *e = NULL;
    char *first = save_range(model, 1, 3, 9), *second = NULL;
    assert_int_equal(file_temp_path(&second, ".plan", NULL), PGY_OK);
    assert_int_equal(engine_open(&e, first, NULL), PGY_OK);
    assert_int_equal(engine_save(e, second, NULL), PGY_OK);
    context *c = create(model), *again = open(second);
    expect_same(run(again, 4), run(c, 4));
    context_destroy(again);
    context_destroy(c);
    engine_release(e);
    file_temp_release(first);
    file_temp_release(second);
    pgy_model_destroy(model);
}

static void test_plan__keeps_what_was_declared(void **state)
{
    (void)state;
    pgy_model *model = small_model("N, 2, 3");
    char *path = save(model, 3), *text = NULL;
    engine *loaded = NULL;
    assert_int_equal(engine_open(&loaded, path, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_text(&text, engine_inputs(loaded), NULL), PGY_OK);
    assert_non_null(strstr(text, "x [dtype=float32, shape=('N', 2, 3)]"));
    pgy_text_free(text);
    assert_int_equal(pgy_metadata_text(&text, engine_outputs(loaded), NULL), PGY_OK);
    assert_non_null(strstr(text, "'N'"));
    pgy_text_free(text);
    engine_release(loaded);
    file_temp_release(path);
    pgy_model_destroy(model);
}

static void test_plan__of_a_graph_that_is_interpreted(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 2, 3");
    builder_node(&b, "NonZero", "x", "n");
    builder_output(&b, "n", PGY_I64, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    char *path = save(model, 2);
    context *c = create(model), *loaded = open(path);
    expect_same(run(loaded, 2), run(c, 2));
    assert_null(context_program(loaded));
    context_destroy(loaded);
    context_destroy(c);
    file_temp_release(path);
    pgy_model_destroy(model);
}

static void test_plan__same_model_same_bytes(void **state)
{
    (void)state;
    str a = plan_bytes(), b = plan_bytes();
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    str_deinit(&a);
    str_deinit(&b);
}

/* ---- Profiles and programs ------------------------------------------------------------------ */

static pgy_engine *engine_of(pgy_model *model, const pgy_build_config *config)
{
    engine *e = NULL, *loaded = NULL;
    pgy_error err = {0};
    void *bytes = NULL;
    size_t size;
    if (pgy_engine_build(&e, model, config, &err)) fail_msg("%s", err.text);
    if (pgy_engine_serialize(&bytes, &size, e, &err)) fail_msg("%s", err.text);
    if (pgy_engine_load(&loaded, bytes, size, false, &err)) fail_msg("%s", err.text);
    pgy_engine_free_bytes(bytes);
    pgy_engine_release(e);
    return loaded;
}

static const int64_t ONE[] = {1, 2, 3}, TWO[] = {2, 2, 3}, FOUR[] = {4, 2, 3}, FIVE[] = {5, 2, 3},
                     NINE[] = {9, 2, 3};

static const pgy_profile_range RANGES[] = {
    {.name = "x", .count = 3, .min = ONE, .opt = TWO, .max = FOUR},
    {.name = "x", .count = 3, .min = FIVE, .opt = NINE, .max = NINE}};
static const pgy_profile PROFILES[] = {{.ranges = &RANGES[0], .range_count = 1},
                                       {.ranges = &RANGES[1], .range_count = 1}};

static void test_plan__keeps_profiles(void **state)
{
    (void)state;
    const pgy_build_config config = {
        .size = sizeof config, .profiles = PROFILES, .profile_count = 2, .threads = 2};
    pgy_model *model = small_model("N, 2, 3");
    engine *e = engine_of(model, &config);
    pgy_profile_range r;
    assert_int_equal(pgy_engine_profile_count(e), 2);
    assert_int_equal(pgy_engine_range(&r, e, 1, 0), PGY_BOUND_SHAPE);
    assert_string_equal(r.name, "x");
    assert_int_equal(r.count, 3);
    assert_memory_equal(r.min, FIVE, sizeof FIVE);
    assert_memory_equal(r.opt, NINE, sizeof NINE);
    assert_memory_equal(r.max, NINE, sizeof NINE);
    assert_int_equal(pgy_engine_range(&r, e, 2, 0), PGY_BOUND_NONE);
    assert_true(pgy_engine_arena_bytes(e, 1) > pgy_engine_arena_bytes(e, 0));
    assert_int_equal(pgy_engine_config(e)->threads, 2);

    context *c = context_of(engine_retain(e)), *fresh = create(model);
    for (int64_t n = 1; n <= 9; n++) expect_same(run(c, n), run(fresh, n));
    pgy_tensor_map *feed = feed_of(5), *out = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    context_set_profile(c, 0);
    assert_int_equal(context_run(c, feed, out, NULL, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "input 'x' has shape (5, 2, 3), outside the range of profile 0: "
                                  "[1, 2, 3] to [4, 2, 3]");
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    context_destroy(c);
    context_destroy(fresh);
    engine_release(e);
    pgy_model_destroy(model);
}

/* Programs of two profiles share their weights, and so does the graph. */
static void test_plan__weights_are_there_once(void **state)
{
    static float table[512 * 512];
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) table[i] = 0.7F * (float)i;
    model_builder b = builder_start(17);
    builder_input(&b, "i", PGY_I64, "N");
    builder_floats(&b, "table", "512, 512", table);
    builder_node(&b, "Gather", "table i", "g");
    builder_node(&b, "Hardmax", "g", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    static const int64_t SIZES[] = {3, 7};
    const pgy_profile_range ranges[] = {
        {.name = "i", .count = 1, .min = &SIZES[0], .opt = &SIZES[0], .max = &SIZES[0]},
        {.name = "i", .count = 1, .min = &SIZES[1], .opt = &SIZES[1], .max = &SIZES[1]}};
    const pgy_profile profiles[] = {{.ranges = &ranges[0], .range_count = 1},
                                    {.ranges = &ranges[1], .range_count = 1}};
    const pgy_build_config config = {
        .size = sizeof config, .profiles = profiles, .profile_count = 2, .refittable = true};
    pgy_model *model = builder_finish_bytes(&b);
    engine *e = engine_of(model, &config);
    void *bytes = NULL;
    size_t size;
    assert_int_equal(pgy_engine_serialize(&bytes, &size, e, NULL), PGY_OK);
    assert_true(size > sizeof table);
    assert_true(size < sizeof table + 65536);
    pgy_engine_free_bytes(bytes);
    engine_release(e);
    pgy_model_destroy(model);
}

/* The graph of a static model needs no weights that kernels have packed; for other shapes they are
 * found in their packed form, or restored from it. */
static void test_plan__packed_weights_are_not_in_the_graph(void **state)
{
    static float w[300 * 400];
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        static const int64_t SHAPE[] = {4, 300};
        const pgy_profile_range x = {
            .name = "x", .count = 2, .min = SHAPE, .opt = SHAPE, .max = SHAPE};
        const pgy_profile profile = {.ranges = &x, .range_count = 1};
        const pgy_build_config config = {
            .size = sizeof config, .profiles = &profile, .profile_count = 1};
        model_builder b = builder_start(17);
        builder_input(&b, "x", PGY_F32, fixed ? "4, 300" : "N, 300");
        /* Not all the same, or the packed form would be the weights themselves. */
        for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = 0.7F * (float)(i % 1009);
        builder_floats(&b, "w", "300, 400", w);
        builder_node(&b, "MatMul", "x w", "y");
        builder_output(&b, "y", PGY_F32, NULL);
        pgy_model *model = builder_finish_bytes(&b);
        engine *e = engine_of(model, &config);
        void *bytes = NULL;
        size_t size;
        const size_t once = sizeof(float) * 300 * 400;
        assert_int_equal(pgy_engine_serialize(&bytes, &size, e, NULL), PGY_OK);
        assert_true(size > once);
        assert_true(size < once + once / 10);
        pgy_engine_free_bytes(bytes);
        engine_release(e);
        pgy_model_destroy(model);
    }
}

/* Bytes of the plan of a layer that no kernel computes in 16 bits. */
static size_t layer_bytes(const char *op, const char *inputs, const int64_t (*shapes)[4],
                          size_t count, pgy_dtype dtype)
{
    static const char *const NAMES[] = {"w", "b"};
    model_builder b = builder_start(17);
    engine *e = NULL;
    void *bytes = NULL;
    size_t size = 0;
    pgy_error err = {0};
    builder_input(&b, "x", dtype, "1, 32, 12, 12");
    for (size_t i = 0; i < count; i++) {
        pgy_tensor *wide = NULL, *t = NULL;
        const size_t rank = shapes[i][1] ? 4 : 1;
        assert_int_equal(pgy_tensor_create(&wide, PGY_F32, rank, shapes[i], NULL), PGY_OK);
        for (size_t k = 0; k < pgy_tensor_count(wide); k++)
            ((float *)pgy_tensor_data(wide))[k] = (float)(k * 37 % 64) / 64;
        assert_int_equal(pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, NULL), PGY_OK);
        builder_initializer(&b, NAMES[i], t);
        pgy_tensor_release(t);
        pgy_tensor_release(wide);
    }
    builder_node(&b, op, inputs, "y");
    builder_output(&b, "y", dtype, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    if (engine_build(&e, model, NULL, &err)) fail_msg("%s", err.text);
    if (engine_serialize(&bytes, &size, e, &err)) fail_msg("%s", err.text);
    pgy_engine_free_bytes(bytes);
    engine_release(e);
    pgy_model_destroy(model);
    return size;
}

/* A plan in 16 bits stores no more than that of float32, besides the types and places of the
 * tensors that a step converts. */
static void test_plan__16_bits_are_no_larger(void **state)
{
    enum { STEP_BYTES = 400 };
    static const int64_t wide[][4] = {{48, 32, 3, 3}, {48}}, turned[][4] = {{32, 24, 3, 3}},
                         slopes[][4] = {{1, 32, 1, 1}};
    static const struct {
        const char *op, *inputs;
        const int64_t (*shapes)[4];
        size_t count;
    } LAYERS[] = {{"Conv", "x w b", wide, 2},
                  {"Conv", "x w", wide, 1},
                  {"ConvTranspose", "x w", turned, 1},
                  {"PRelu", "x w", slopes, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof LAYERS / sizeof *LAYERS; i++)
        for (int brain = 0; brain < 2; brain++) {
            const size_t single = layer_bytes(LAYERS[i].op, LAYERS[i].inputs, LAYERS[i].shapes,
                                              LAYERS[i].count, PGY_F32);
            const size_t half = layer_bytes(LAYERS[i].op, LAYERS[i].inputs, LAYERS[i].shapes,
                                            LAYERS[i].count, brain ? PGY_BF16 : PGY_F16);
            if (half > single + STEP_BYTES)
                fail_msg("%s: %zu bytes in 16 bits, %zu in float32", LAYERS[i].op, half, single);
        }
}

/* The plan of a chain of layers. */
static str chain(size_t layers, int64_t width, bool half)
{
    const pgy_build_config config = {.size = sizeof config,
                                     .has_optimization_level = true,
                                     .optimization_level = 1,
                                     .fp16 = half};
    const int64_t shape[] = {width, width};
    model_builder b = builder_start(17);
    str plan = {0};
    engine *e = NULL;
    pgy_tensor *w = NULL;
    void *bytes = NULL;
    size_t size = 0;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_create(&w, PGY_F32, 2, shape, NULL), PGY_OK);
    for (size_t i = 0; i < pgy_tensor_count(w); i++)
        ((float *)pgy_tensor_data(w))[i] = 0.7F * (float)(i * 37 % 9973);
    char declared[32];
    snprintf(declared, sizeof declared, "3, 5, %d", (int)width);
    builder_input(&b, "t0", PGY_F32, declared);
    builder_initializer(&b, "w", w);
    for (size_t i = 0; i < layers; i++) {
        char in[32], product[32], made[32], turned[32], read[48];
        snprintf(in, sizeof in, "t%zu", i);
        snprintf(turned, sizeof turned, "a%zu", i);
        snprintf(product, sizeof product, "b%zu", i);
        snprintf(made, sizeof made, "t%zu", i + 1);
        snprintf(read, sizeof read, "%s w", turned);
        builder_attr_ints(&b, builder_node(&b, "Transpose", in, turned), "perm", 3,
                          (const int64_t[]){1, 0, 2});
        builder_node(&b, "MatMul", read, product);
        builder_attr_int(&b, builder_node(&b, "Softmax", product, made), "axis", 0);
    }
    pgy_tensor_release(w);
    char last[16];
    snprintf(last, sizeof last, "t%zu", layers);
    builder_output(&b, last, PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    if (engine_serialize(&bytes, &size, e, &err)) fail_msg("%s", err.text);
    str_append_n(&plan, bytes, size);
    pgy_engine_free_bytes(bytes);
    engine_release(e);
    pgy_model_destroy(model);
    return plan;
}

static size_t chain_bytes(size_t layers, int64_t width, bool half)
{
    str plan = chain(layers, width, half);
    const size_t size = plan.size;
    str_deinit(&plan);
    return size;
}

/* Without deflating, which would hide how much is stored twice. */
static size_t chain_plain_bytes(size_t layers, int64_t width)
{
    str plan = chain(layers, width, false), plain = {0};
    plain_plan_append(&plain, plan.data);
    const size_t size = plain.size;
    str_deinit(&plan);
    str_deinit(&plain);
    return size;
}

/* The parameters of a Transpose are over 2 KB; steps and their names are less than 1 KB for a
 * layer. */
static void test_plan__equal_layers_share_parameters(void **state)
{
    (void)state;
    const size_t few = chain_plain_bytes(4, 8), many = chain_plain_bytes(12, 8);
    assert_true(many - few < 8 * 2048);
}

/* Half of the weights is more than what the Casts and their names take. */
static void test_plan__half_weights_make_it_smaller(void **state)
{
    (void)state;
    for (size_t layers = 1; layers < 12; layers += 5) {
        const size_t single = chain_bytes(layers, 96, false), half = chain_bytes(layers, 96, true);
        if (half > single)
            fail_msg("%zu layers: %zu bytes in 16 bits, %zu in float32", layers, half, single);
    }
}

/* A plan without 16-bit constants may still name an empty range of them. */
static void test_plan__empty_ranges_of_absent_sections(void **state)
{
    (void)state;
    const area_bytes none = {0};
    for (uint64_t area = 0; area < PLAN_AREA_END; area++) {
        const uint64_t offset = area << PLAN_AREA_SHIFT;
        assert_true(area_bytes_hold(&none, offset, 0));
        assert_null(area_bytes_at(&none, offset));
        assert_false(area_bytes_hold(&none, offset, 1));
        assert_false(area_bytes_hold(&none, offset + PLAN_ALIGN, 0));
    }
    assert_false(area_bytes_hold(&none, (uint64_t)PLAN_AREA_END << PLAN_AREA_SHIFT, 0));
}

static pgy_tensor_map *gather(context *c, int64_t index)
{
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_tensor *i = NULL;
    pgy_error err = {0};
    const int64_t one = 1;
    assert_int_equal(pgy_tensor_create(&i, PGY_I64, 1, &one, NULL), PGY_OK);
    *(int64_t *)pgy_tensor_data(i) = index;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "i", i, NULL), PGY_OK);
    if (context_run(c, feed, out, NULL, &err)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(feed);
    return out;
}

enum { WORDS = 4096 };

/* The plan of a model that gathers from a table of words, without deflated sections. */
static str table_plan(const uint32_t *words)
{
    void *bytes = NULL;
    size_t size;
    str plain = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "i", PGY_I64, "1");
    builder_floats(&b, "table", "4096, 1", (const float *)words);
    builder_node(&b, "Gather", "table i", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    engine *e = engine_of(model, NULL);
    assert_int_equal(pgy_engine_serialize(&bytes, &size, e, NULL), PGY_OK);
    plain_plan_append(&plain, bytes);
    pgy_engine_free_bytes(bytes);
    engine_release(e);
    pgy_model_destroy(model);
    return plain;
}

/* Words that are float16 or bfloat16 numbers take half the bytes, and come back bit for bit; one
 * that is neither keeps its tensor as it is. */
static void test_plan__numbers_of_16_bits(void **state)
{
    static const struct {
        uint32_t first, step;
        uint32_t odd; /* one word has this value; 0: none */
        bool small;
    } CASES[] = {
        {0x38800000, 1 << 13, 0, true}, /* float16 numbers from 2^-14 */
        {0, 1 << 22, 0, true},          /* bfloat16 numbers: denormals, infinities, quiet NaNs */
        {0x38800000, 1 << 13, 0x38800001, false}, /* too many bits */
        {0, 1 << 22, 0x7F800001, false},          /* a signalling NaN */
    };
    static uint32_t words[WORDS];
    (void)state;
    for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++) {
        engine *e = NULL;
        pgy_error err = {0};
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = CASES[n].first + i * 40503 % WORDS * CASES[n].step;
        if (CASES[n].odd) words[WORDS / 2] = CASES[n].odd;
        str plan = table_plan(words);
        assert_true((plan.size < sizeof words) == CASES[n].small);
        if (pgy_engine_load(&e, plan.data, plan.size, true, &err)) fail_msg("%s", err.text);
        context *c = context_of(e);
        for (int64_t i = 0; i < WORDS; i += 64) {
            pgy_tensor_map *out = gather(c, i);
            assert_memory_equal(pgy_tensor_data(pgy_tensor_map_at(out, 0)), &words[i], 4);
            pgy_tensor_map_destroy(out);
        }
        context_destroy(c);
        str_deinit(&plan);
    }
}

static void test_plan__can_be_used_where_it_lies(void **state)
{
    (void)state;
    pgy_model *model = small_model("2, 2, 3");
    engine *e = NULL;
    pgy_error err = {0};
    str bytes = plan_bytes();
    assert_int_equal(pgy_engine_load(&e, bytes.data, bytes.size, true, &err), PGY_OK);
    context *c = context_of(e), *fresh = create(model);
    expect_same(run(c, 2), run(fresh, 2));
    context_destroy(c);
    context_destroy(fresh);
    assert_int_equal(pgy_engine_load(&e, bytes.data, 100, false, &err), PGY_E_FORMAT);
    str_deinit(&bytes);
    pgy_model_destroy(model);
}

/* A plan whose kernel no library knows. */
static str plan_with_unknown_kernel(bool compatible)
{
    const pgy_build_config config = {.size = sizeof config, .version_compatible = compatible};
    pgy_model *model = small_model("2, 2, 3");
    engine *e = NULL;
    void *data = NULL;
    size_t size;
    str bytes = {0};
    assert_int_equal(pgy_engine_build(&e, model, &config, NULL), PGY_OK);
    assert_int_equal(pgy_engine_serialize(&data, &size, e, NULL), PGY_OK);
    plain_plan_append(&bytes, data);
    pgy_engine_free_bytes(data);
    engine_release(e);
    pgy_model_destroy(model);
    plan_header h;
    memcpy(&h, bytes.data, sizeof h);
    plan_section *table = (plan_section *)(bytes.data + sizeof h);
    plan_section *strings = &table[PLAN_STRINGS - 1];
    char *text = bytes.data + strings->offset, *end = text + strings->size_bytes;
    size_t found = 0;
    for (; text < end; text += strlen(text) + 1)
        if (strncmp(text, "matmul_", 7) == 0) {
            text[0] = 'M';
            found++;
        }
    assert_true(found > 0);
    strings->hash = hash_xxh64(bytes.data + strings->offset, strings->size_bytes, 0);
    sign(&bytes);
    return bytes;
}

static void test_plan__kernels_of_other_versions(void **state)
{
    (void)state;
    pgy_model *model = small_model("2, 2, 3");
    engine *e = NULL;
    pgy_error err = {0};
    str bytes = plan_with_unknown_kernel(false);
    assert_int_equal(pgy_engine_load(&e, bytes.data, bytes.size, false, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "uses kernel 'Matmul_"));
    assert_non_null(strstr(err.text, "build the plan again"));
    str_deinit(&bytes);
    bytes = plan_with_unknown_kernel(true);
    if (pgy_engine_load(&e, bytes.data, bytes.size, false, &err)) fail_msg("%s", err.text);
    context *c = context_of(e), *fresh = create(model);
    expect_same(run(c, 2), run(fresh, 2));
    context_destroy(c);
    context_destroy(fresh);
    str_deinit(&bytes);
    pgy_model_destroy(model);
}

static void test_plan__is_made_for_a_level_of_processors(void **state)
{
    (void)state;
    static const char *const NAMES[] = {NULL, "portable", "avx2", "avx512"};
    for (int level = PGY_CPU_PORTABLE; level <= PGY_CPU_AVX512; level++) {
        const pgy_build_config config = {.size = sizeof config, .cpu_level = (pgy_cpu_level)level};
        pgy_model *model = small_model("2, 2, 3");
        engine *e = NULL;
        pgy_plan *plan = NULL;
        pgy_error err = {0};
        char *path = NULL;
        const pgy_status st = pgy_engine_build(&e, model, &config, &err);
        pgy_model_destroy(model);
        if (level - PGY_CPU_PORTABLE > (int)cpu_features()) {
            assert_int_equal(st, PGY_E_UNSUPPORTED);
            continue;
        }
        assert_int_equal(st, PGY_OK);
        assert_int_equal(file_temp_path(&path, ".plan", NULL), PGY_OK);
        assert_int_equal(pgy_engine_save(e, path, NULL), PGY_OK);
        assert_int_equal(pgy_plan_open(&plan, path, NULL), PGY_OK);
        assert_string_equal(pgy_plan_describe(plan)->cpu, NAMES[level]);
        pgy_plan_close(plan);
        engine_release(e);
        file_temp_release(path);
    }
}

/* ---- Inspection ----------------------------------------------------------------------------- */

static char *inspect(pgy_profiling_verbosity verbosity, pgy_inspect_format format)
{
    const pgy_build_config config = {.size = sizeof config,
                                     .profiles = PROFILES,
                                     .profile_count = 2,
                                     .profiling_verbosity = verbosity};
    pgy_model *model = small_model("N, 2, 3");
    engine *e = engine_of(model, &config);
    char *text = NULL;
    assert_int_equal(pgy_engine_inspect(&text, e, format, NULL), PGY_OK);
    engine_release(e);
    pgy_model_destroy(model);
    return text;
}

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in: %s", part, text);
}

static void test_plan__inspector_json(void **state)
{
    (void)state;
    static const char *const PARTS[] = {
        "\"Layers\": [",
        "\"Name\": \"n2\"",
        "\"Name\": \"n2 [profile 1]\"",
        "\"LayerType\": \"Hardmax\"",
        "\"Datatype\": \"FP32\"",
        "\"Format\": \"Row major linear\"",
        "\"Constants\": [",
        "\"TacticName\": ",
        "\"StreamId\": 0",
        "\"Metadata\": \"[ONNX Layer: n2]\"",
        "\"I/O Tensors\": [",
        "\"IOMode\": \"Input\"",
        "\"DataType\": \"FP32\"",
        "\"Location\": \"Host\"",
        "\"IsShapeInferenceIO\": false",
        "\"MinShape\": [",
        "\"OptShape\": [",
        "\"MaxShape\": [",
    };
    char *text = inspect(PGY_VERBOSITY_DETAILED, PGY_INSPECT_JSON);
    json_value *root = NULL;
    arena memory = {0};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) expect_in(text, PARTS[i]);
    assert_int_equal(json_parse(&root, text, strlen(text), &memory, NULL), PGY_OK);
    const json_value *inputs = json_get(root, "I/O Tensors");
    assert_int_equal(json_get(json_at(inputs, 0), "ProfileInfo")->count, 2);
    assert_int_equal(inputs->count, 3);
    arena_deinit(&memory);
    pgy_text_free(text);
}

static void test_plan__inspector_tells_what_it_may(void **state)
{
    (void)state;
    char *text = inspect(PGY_VERBOSITY_LAYER_NAMES_ONLY, PGY_INSPECT_JSON);
    assert_null(strstr(text, "LayerType"));
    expect_in(text, "\"n2 [profile 1]\"");
    pgy_text_free(text);
    text = inspect(PGY_VERBOSITY_NONE, PGY_INSPECT_JSON);
    expect_in(text, "\"Layers\": []");
    pgy_text_free(text);
    text = inspect(PGY_VERBOSITY_NONE, PGY_INSPECT_ONELINE);
    assert_string_equal(text, "");
    pgy_text_free(text);
    text = inspect(PGY_VERBOSITY_DETAILED, PGY_INSPECT_ONELINE);
    expect_in(text, "n2 [Hardmax]: m (2, 4) float32 -> a (2, 4) float32 | ");
    pgy_text_free(text);
}

/* ---- What is refused ------------------------------------------------------------------------ */

static void test_plan__cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    str bytes = plan_bytes();
    for (size_t size = 0; size < bytes.size; size += size < 4096 ? 1 : 97) {
        pgy_error err = {0};
        assert_int_not_equal(parse(&bytes, size, false, &err), PGY_OK);
        assert_int_not_equal(err.text[0], 0);
        assert_int_not_equal(parse(&bytes, size, true, &err), PGY_OK);
    }
    str_deinit(&bytes);
}

static void test_plan__a_changed_byte_is_found(void **state)
{
    (void)state;
    str bytes = plan_bytes();
    plan_header h;
    memcpy(&h, bytes.data, sizeof h);
    const plan_section *table = (const plan_section *)(bytes.data + sizeof h);
    for (uint32_t i = 0; i < h.header_bytes; i++) {
        bytes.data[i] ^= 0x40;
        assert_int_not_equal(parse(&bytes, bytes.size, false, NULL), PGY_OK);
        bytes.data[i] ^= 0x40;
    }
    for (uint32_t k = 0; k < h.section_count; k++) {
        for (uint64_t i = 0; i < table[k].size_bytes; i += 1 + table[k].size_bytes / 50) {
            plan_file *p = NULL;
            bytes.data[table[k].offset + i] ^= 1;
            pgy_status st = plan_parse(&p, bytes.data, bytes.size, false, NULL);
            if (!st) st = plan_verify(p, NULL);
            assert_int_equal(st, PGY_E_FORMAT);
            plan_close(p);
            bytes.data[table[k].offset + i] ^= 1;
        }
    }
    assert_int_equal(parse(&bytes, bytes.size, false, NULL), PGY_OK);
    str_deinit(&bytes);
}

/* Behind right hashes anything may stand: it is refused or can be used. */
static void test_plan__wrong_numbers_are_refused(void **state)
{
    (void)state;
    static const uint64_t WRONG[] = {0, 1, 63, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, UINT64_MAX};
    str bytes = plain_bytes();
    plan_header h;
    memcpy(&h, bytes.data, sizeof h);
    size_t refused = 0;
    const plan_section *table = (const plan_section *)(bytes.data + sizeof h);
    const uint64_t end = table[PLAN_PARAMS - 1].offset;
    for (uint64_t i = 0; i + 8 <= end; i += 4) {
        for (size_t k = 0; k < 2 * sizeof WRONG / sizeof *WRONG; k++) {
            char kept[8];
            memcpy(kept, bytes.data + i, 8);
            memcpy(bytes.data + i, &WRONG[k / 2], k % 2 ? 8 : 4);
            refused += parse(&bytes, bytes.size, true, NULL) != PGY_OK;
            memcpy(bytes.data + i, kept, 8);
        }
    }
    assert_true(refused > 1000);
    str_deinit(&bytes);
}

static void test_plan__newer_and_foreign_files_are_refused(void **state)
{
    (void)state;
    str bytes = plan_bytes();
    pgy_error err = {0};
    bytes.data[offsetof(plan_header, major)]++;
    sign(&bytes);
    assert_int_equal(parse(&bytes, bytes.size, false, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "format version 7.0"));
    bytes.data[offsetof(plan_header, major)]--;
    bytes.data[offsetof(plan_header, minor)]++; /* adds what may be left out */
    sign(&bytes);
    assert_int_equal(parse(&bytes, bytes.size, false, NULL), PGY_OK);
    bytes.data[offsetof(plan_header, cpu_level)] = CPU_AVX512 + 1;
    sign(&bytes);
    assert_int_equal(parse(&bytes, bytes.size, false, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "a newer processor"));
    assert_non_null(strstr(err.text, cpu_level_name(cpu_features())));
    memcpy(bytes.data, "ptrt", 4);
    assert_int_equal(parse(&bytes, bytes.size, false, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "not a plan"));
    str_deinit(&bytes);
}

/* Plans of the oldest format have no deflated sections. */
static void test_plan__older_formats(void **state)
{
    (void)state;
    str bytes = plain_bytes();
    pgy_error err = {0};
    bytes.data[offsetof(plan_header, major)] = PLAN_OLDEST_MAJOR;
    sign(&bytes);
    if (parse(&bytes, bytes.size, false, &err)) fail_msg("%s", err.text);
    bytes.data[offsetof(plan_header, major)] = PLAN_OLDEST_MAJOR - 1;
    sign(&bytes);
    assert_int_equal(parse(&bytes, bytes.size, false, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "reads versions 4 to 6: convert the model again"));
    str_deinit(&bytes);
}

/* The same plan with one more section in its table; what lies behind moves by a page. */
static void add_section(str *bytes, const plan_section *more)
{
    plan_header h;
    plan_section table[PLAN_MAX_SECTIONS];
    str larger = {0};
    memcpy(&h, bytes->data, sizeof h);
    memcpy(table, bytes->data + sizeof h, h.section_count * sizeof *table);
    for (uint32_t i = 0; i < h.section_count; i++) table[i].offset += PLAN_BULK_ALIGN;
    table[h.section_count++] = *more;
    h.header_bytes += sizeof *more;
    h.file_bytes += PLAN_BULK_ALIGN;
    str_append_fill(&larger, 0, PLAN_BULK_ALIGN);
    str_append_n(&larger, bytes->data, bytes->size);
    memcpy(larger.data, &h, sizeof h);
    memcpy(larger.data + sizeof h, table, h.section_count * sizeof *table);
    str_deinit(bytes);
    *bytes = larger;
    sign(bytes);
}

static void test_plan__unknown_sections_are_skipped_if_optional(void **state)
{
    (void)state;
    plan_section more = {.kind = 77, .version = 9, .flags = PLAN_OPTIONAL, .offset = 0};
    str bytes = plan_bytes();
    pgy_error err = {0};
    add_section(&bytes, &more);
    if (parse(&bytes, bytes.size, false, &err)) fail_msg("%s", err.text);
    more.flags = 0;
    add_section(&bytes, &more);
    assert_int_equal(parse(&bytes, bytes.size, false, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "section of kind 77"));
    str_deinit(&bytes);
}
