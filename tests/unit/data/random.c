/* SPDX-License-Identifier: Apache-2.0 */
/* Generated inputs against NumPy's RandomState and torch.rand. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>

#include <polygraphy/data.h>

#include "data/random_fill.h"

static char logged[8192];

static void keep_log(pgy_severity severity, const char *text, size_t size, void *user)
{
    (void)severity, (void)user;
    size_t used = strlen(logged), room = sizeof logged - 1 - used;
    memcpy(logged + used, text, size < room ? size : room);
    logged[used + (size < room ? size : room)] = 0;
}

static pgy_value_range integers(int64_t low, int64_t high)
{
    return (pgy_value_range){.name = "",
                             .low = (double)low,
                             .high = (double)high,
                             .is_integer = true,
                             .low_int = low,
                             .high_int = high};
}

static pgy_value_range reals(double low, double high)
{
    return (pgy_value_range){.name = "", .low = low, .high = high};
}

static pgy_tensor *draw(mt19937 *g, pgy_dtype dtype, size_t count, pgy_value_range range)
{
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    int64_t shape[] = {(int64_t)count};
    assert_int_equal(pgy_tensor_create(&t, dtype, 1, shape, &err), PGY_OK);
    if (random_fill(t, g, &range, false, &err)) fail_msg("%s", err.text);
    return t;
}

static void assert_draws(mt19937 *g, pgy_dtype dtype, pgy_value_range range, size_t count,
                         const int64_t *expected)
{
    int64_t got[64], shape[] = {(int64_t)count};
    pgy_tensor *t = draw(g, dtype, count, range);
    assert_int_equal(
        pgy_view_convert(pgy_view_of(got, PGY_I64, 1, shape), pgy_tensor_view(t), false, NULL),
        PGY_OK);
    for (size_t i = 0; i < count; i++) assert_int_equal(got[i], expected[i]);
    pgy_tensor_release(t);
}

static void assert_double(double got, double expected)
{
    if (got != expected) fail_msg("%.17g is not %.17g", got, expected);
}

/* ---- The generator ---- */

static void test_random__doubles_and_words(void **state)
{
    (void)state;
    mt19937 g;
    mt19937_seed(&g, 1);
    assert_double(mt19937_double(&g), 0.417022004702574);
    assert_double(mt19937_double(&g), 0.7203244934421581);
    assert_double(mt19937_double(&g), 0.00011437481734488664);
    assert_double(mt19937_double(&g), 0.30233257263183977);
    mt19937_seed(&g, 2);
    assert_double(mt19937_double(&g), 0.43599490214200376);
    assert_double(mt19937_double(&g), 0.025926231827891333);
    assert_double(mt19937_double(&g), 0.5496624778787091);
    mt19937_seed(&g, 1);
    static const uint32_t WORDS[] = {1791095845u, 4282876139u, 3093770124u, 4005303368u};
    for (size_t i = 0; i < 4; i++) assert_int_equal(mt19937_u32(&g), WORDS[i]);
}

static void test_random__small_ranges_of_each_width(void **state)
{
    (void)state;
    static const struct {
        pgy_dtype types[4];
        int64_t values[8];
        double next;
    } CASES[] = {
        {{PGY_I8, PGY_U8}, {5, 4, 1, 0, 7, 7, 8, 8}, 0.00011437481734488664},
        {{PGY_I16, PGY_U16}, {5, 1, 7, 7, 8, 7, 9, 5}, 0.9990405153241447},
        {{PGY_I32, PGY_U32, PGY_I64, PGY_U64}, {5, 8, 9, 5, 0, 0, 1, 7}, 0.34556072704304774},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (size_t k = 0; k < 4 && CASES[i].types[k]; k++) {
            mt19937 g;
            mt19937_seed(&g, 1);
            assert_draws(&g, CASES[i].types[k], integers(0, 9), 8, CASES[i].values);
            assert_double(mt19937_double(&g), CASES[i].next);
        }
}

static void test_random__a_sequence_of_ranges(void **state)
{
    (void)state;
    mt19937 g;
    mt19937_seed(&g, 1);
    assert_draws(&g, PGY_I64, integers(0, 1), 8, (int64_t[]){1, 1, 0, 0, 1, 1, 1, 1});
    assert_draws(&g, PGY_I32, integers(-5, 9), 6, (int64_t[]){-5, -5, -4, 7, 2, 8});
    assert_draws(&g, PGY_I64, integers(0, (int64_t)1 << 40), 3,
                 (int64_t[]){1086103244266, 670132527005, 293850086615});
    assert_double(mt19937_double(&g), 0.45720480798698826);
}

static void test_random__bools_are_bits(void **state)
{
    (void)state;
    static const char BITS[] = "1010010000101111100000110101011011010111";
    mt19937 g;
    int64_t expected[40];
    for (size_t i = 0; i < 40; i++) expected[i] = BITS[i] - '0';
    mt19937_seed(&g, 1);
    assert_draws(&g, PGY_BOOL, integers(0, 1), 40, expected);
    assert_double(mt19937_double(&g), 0.7203244934421581);
}

static void test_random__constant_ranges_draw_nothing(void **state)
{
    (void)state;
    mt19937 g;
    mt19937_seed(&g, 1);
    assert_draws(&g, PGY_I32, integers(7, 7), 3, (int64_t[]){7, 7, 7});
    assert_draws(&g, PGY_U8, integers(255, 255), 2, (int64_t[]){255, 255});
    assert_draws(&g, PGY_BOOL, integers(1, 1), 2, (int64_t[]){1, 1});
    assert_double(mt19937_double(&g), 0.417022004702574);
}

static void assert_tail(pgy_dtype dtype, pgy_value_range range, size_t count, const int64_t *last,
                        size_t last_count, double next)
{
    mt19937 g;
    mt19937_seed(&g, 5);
    pgy_tensor *t = draw(&g, dtype, count, range);
    for (size_t i = 0; i < last_count; i++) {
        int64_t got, one = 1;
        size_t item = pgy_dtype_describe(dtype)->bits / 8;
        char *at = (char *)pgy_tensor_data(t) + (count - last_count + i) * item;
        assert_int_equal(pgy_view_convert(pgy_view_of(&got, PGY_I64, 1, &one),
                                          pgy_view_of(at, dtype, 1, &one), false, NULL),
                         PGY_OK);
        assert_int_equal(got, last[i]);
    }
    assert_double(mt19937_double(&g), next);
    pgy_tensor_release(t);
}

static void test_random__long_runs_and_whole_ranges(void **state)
{
    (void)state;
    assert_tail(PGY_I8, integers(-100, 100), 5001, (int64_t[]){83, 45, 47, 76, -16}, 5,
                0.6337167600678989);
    assert_tail(PGY_U16, integers(0, 65535), 5001, (int64_t[]){277, 27668, 34861}, 3,
                0.9073098280488021);
    assert_tail(PGY_I32, integers(INT32_MIN, INT32_MAX), 1001,
                (int64_t[]){360481398, 1150724581, 1670739498}, 3, 0.6808907084418403);
    assert_tail(PGY_I64, integers(INT64_MIN, INT64_MAX - 2), 1001,
                (int64_t[]){-3497618324968061367, 5360496412108822364, 3989037315837238422}, 3,
                0.6438098336926286);
}

static void test_random__floats_round_from_double(void **state)
{
    (void)state;
    mt19937 g;
    mt19937_seed(&g, 1);
    pgy_tensor *t = draw(&g, PGY_F32, 10007, reals(-1.25, 2.25));
    const uint32_t *bits = pgy_tensor_data(t);
    uint64_t sum = 0;
    for (size_t i = 0; i < 10007; i++) sum += bits[i];
    assert_true(sum == 18340444401127u);
    assert_int_equal(bits[10006], 1064131067);
    pgy_tensor_release(t);
    mt19937_seed(&g, 5);
    t = draw(&g, PGY_F16, 3, reals(0, 10));
    assert_memory_equal(pgy_tensor_data(t), ((uint16_t[]){16497, 18523, 16418}), 6);
    pgy_tensor_release(t);
}

static void test_random__infinite_ends(void **state)
{
    (void)state;
    mt19937 g;
    mt19937_seed(&g, 1);
    pgy_tensor *t = draw(&g, PGY_F32, 4, reals(-INFINITY, INFINITY));
    assert_true(((float *)pgy_tensor_data(t))[0] == INFINITY);
    pgy_tensor_release(t);
    t = draw(&g, PGY_F32, 4, reals(-INFINITY, 3));
    assert_true(((float *)pgy_tensor_data(t))[3] == -INFINITY);
    pgy_tensor_release(t);
}

static void test_random__impossible_ranges(void **state)
{
    (void)state;
    static const struct {
        pgy_dtype dtype;
        int64_t low, high;
    } CASES[] = {{PGY_I32, 2, 1},   {PGY_U8, -1, 5},     {PGY_U8, 0, 256},
                 {PGY_I8, -129, 0}, {PGY_I16, 0, 32768}, {PGY_U64, -1, 1}};
    mt19937 g;
    pgy_error err = {0};
    mt19937_seed(&g, 1);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pgy_tensor *t = NULL;
        int64_t shape[] = {3};
        pgy_value_range r = integers(CASES[i].low, CASES[i].high);
        assert_int_equal(pgy_tensor_create(&t, CASES[i].dtype, 1, shape, NULL), PGY_OK);
        assert_int_equal(random_fill(t, &g, &r, false, &err), PGY_E_ARGUMENT);
        pgy_tensor_release(t);
    }
    pgy_tensor *t = NULL;
    int64_t shape[] = {3};
    pgy_value_range endless = reals(0, INFINITY);
    assert_int_equal(pgy_tensor_create(&t, PGY_I32, 1, shape, NULL), PGY_OK);
    assert_int_equal(random_fill(t, &g, &endless, false, &err), PGY_E_ARGUMENT);
    pgy_tensor_release(t);
}

static void test_random__torch_stream(void **state)
{
    (void)state;
    static const uint32_t F32[] = {1061286949, 1049559510, 1053712152, 1060901960};
    static const uint16_t BF16[] = {0x3f42};
    static const uint16_t F16[] = {14864, 13432};
    static const double F64[] = {0.06105327471962363, 0.2245545065676504, 0.23425251394483937};
    static const struct {
        pgy_dtype dtype;
        size_t count;
        const void *bytes;
    } CASES[] = {{PGY_F32, 4, F32}, {PGY_F64, 3, F64}, {PGY_F16, 2, F16}, {PGY_BF16, 1, BF16}};
    for (size_t i = 0; i < 4; i++) {
        mt19937 g;
        pgy_tensor *t = NULL;
        pgy_value_range unit = reals(0, 1);
        int64_t shape[] = {(int64_t)CASES[i].count};
        mt19937_seed(&g, 1);
        assert_int_equal(pgy_tensor_create(&t, CASES[i].dtype, 1, shape, NULL), PGY_OK);
        assert_int_equal(random_fill(t, &g, &unit, true, NULL), PGY_OK);
        assert_memory_equal(pgy_tensor_data(t), CASES[i].bytes, pgy_tensor_size_bytes(t));
        pgy_tensor_release(t);
    }
}

/* ---- The loader ---- */

static void add(pgy_metadata *m, const char *name, pgy_dtype dtype, int32_t rank,
                const int64_t *shape)
{
    pgy_tensor_info info = {.name = name, .dtype = dtype, .rank = rank, .shape = shape};
    assert_int_equal(pgy_metadata_set(m, &info, NULL), PGY_OK);
}

static pgy_metadata *metadata(void)
{
    pgy_metadata *m = NULL;
    assert_int_equal(pgy_metadata_create(&m, NULL), PGY_OK);
    return m;
}

static pgy_data_loader *make_loader(const pgy_random_options *o, const pgy_metadata *inputs)
{
    pgy_error err = {0};
    pgy_data_loader *l = NULL;
    if (pgy_random_loader_create(&l, o, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_data_loader_set_metadata(l, inputs, &err), PGY_OK);
    return l;
}

static pgy_tensor_map *next(pgy_data_loader *l)
{
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    if (pgy_data_loader_next(&m, l, &err)) fail_msg("%s", err.text);
    return m;
}

static void assert_values(const pgy_tensor_map *m, const char *name, size_t count,
                          const double *expected)
{
    double got[16];
    const pgy_tensor *t = pgy_tensor_map_find(m, name);
    assert_int_equal(pgy_tensor_count(t), count);
    assert_int_equal(
        pgy_view_convert(pgy_view_of(got, PGY_F64, pgy_tensor_rank(t), pgy_tensor_shape(t)),
                         pgy_tensor_view(t), false, NULL),
        PGY_OK);
    for (size_t i = 0; i < count; i++) assert_double(got[i], expected[i]);
}

static void test_random__inputs_share_one_stream(void **state)
{
    (void)state;
    pgy_metadata *m = metadata();
    add(m, "f32", PGY_F32, 2, (int64_t[]){2, 3});
    add(m, "i64", PGY_I64, 1, (int64_t[]){2});
    add(m, "bool", PGY_BOOL, 1, (int64_t[]){5});
    add(m, "f16", PGY_F16, 1, (int64_t[]){2});
    add(m, "u8", PGY_U8, 1, (int64_t[]){6});
    add(m, "f64", PGY_F64, 0, NULL);
    add(m, "i32", PGY_I32, 2, (int64_t[]){1, 2});
    pgy_random_options o = pgy_random_options_default();
    pgy_data_loader *l = make_loader(&o, m);
    pgy_tensor_map *feed = next(l);
    assert_values(feed, "f32", 6,
                  (double[]){.4170219898223877f, .7203245162963867f, .00011437481589382514f,
                             .3023325800895691f, .1467558890581131f, .09233859181404114f});
    assert_values(feed, "i64", 2, (double[]){0, 1});
    assert_values(feed, "bool", 5, (double[]){1, 0, 1, 1, 0});
    assert_values(feed, "f16", 2, (double[]){0.669921875, 0.935546875});
    assert_values(feed, "u8", 6, (double[]){0, 1, 1, 0, 0, 0});
    assert_values(feed, "f64", 1, (double[]){0.3132735169322751});
    assert_values(feed, "i32", 2, (double[]){0, 1});
    assert_null(next(l));
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(m);
}

static void test_random__iterations_count_up_the_seed(void **state)
{
    (void)state;
    pgy_metadata *m = metadata();
    add(m, "x", PGY_F64, 0, NULL);
    pgy_random_options o = pgy_random_options_default();
    o.iterations = 2;
    pgy_data_loader *l = make_loader(&o, m);
    for (int round = 0; round < 2; round++) {
        pgy_tensor_map *a = next(l), *b = next(l);
        assert_values(a, "x", 1, (double[]){0.417022004702574});
        assert_values(b, "x", 1, (double[]){0.43599490214200376});
        assert_null(next(l));
        pgy_tensor_map_destroy(a);
        pgy_tensor_map_destroy(b);
        assert_int_equal(pgy_data_loader_rewind(l, NULL), PGY_OK);
    }
    assert_true(pgy_data_loader_can_regenerate(l));
    pgy_data_loader_destroy(l);
    o.seed = UINT32_MAX;
    l = make_loader(&o, m);
    pgy_tensor_map_destroy(next(l));
    pgy_tensor_map *none = NULL;
    assert_int_equal(pgy_data_loader_next(&none, l, NULL), PGY_E_ARGUMENT); /* seed 2^32 */
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(m);
}

static void test_random__strings_are_decimal_doubles(void **state)
{
    (void)state;
    pgy_metadata *m = metadata();
    add(m, "s", PGY_STRING, 1, (int64_t[]){1});
    pgy_random_options o = pgy_random_options_default();
    pgy_data_loader *l = make_loader(&o, m);
    pgy_tensor_map *feed = next(l);
    const pgy_string *s = pgy_tensor_data(pgy_tensor_map_find(feed, "s"));
    assert_int_equal(s->size, strlen("0.417022004702574"));
    assert_memory_equal(s->data, "0.417022004702574", s->size);
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(m);
}

static void assert_shape(const pgy_tensor_map *m, const char *name, size_t rank,
                         const int64_t *shape)
{
    const pgy_tensor *t = pgy_tensor_map_find(m, name);
    assert_int_equal(pgy_tensor_rank(t), rank);
    for (size_t i = 0; i < rank; i++) assert_int_equal(pgy_tensor_shape(t)[i], shape[i]);
}

static void test_random__dynamic_shapes(void **state)
{
    (void)state;
    pgy_metadata *m = metadata();
    int64_t dynamic[] = {-1, 3}, low[] = {2, 3}, high[] = {8, 3};
    pgy_tensor_info bounded = {.name = "bounded",
                               .dtype = PGY_F32,
                               .rank = 2,
                               .shape = dynamic,
                               .min_shape = low,
                               .max_shape = high};
    pgy_tensor_info upper = {
        .name = "upper", .dtype = PGY_F32, .rank = 2, .shape = dynamic, .max_shape = high};
    assert_int_equal(pgy_metadata_set(m, &bounded, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_set(m, &upper, NULL), PGY_OK);
    add(m, "free", PGY_F32, 2, dynamic);
    pgy_random_options o = pgy_random_options_default();
    pgy_data_loader *l = make_loader(&o, m);
    logged[0] = 0;
    pgy_log_set_sink(keep_log, NULL);
    pgy_tensor_map *feed = next(l);
    pgy_log_set_sink(NULL, NULL);
    assert_shape(feed, "bounded", 2, low);
    assert_shape(feed, "upper", 2, high);
    assert_shape(feed, "free", 2, (int64_t[]){1, 3});
    assert_non_null(strstr(logged, "Input tensor: free [shape=BoundedShape([None, 3], min=None, "
                                   "max=None)] | Will generate data of shape: [1, 3]."));
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(m);
}

static void test_random__user_shapes_types_and_wildcards(void **state)
{
    (void)state;
    pgy_metadata *m = metadata(), *user = metadata();
    int64_t dynamic[] = {-1, 3};
    add(m, "image_a", PGY_F32, 2, dynamic);
    add(m, "image_b", PGY_F32, 2, dynamic);
    add(m, "wrong", PGY_F32, 2, dynamic);
    add(m, "shape", PGY_I64, 1, (int64_t[]){4});
    add(user, "image_*", PGY_DTYPE_NONE, 2, (int64_t[]){5, 3});
    add(user, "image_b", PGY_F16, 2, (int64_t[]){6, 3});
    add(user, "wrong", PGY_DTYPE_NONE, 2, (int64_t[]){5, 4});
    add(user, "shape", PGY_DTYPE_NONE, 4, (int64_t[]){7, 3, 224, 1});
    add(user, "absent", PGY_DTYPE_NONE, 1, (int64_t[]){1});
    pgy_random_options o = pgy_random_options_default();
    o.inputs = user;
    logged[0] = 0;
    pgy_log_set_sink(keep_log, NULL);
    pgy_data_loader *l = make_loader(&o, m);
    pgy_tensor_map *feed = next(l);
    pgy_log_set_sink(NULL, NULL);
    assert_shape(feed, "image_a", 2, (int64_t[]){5, 3});
    assert_shape(feed, "image_b", 2, (int64_t[]){6, 3});
    assert_int_equal(pgy_tensor_dtype(pgy_tensor_map_find(feed, "image_b")), PGY_F16);
    assert_shape(feed, "wrong", 2, (int64_t[]){1, 3}); /* not a valid override */
    assert_values(feed, "shape", 4, (double[]){7, 3, 224, 1});
    assert_non_null(strstr(logged, "Cannot use provided custom shape: [5, 4]"));
    assert_non_null(strstr(logged, "Input tensor: absent | Metadata was provided"));
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(l);
    pgy_error err = {0};
    o.strict = true;
    l = make_loader(&o, m);
    feed = NULL;
    assert_int_equal(pgy_data_loader_next(&feed, l, &err), PGY_E_SHAPE);
    assert_string_equal(err.text, "Input tensor: wrong | random.inputs has the shape [5, 4], but the input has [None, 3]");
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(user);
    pgy_metadata_destroy(m);
}

/* Open dimensions of a given shape are the input's own, or 1: the rule of profiles. */
static void test_random__open_dimensions_of_user_shapes(void **state)
{
    (void)state;
    pgy_metadata *m = metadata(), *user = metadata();
    int64_t low[] = {5, 3, 6};
    pgy_tensor_info bounded = {.name = "bounded",
                               .dtype = PGY_F32,
                               .rank = 3,
                               .shape = (int64_t[]){-1, 3, -1},
                               .min_shape = low};
    add(m, "x", PGY_F32, 4, (int64_t[]){-1, -1, -1, 4});
    assert_int_equal(pgy_metadata_set(m, &bounded, NULL), PGY_OK);
    add(m, "rank", PGY_F32, 2, (int64_t[]){-1, 4});
    add(m, "shape", PGY_I64, 1, (int64_t[]){3});
    add(user, "x", PGY_DTYPE_NONE, 4, (int64_t[]){1, 2, -1, -1});
    add(user, "bounded", PGY_DTYPE_NONE, 3, (int64_t[]){7, -1, -1});
    add(user, "rank", PGY_DTYPE_NONE, 3, (int64_t[]){7, -1, -1});
    add(user, "shape", PGY_DTYPE_NONE, 3, (int64_t[]){7, -1, 2});
    pgy_random_options o = pgy_random_options_default();
    o.inputs = user;
    pgy_data_loader *l = make_loader(&o, m);
    pgy_tensor_map *feed = next(l);
    assert_shape(feed, "x", 4, (int64_t[]){1, 2, 1, 4});
    assert_shape(feed, "bounded", 3, (int64_t[]){7, 3, 6});
    assert_shape(feed, "rank", 2, (int64_t[]){1, 4});
    assert_values(feed, "shape", 3, (double[]){7, 1, 2});
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(user);
    pgy_metadata_destroy(m);
}

static void test_random__ranges_by_name_and_kind(void **state)
{
    (void)state;
    pgy_metadata *m = metadata();
    add(m, "a", PGY_I32, 0, NULL);
    add(m, "b", PGY_F32, 0, NULL);
    add(m, "c", PGY_I32, 0, NULL);
    pgy_value_range ranges[] = {integers(3, 3), integers(4, 4), integers(5, 5), integers(6, 6)};
    ranges[1].name = "c";
    ranges[2].kind = PGY_RANGE_FLOATS;
    ranges[3].name = "ghost";
    pgy_random_options o = pgy_random_options_default();
    o.ranges = ranges;
    o.range_count = 4;
    logged[0] = 0;
    pgy_data_loader *l = make_loader(&o, m);
    pgy_log_set_sink(keep_log, NULL);
    pgy_tensor_map *feed = next(l);
    pgy_log_set_sink(NULL, NULL);
    assert_values(feed, "a", 1, (double[]){3});
    assert_values(feed, "b", 1, (double[]){5});
    assert_values(feed, "c", 1, (double[]){4});
    assert_non_null(strstr(logged, "Extra items in val_range: 'ghost'"));
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(m);
}

static void test_random__types_numpy_lacks(void **state)
{
    (void)state;
    pgy_metadata *m = metadata();
    pgy_error err = {0};
    pgy_tensor_map *feed = NULL;
    add(m, "x", PGY_BF16, 0, NULL);
    pgy_random_options o = pgy_random_options_default();
    pgy_data_loader *l = make_loader(&o, m);
    assert_int_equal(pgy_data_loader_next(&feed, l, &err), PGY_E_TYPE);
    assert_non_null(strstr(err.text, "bfloat16"));
    assert_non_null(strstr(err.text, "pgy_script_loader_create"));
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(m);
}
