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
    char name[] = "input", layer[] = "layer", format[] = "LINEAR", source[] = "CUDNN";
    int64_t dims[] = {1, 2};
    const char *formats[] = {format}, *sources[] = {source};
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
                             .tactic_sources = {.items = sources, .count = 1, .given = true},
                             .save_tactics = layer,
                             .threads = 3};
    pgy_build_config *to = NULL;
    arena memory = {0};
    assert_int_equal(config_copy(&to, &from, &memory, NULL), PGY_OK);
    memset(name, '-', strlen(name));
    memset(layer, '-', strlen(layer));
    memset(format, '-', strlen(format));
    memset(source, '-', strlen(source));
    dims[0] = 9;
    assert_string_equal(to->profiles[0].ranges[0].name, "input");
    assert_int_equal(to->profiles[0].ranges[0].opt[0], 1);
    assert_string_equal(to->layer_types[0].name, "layer");
    assert_int_equal(to->layer_types[0].dtype, PGY_F16);
    assert_string_equal(to->tensor_formats[0].name, "input");
    assert_string_equal(to->tensor_formats[0].formats.items[0], "LINEAR");
    assert_string_equal(to->tactic_sources.items[0], "CUDNN");
    assert_true(to->tactic_sources.given);
    assert_string_equal(to->save_tactics, "layer");
    assert_int_equal(to->threads, 3);
    assert_null(to->load_tactics);
    arena_deinit(&memory);
}

static void test_config__weight_budgets_are_numbers(void **state)
{
    (void)state;
    pgy_build_config c = {.size = sizeof c,
                          .weight_budget = PGY_WEIGHT_BUDGET_PERCENT,
                          .weight_budget_percent = 12.5};
    char *text = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_build_config_json(&text, &c, &err), PGY_OK);
    assert_non_null(strstr(text, "\"weight_budget\": \"PERCENT\""));
    assert_non_null(strstr(text, "\"weight_budget_percent\": 12.5"));
    pgy_text_free(text);
    c.weight_budget_percent = 150;
    assert_int_equal(pgy_build_config_json(&text, &c, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "config.weight_budget_percent: 150 is not between 0 and 100");
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

/* What a build calls back and reads belongs to the copy, but for the objects behind it. */
static void test_config__copies_structs(void **state)
{
    (void)state;
    char cache[] = "cache";
    pgy_calibration calibration = {.size = sizeof calibration, .cache = cache, .quantile = 0.5};
    pgy_progress_monitor monitor = {.size = sizeof monitor, .user = &calibration};
    pgy_build_hook hook = {.network = NULL};
    const pgy_build_config from = {.size = sizeof from,
                                   .calibration = &calibration,
                                   .monitor = &monitor,
                                   .hooks = &hook,
                                   .hook_count = 1};
    pgy_build_config *to = NULL;
    arena memory = {0};
    assert_int_equal(config_copy(&to, &from, &memory, NULL), PGY_OK);
    cache[0] = '-';
    calibration.quantile = 9;
    monitor.user = NULL;
    assert_string_equal(to->calibration->cache, "cache");
    assert_true(to->calibration->quantile == 0.5);
    assert_ptr_equal(to->monitor->user, &calibration);
    assert_ptr_not_equal(to->hooks, &hook);
    arena_deinit(&memory);
}

static void test_config__refuses_what_is_no_enumerator(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_build_config *to = NULL;
    arena memory = {0};
    const pgy_build_config from = {.size = sizeof from, .constraints = (pgy_constraints)7};
    assert_int_equal(config_copy(&to, &from, &memory, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "config.constraints is 7; expected a value from 0 to 2");
    arena_deinit(&memory);
}

static void test_config__as_json(void **state)
{
    (void)state;
    char *text = NULL;
    int64_t dims[] = {1, 2};
    const pgy_profile_range range = {
        .name = "x", .count = 2, .min = dims, .opt = dims, .max = dims};
    const pgy_profile profile = {.ranges = &range, .range_count = 1};
    const pgy_type_choice type = {.name = "conv", .dtype = PGY_F16};
    const pgy_build_config from = {.size = sizeof from,
                                   .fp16 = true,
                                   .threads = 3,
                                   .constraints = PGY_CONSTRAINTS_OBEY,
                                   .layer_types = &type,
                                   .layer_type_count = 1,
                                   .profiles = &profile,
                                   .profile_count = 1};
    assert_int_equal(pgy_build_config_json(&text, &from, NULL), PGY_OK);
    static const char *const PARTS[] = {
        "{\n    \"fp16\": true,\n    \"constraints\": \"OBEY\",\n    \"layer_types\": {\n",
        "        \"conv\": \"float16\"\n",
        "    \"profiles\": [\n        {\n            \"x\": {\n                \"min\": [\n",
        "    \"threads\": 3\n}",
    };
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        assert_non_null(strstr(text, PARTS[i]));
    assert_null(strstr(text, "bf16"));
    pgy_text_free(text);
    assert_int_equal(pgy_build_config_json(&text, NULL, NULL), PGY_OK);
    assert_string_equal(text, "{}");
    pgy_text_free(text);
}
