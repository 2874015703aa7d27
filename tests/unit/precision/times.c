/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "precision/precision.h"

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
        assert_true(p.times.wide[0] == 2 && p.times.narrow[1] == 5);
        assert_true(p.times.other_ms == 1 && p.times.cast_ms_per_byte == 0.5);
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
