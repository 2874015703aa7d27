/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/model_builder.h"
#include "precision/precision.h"

enum { WIDTH = 4, DEPTH = 6 };

/* y: a chain of scalings, by factors that float16 has to round. */
static pgy_model *make_model(void)
{
    static const char *const NAMES[] = {"x", "a", "b", "c", "d", "e", "y"};
    static const char *const WEIGHTS[] = {"wa", "wb", "wc", "wd", "we", "wy"};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    for (size_t i = 0; i < DEPTH; i++) {
        const float v = 1.0f + 0.0001f * (float)(i * i);
        char inputs[16];
        builder_floats(&b, WEIGHTS[i], "", &v);
        strcpy(inputs, NAMES[i]);
        strcat(inputs, " ");
        strcat(inputs, WEIGHTS[i]);
        builder_node(&b, "Mul", inputs, NAMES[i + 1]);
    }
    builder_output(&b, "y", PGY_F32, "4");
    return builder_finish(&b);
}

/* A loader of samples whose elements are all `values[i]`. */
static pgy_data_loader *make_data(const float *values, size_t count)
{
    const int64_t shape[] = {WIDTH};
    pgy_tensor_map *maps[8];
    pgy_data_loader *data = NULL;
    pgy_error err;
    for (size_t i = 0; i < count; i++) {
        pgy_tensor *t = NULL;
        assert_int_equal(pgy_tensor_map_create(&maps[i], &err), PGY_OK);
        assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, shape, &err), PGY_OK);
        for (size_t k = 0; k < WIDTH; k++) ((float *)pgy_tensor_data(t))[k] = values[i];
        assert_int_equal(pgy_tensor_map_adopt(maps[i], "x", t, &err), PGY_OK);
    }
    assert_int_equal(pgy_list_loader_create(&data, (const pgy_tensor_map *const *)maps, count, &err), PGY_OK);
    for (size_t i = 0; i < count; i++) pgy_tensor_map_destroy(maps[i]);
    return data;
}

static pgy_precision *search_for(const pgy_precision_options *o, const float *values, size_t count)
{
    pgy_model *model = make_model();
    pgy_data_loader *data = make_data(values, count);
    pgy_precision *p = NULL;
    pgy_error err;
    assert_int_equal(pgy_precision_search(&p, model, data, o, &err), PGY_OK);
    pgy_data_loader_destroy(data);
    pgy_model_destroy(model);
    return p;
}

static void test_search__points_trade_cost_for_error(void **state)
{
    (void)state;
    pgy_precision_options o = pgy_precision_options_default();
    o.criterion = PGY_PRECISION_SNR;
    o.limit = 68;
    pgy_precision *p = search_for(&o, (const float[]){1, 1.37f, 0.77f}, 3);
    const pgy_precision_summary *sum = pgy_precision_summarize(p);
    const size_t count = pgy_precision_point_count(p);
    assert_int_equal(sum->layers, DEPTH);
    assert_in_range(sum->narrow, 1, DEPTH - 1);
    assert_true(sum->error <= sum->limit_error && sum->promised_error <= sum->limit_error);
    assert_in_range(count, 3, 100);
    for (size_t i = 1; i < count; i++) {
        assert_true(pgy_precision_point_at(p, i - 1)->bytes < pgy_precision_point_at(p, i)->bytes);
        assert_true(pgy_precision_point_at(p, i - 1)->error > pgy_precision_point_at(p, i)->error);
    }
    assert_true(pgy_precision_point_at(p, count - 1)->error == 0);
    pgy_precision_destroy(p);
}

/* The last sample is held out, and too large for float16. */
static void test_search__held_out_samples_take_layers_back(void **state)
{
    (void)state;
    pgy_precision_options o = pgy_precision_options_default();
    o.criterion = PGY_PRECISION_SNR;
    o.limit = 40;
    pgy_precision *p = search_for(&o, (const float[]){1, 2, 3, 70000}, 4);
    const pgy_precision_summary *sum = pgy_precision_summarize(p);
    assert_int_equal(sum->held_out, 1);
    assert_int_equal(sum->narrow, 0);
    assert_true(sum->held_out_error == 0);
    pgy_precision_destroy(p);
    p = search_for(&o, (const float[]){1, 2, 3, 4}, 4);
    assert_int_equal(pgy_precision_summarize(p)->narrow, DEPTH);
    pgy_precision_destroy(p);
}

/* Values that are not kept are computed again, and are the same. */
static void test_search__kept_values_change_no_result(void **state)
{
    (void)state;
    pgy_precision_options o = pgy_precision_options_default();
    pgy_precision *found[2];
    o.criterion = PGY_PRECISION_SNR;
    o.limit = 68;
    for (size_t i = 0; i < 2; i++) {
        o.max_bytes = i ? 0 : (uint64_t)1 << 20;
        found[i] = search_for(&o, (const float[]){1, 1.37f, 0.77f}, 3);
    }
    assert_true(pgy_precision_summarize(found[0])->promised_error == pgy_precision_summarize(found[1])->promised_error);
    assert_int_equal(pgy_precision_summarize(found[0])->trials, pgy_precision_summarize(found[1])->trials);
    for (size_t i = 0; i < DEPTH; i++) {
        const pgy_precision_layer *a = pgy_precision_layer_at(found[0], i), *b = pgy_precision_layer_at(found[1], i);
        assert_true(a->error == b->error && a->narrow == b->narrow);
    }
    pgy_precision_destroy(found[0]);
    pgy_precision_destroy(found[1]);
}

static void test_search__saves_no_times_without_measuring(void **state)
{
    (void)state;
    pgy_precision_options o = pgy_precision_options_default();
    pgy_error err;
    pgy_precision *p = search_for(&o, (const float[]){1, 2}, 2);
    assert_int_equal(pgy_precision_save_times(p, "times.json", &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "there are no times of layers: 'options.cost' is not PGY_PRECISION_TIME");
    pgy_precision_destroy(p);
}
