/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "precision/quant.h"

#define LAYER(name, wide, narrow) "{\"name\": \"" name "\", \"float32_ms\": " wide ", \"float16_ms\": " narrow "}"
#define FILE_OF(layers) "{\"other_ms\": 1, \"cast_ms_per_byte\": 0.5, \"layers\": [" layers "]}"

static void expect(const char *text, const char *error)
{
    pgy_precision_layer layers[] = {{.name = "a"}, {.name = "b\""}};
    pgy_precision p = {.options = pgy_precision_options_default(), .layers = layers};
    pgy_error err = {0};
    p.summary.layers = 2;
    assert_int_equal(times_create(&p, &err), PGY_OK);
    const pgy_status st = times_parse(&p, span_of(text), "t.json", &err);
    if (error) {
        assert_int_not_equal(st, PGY_OK);
        assert_string_equal(err.text, error);
    } else {
        assert_int_equal(st, PGY_OK);
        assert_true(p.times.ms[LEVEL_WIDE][0] == 2 && p.times.ms[LEVEL_FIRST][1] == 5);
        assert_true(p.times.other_ms == 1 && p.times.cast_ms_per_byte[LEVEL_FIRST] == 0.5);
    }
    times_deinit(&p.times);
}

static void test_times__reads_layers_in_any_order(void **state)
{
    (void)state;
    expect(FILE_OF(LAYER("b\\\"", "4", "5") ", " LAYER("other", "0", "0") ", " LAYER("a", "2", "3")), NULL);
}

static void test_times__names_what_is_wrong(void **state)
{
    (void)state;
    expect("[]", "t.json: expected a JSON object with an array 'layers'");
    expect(FILE_OF(LAYER("a", "2", "3")), "t.json: layer 'b\"' is missing: the times are those of another model");
    expect(FILE_OF("{\"float32_ms\": 1}"), "t.json: line 1: the layer has no 'name'");
    expect(FILE_OF("7"), "t.json: line 1: the layer has no 'name'");
    expect(FILE_OF(LAYER("a", "2", "NaN")),
           "t.json: line 1: 'float16_ms' of layer 'a' is negative or not finite; expected a number of at least 0");
    expect(FILE_OF(LAYER("a", "\"2\"", "1")), "t.json: line 1: 'float32_ms' of layer 'a' is not a number; expected a number of at least 0");
    expect("{\"other_ms\": 1, \"layers\": []}", "t.json: line 1: 'cast_ms_per_byte' is missing; expected a number of at least 0");
}

/* Layer a can have 8 bits only, b only 16. */
static void test_times__of_a_mix_have_each_type_that_a_layer_can_have(void **state)
{
    (void)state;
    static const char FILE_TEXT[] =
        "{\"other_ms\": 1, \"int8_cast_ms_per_byte\": 0.5, \"float16_cast_ms_per_byte\": 0.25, \"layers\": ["
        "{\"name\": \"a\", \"float32_ms\": 4, \"int8_ms\": 2}, {\"name\": \"b\", \"float32_ms\": 8, \"float16_ms\": 6}]}";
    pgy_precision_layer layers[] = {{.name = "a"}, {.name = "b"}};
    bool can_rest[] = {false, true};
    size_t site_of[] = {1, 0}, nodes[] = {0, 1};
    struct quantizer q = {.site_of = site_of};
    pgy_precision p = {.options = pgy_precision_options_default(), .layers = layers, .nodes = nodes, .quantizer = &q, .can_rest = can_rest};
    pgy_error err = {0};
    char *again = NULL;
    p.options.type = PGY_I8;
    p.options.rest_type = PGY_F16;
    p.summary.layers = 2;
    assert_int_equal(times_create(&p, &err), PGY_OK);
    assert_int_equal(times_parse(&p, span_of(FILE_TEXT), "t.json", &err), PGY_OK);
    assert_true(p.times.ms[LEVEL_FIRST][0] == 2 && p.times.ms[LEVEL_REST][1] == 6 && p.times.ms[LEVEL_WIDE][1] == 8);
    assert_true(p.times.cast_ms_per_byte[LEVEL_FIRST] == 0.5 && p.times.cast_ms_per_byte[LEVEL_REST] == 0.25);
    assert_int_equal(json_to_text(&again, times_write, &p, &err), PGY_OK);
    assert_non_null(strstr(again, "\"int8_ms\": 2"));
    assert_null(strstr(strstr(again, "\"b\""), "int8_ms"));
    assert_int_equal(times_parse(&p, span_of(FILE_OF(LAYER("a", "2", "3"))), "t.json", &err), PGY_E_FORMAT);
    assert_string_equal(err.text, "t.json: line 1: 'int8_cast_ms_per_byte' is missing; expected a number of at least 0");
    mem_free(again);
    times_deinit(&p.times);
}
