/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration is copied with everything that it points to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/build/config.h"

static void test_config__copies_texts_and_arrays(void **state)
{
    (void)state;
    char name[] = "input", layer[] = "layer", format[] = "LINEAR", flag[] = "FP16";
    int64_t dims[] = {1, 2};
    const char *formats[] = {format}, *flags[] = {flag};
    pgy_profile_range range = {.name = name, .count = 2, .min = dims, .opt = dims, .max = dims};
    pgy_profile profile = {.ranges = &range, .range_count = 1};
    pgy_type_choice type = {.name = layer, .dtype = PGY_F16};
    pgy_format_choice choice = {.name = name, .formats = {.items = formats, .count = 1}};
    pgy_build_config from = {.size = sizeof from,
                             .profiles = &profile,
                             .profile_count = 1,
                             .layer_types = &type,
                             .layer_type_count = 1,
                             .tensor_formats = &choice,
                             .tensor_format_count = 1,
                             .flags = {.items = flags, .count = 1, .given = true},
                             .profiling_verbosity = layer,
                             .threads = 3};
    pgy_build_config *to = NULL;
    arena memory = {0};
    assert_int_equal(config_copy(&to, &from, &memory, NULL), PGY_OK);
    memset(name, '-', strlen(name));
    memset(layer, '-', strlen(layer));
    memset(format, '-', strlen(format));
    memset(flag, '-', strlen(flag));
    dims[0] = 9;
    assert_string_equal(to->profiles[0].ranges[0].name, "input");
    assert_int_equal(to->profiles[0].ranges[0].opt[0], 1);
    assert_string_equal(to->layer_types[0].name, "layer");
    assert_int_equal(to->layer_types[0].dtype, PGY_F16);
    assert_string_equal(to->tensor_formats[0].name, "input");
    assert_string_equal(to->tensor_formats[0].formats.items[0], "LINEAR");
    assert_string_equal(to->flags.items[0], "FP16");
    assert_true(to->flags.given);
    assert_string_equal(to->profiling_verbosity, "layer");
    assert_int_equal(to->threads, 3);
    assert_null(to->save_tactics);
    arena_deinit(&memory);
}

static void test_config__none_is_the_default(void **state)
{
    (void)state;
    pgy_build_config *to = NULL;
    arena memory = {0};
    assert_int_equal(config_copy(&to, NULL, &memory, NULL), PGY_OK);
    assert_int_equal(to->size, sizeof *to);
    assert_int_equal(to->profile_count, 0);
    assert_null(to->profiles);
    arena_deinit(&memory);
}
