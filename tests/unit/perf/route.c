/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs, expressions, caches, and searches whose candidates are a shell script: it crashes, fails
 * or answers with times, depending on the route. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "harness/test_folder.h"
#include "perf/route.h"

/* ---- Routes --------------------------------------------------------------------------------- */

static void test_route__errors_say_where_and_what(void **state)
{
    static const struct {
        const char *text, *error;
    } CASES[] = {
        {"", "build route: it names no knob; expected text such as -level=5"},
        {"level=5", "build route: character 1, 'level=5': a knob begins with '-', as in -level=5"},
        {"-fp16=on -level", "build route: character 10, '-level': '=' and a value must follow the "
                            "name, as in -level=5"},
        {"-level=", "build route: character 1, '-level=': a value is missing"},
        {"-level=7", "knob -level: '7' is not one of its values: [0|1|2|3|4|5]"},
        {"-levle=5", "build route: character 1, '-levle=5': there is no such knob; did you mean "
                     "'level'?"},
        {"-pass:fuse_gel=on", "did you mean 'pass:fuse_gelu'"},
        {"-fp16=on -fp16=off", "character 10, '-fp16=off': the knob is given twice"},
        {"-level=[2|5]", "'-level' has a list of values; in a route every knob has one"},
        {"-level=[2|5", "the list of values has no ']'"},
        {"-level=[2||5]", "a value is missing"},
        {"-level=[2|2]", "a value is given twice"},
        {"-level=[2|5]x", "a blank must follow the value"},
        {"-workspace=64Q", "knob -workspace: '64Q' is not one of its values"},
        {"-layer:=fp16", "there is no such knob"},
        {"\x1b[2J", "character 1, '\\x1b[2J'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pgy_route *r = NULL;
        pgy_error err = {0};
        assert_int_equal(pgy_route_parse(&r, CASES[i].text, &err), PGY_E_ARGUMENT);
        if (!strstr(err.text, CASES[i].error)) fail_msg("%s: %s", CASES[i].text, err.text);
    }
}

static void test_route__knobs_set_the_configuration(void **state)
{
    static const pgy_type_choice GIVEN[] = {{"a", PGY_F32}};
    pgy_route *r = NULL;
    pgy_error err = {0};
    pgy_build_config c = {.size = sizeof c,
                          .fp16 = true,
                          .passes = "-fold,-fuse_gelu",
                          .layer_types = GIVEN,
                          .layer_type_count = 1};
    pgy_calibration q = {.size = sizeof q};
    (void)state;
    assert_int_equal(
        pgy_route_parse(&r,
                        "-level=0 -fp16=off -int8=on -threads=3\t-workspace=64M # a comment\n"
                        "-cpu=avx2 -calibrator=minmax -asymmetric=on -pass:fold=on "
                        "-pass:fuse_conv=off -layer:b*=int8 -layer:c=default",
                        &err),
        PGY_OK);
    assert_int_equal(pgy_route_apply(r, &c, &q, &err), PGY_OK);
    assert_true(c.has_optimization_level && c.optimization_level == 0);
    assert_true(!c.fp16 && c.int8 && c.threads == 3 && c.cpu_level == PGY_CPU_AVX2);
    assert_true(c.has_workspace_limit && c.workspace_bytes == 64 << 20);
    assert_true(q.kind == PGY_CALIBRATOR_MIN_MAX && q.asymmetric);
    assert_string_equal(c.passes, "-fuse_gelu,-fuse_conv");
    assert_int_equal(c.layer_type_count, 2);
    assert_string_equal(c.layer_types[0].name, "a");
    assert_string_equal(c.layer_types[1].name, "b*");
    assert_int_equal(c.layer_types[1].dtype, PGY_I8);
    pgy_route_destroy(r);
}

/* ---- Spaces --------------------------------------------------------------------------------- */

static void expect_list(const char *expression, const pgy_build_config *config,
                        pgy_route_strategy strategy, const char *const *expected, size_t count)
{
    pgy_route_space *s = NULL;
    pgy_error err = {0};
    const char *const *routes = NULL;
    size_t found = 0;
    assert_int_equal(pgy_route_space_create(&s, expression, config, NULL, &err), PGY_OK);
    assert_int_equal(pgy_route_space_list(&routes, &found, s, strategy, &err), PGY_OK);
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++) assert_string_equal(routes[i], expected[i]);
    pgy_route_space_destroy(s);
}

static void test_route__fast_changes_one_knob_at_a_time(void **state)
{
    static const char *const EXPECTED[] = {
        "-fp16=off -level=3 -int8=off", "-fp16=on -level=3 -int8=off",
        "-fp16=off -level=0 -int8=off", "-fp16=off -level=5 -int8=off",
        "-fp16=off -level=3 -int8=on"};
    (void)state;
    expect_list("-fp16=[on|off] -level=[0 | 3 |5]\n-int8=[on|off]", NULL, PGY_ROUTE_FAST, EXPECTED,
                5);
}

/* The baseline comes first, whether it is among the combinations or not. */
static void test_route__full_combines_all(void **state)
{
    static const char *const FOUR[] = {"-fp16=off -bf16=off -level=5", "-fp16=on -bf16=on -level=5",
                                       "-fp16=on -bf16=off -level=5",
                                       "-fp16=off -bf16=on -level=5"};
    static const char *const FIVE[] = {"-level=1 -fp16=on", "-level=0 -fp16=on",
                                       "-level=0 -fp16=off", "-level=5 -fp16=on",
                                       "-level=5 -fp16=off"};
    const pgy_build_config c = {
        .size = sizeof c, .fp16 = true, .has_optimization_level = true, .optimization_level = 1};
    (void)state;
    expect_list("-fp16=[on|off] -bf16=[on|off] -level=5", NULL, PGY_ROUTE_FULL, FOUR, 4);
    expect_list("-level=[0|5] -fp16=[on|off]", &c, PGY_ROUTE_FULL, FIVE, 5);
}

static void test_route__a_star_stands_for_all_passes(void **state)
{
    pgy_route_space *s = NULL;
    pgy_error err = {0};
    const char *const *routes = NULL;
    size_t count = 0, passes = 0;
    (void)state;
    while (route_pass_at(passes)) passes++;
    assert_int_equal(pgy_route_space_create(&s, "-pass:*=[on|off]", NULL, NULL, &err), PGY_OK);
    assert_int_equal(pgy_route_space_list(&routes, &count, s, PGY_ROUTE_FAST, &err), PGY_OK);
    assert_true(passes > 10);
    assert_int_equal(count, passes + 1);
    assert_int_equal(pgy_route_space_list(&routes, &count, s, PGY_ROUTE_FULL, &err),
                     PGY_E_UNSUPPORTED);
    pgy_route_space_destroy(s);
}

/* ---- Caches --------------------------------------------------------------------------------- */

static const char CACHE[] =
    "{\"tuner_version\": \"1\", \"accuracy_algorithm\": \"l0\", \"accuracy_parameter\": {\"atol\": "
    "0.5, \"rtol\": 0.25, \"epsilon\": 0.0}, \"accuracy_against\": \"references\", "
    "\"searching_algorithm\": \"fast\", \"command_line\": \"x\", \"default_build_route\": "
    "\"-level=3\", \"tuning_expr\": \"-level=[3|5]\", \"files\": {\"model\": \"/m\", "
    "\"model_hash\": \"0\", \"folder\": \"/\"}, \"argv\": [\"--a b\", \"\\u00e9\\n\"]}\n"
    "{\"iter\": 0, \"build_route\": \"-level=3\", \"crash\": false, \"error_message\": \"\", "
    "\"accuracy_failed\": true, \"accuracy_loss\": {\"y\": 0.5, \"z\": NaN}, \"gpu_time_ms\": 1.5, "
    "\"plan_bytes\": 7}\n"
    "{\"iter\": 1, \"build_route\": \"-level=5\", \"crash\": true, \"error_message\": \"signal\", "
    "\"accuracy_failed\": false, \"accuracy_loss\": {}, \"gpu_time_ms\": null, \"plan_bytes\": "
    "0}\n";

static void test_route__a_cache_is_read_and_written_as_it_was(void **state)
{
    route_cache c;
    pgy_error err = {0};
    str text = {0};
    (void)state;
    assert_int_equal(route_cache_parse(&c, span_of(CACHE), "file", &err), PGY_OK);
    assert_int_equal(c.count, 2);
    assert_true(c.header.has_references && c.header.rtol == 0.25 && c.header.argument_count == 2);
    assert_true(c.results[0].gpu_time_ms == 1.5 && isnan(c.results[0].loss));
    assert_true(c.results[1].crash && isnan(c.results[1].gpu_time_ms));
    assert_ptr_equal(route_cache_find(&c, "-level=5"), &c.results[1]);
    assert_int_equal(route_cache_text(&text, &c, &err), PGY_OK);
    assert_string_equal(str_text(&text), CACHE);
    str_deinit(&text);
    route_cache_deinit(&c);
}

static void test_route__a_cut_last_line_is_left_out(void **state)
{
    route_cache c;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(route_cache_parse(&c, (span){CACHE, sizeof CACHE - 10}, "file", &err), PGY_OK);
    assert_int_equal(c.count, 1);
    route_cache_deinit(&c);
}

static void test_route__a_damaged_cache_is_refused(void **state)
{
    pgy_error err = {0};
    route_cache c;
    str text = {0};
    (void)state;
    assert_int_equal(route_cache_parse(&c, span_of(""), "file", &err), PGY_E_FORMAT);
    assert_string_equal(err.text, "file is empty; expected the cache of a search");
    str_printf(&text, "%s{\"iter\": -1}\n", CACHE);
    assert_int_equal(route_cache_parse(&c, span_of(str_text(&text)), "file", &err), PGY_E_FORMAT);
    assert_string_equal(err.text,
                        "file: line 4: 'iter' is missing or not an integer of at least 0");
    str_deinit(&text);
}

/* ---- Searches ------------------------------------------------------------------------------- */

/* Times of knobs are multiplied; some routes crash, fail, or are wrong. It counts its calls. */
static const char SCRIPT[] =
    "route=${1#--setBuildRoute=}; plan=${2#--saveEngine=}; answer=${3#--tuningResultFile=}\n"
    "echo \"$route\" >> calls; failed=false; time=100; loss=0.25\n"
    "case $route in *cpu=portable*) kill -SEGV $$;; esac\n"
    "case $route in *workspace=1K*) echo '[E] no kernel fits' >&2; exit 1;; esac\n"
    "case $route in *fp16=on*) time=$((time / 2)); loss=0.5;; esac\n"
    "case $route in *bf16=on*) time=$((time / 4)); loss=2; failed=true;; esac\n"
    "case $route in *level=5*) time=$((time * 3 / 4));; esac\n"
    "echo plan > \"$plan\"\n"
    "printf '{\"gpu_time_ms\": %s, \"accuracy_failed\": %s, \"accuracy_loss\": {\"y\": %s}}' $time "
    "$failed $loss > \"$answer\"\n"
    "case $failed in true) exit 1;; esac\n";

static char folder[TEST_PATH_SIZE];
static const char *const WORDS[] = {"sh", "-c", SCRIPT, "candidate"};

static void enter_folder(void)
{
    test_path(folder, "route_XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
}

static void leave_folder(void)
{
    char command[TEST_PATH_SIZE + 16];
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static pgy_route_options options_of(const char *expression, pgy_route_strategy strategy)
{
    pgy_route_options o = pgy_route_options_default();
    o.expression = expression;
    o.strategy = strategy;
    o.cache = "cache";
    o.command = WORDS;
    o.command_count = 4;
    o.has_references = true;
    o.save_plan = "best.plan";
    return o;
}

static size_t count_calls(void)
{
    str text = {0};
    size_t lines = 0;
    if (!file_exists("calls")) return 0;
    assert_int_equal(file_read(&text, "calls", NULL), PGY_OK);
    for (const char *c = str_text(&text); *c; c++) lines += *c == '\n';
    str_deinit(&text);
    return lines;
}

static const pgy_route_result *find(const pgy_route_search *s, const char *part)
{
    for (size_t i = 0; i < pgy_route_search_count(s); i++)
        if (strstr(pgy_route_search_at(s, i)->route, part)) return pgy_route_search_at(s, i);
    fail_msg("no route has %s", part);
    return NULL;
}

static void test_route__crashes_and_failures_are_results(void **state)
{
    pgy_route_search *s = NULL;
    pgy_error err = {0};
    char *text = NULL;
    const pgy_route_options o = options_of("-fp16=[on|off] -bf16=[on|off] -cpu=[native|portable] "
                                           "-workspace=[none|1K]",
                                           PGY_ROUTE_FAST);
    (void)state;
    enter_folder();
    assert_int_equal(pgy_route_search_create(&s, &o, &err), PGY_OK);
    assert_int_equal(pgy_route_search_run(s, &err), PGY_OK);
    assert_int_equal(pgy_route_search_count(s), 5);
    const pgy_route_result *crash = find(s, "cpu=portable"), *failure = find(s, "workspace=1K");
    assert_true(crash->crash && strstr(crash->error, "ended by signal 11"));
    assert_true(!failure->crash);
    assert_string_equal(failure->error, "no kernel fits");
    assert_true(find(s, "bf16=on")->accuracy_failed && !find(s, "bf16=on")->on_front);
    assert_ptr_equal(pgy_route_search_fastest(s), find(s, "fp16=on"));
    assert_true(find(s, "fp16=on")->on_front && pgy_route_search_at(s, 0)->on_front);
    assert_int_equal(pgy_route_search_text(&text, s, &err), PGY_OK);
    assert_non_null(strstr(text, "takes 50.0 % less time than the baseline"));
    assert_non_null(strstr(text, "-cpu=portable  CRASH: its process was ended by signal 11"));
    assert_non_null(strstr(text, "-workspace=1K  FAILED: no kernel fits"));
    assert_non_null(strstr(text, "3 of 5 routes failed."));
    assert_true(file_exists("best.plan") && !file_exists("best.plan.iter1"));
    pgy_text_free(text);
    pgy_route_search_destroy(s);
    leave_folder();
}

static void test_route__a_search_goes_on_where_it_was(void **state)
{
    pgy_route_search *s = NULL;
    pgy_error err = {0};
    pgy_route_options o = options_of("-fp16=[on|off] -level=[3|5]", PGY_ROUTE_FULL);
    str text = {0};
    (void)state;
    enter_folder();
    o.timeout_s = 0;
    assert_int_equal(pgy_route_search_create(&s, &o, &err), PGY_OK);
    assert_int_equal(pgy_route_search_run(s, &err), PGY_E_BACKEND);
    assert_int_equal(pgy_route_search_left(s), 4);
    pgy_route_search_destroy(s);
    o.timeout_s = -1;
    o.resume = true;
    assert_int_equal(pgy_route_search_create(&s, &o, &err), PGY_OK);
    assert_int_equal(pgy_route_search_run(s, &err), PGY_OK);
    assert_int_equal(count_calls(), 4);
    pgy_route_search_destroy(s);
    /* the same, as if the third candidate had been interrupted */
    assert_int_equal(file_read(&text, "cache", &err), PGY_OK);
    const char *third = strstr(str_text(&text), "{\"iter\": 2");
    assert_int_equal(
        file_write_all("cache", str_text(&text), (size_t)(third - str_text(&text)), &err), PGY_OK);
    assert_int_equal(pgy_route_search_create(&s, &o, &err), PGY_OK);
    assert_int_equal(pgy_route_search_count(s), 2);
    assert_int_equal(pgy_route_search_run(s, &err), PGY_OK);
    assert_int_equal(count_calls(), 6);
    assert_string_equal(pgy_route_search_fastest(s)->route, "-fp16=on -level=5");
    pgy_route_search_destroy(s);
    /* another search must not use these results */
    o.expression = "-fp16=[on|off] -level=[2|5]";
    assert_int_equal(pgy_route_search_create(&s, &o, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "route.resume: cache is of another search: the expression was "
                                  "'-fp16=[on|off] -level=[3|5]' and is now '-fp16=[on|off] "
                                  "-level=[2|5]'; begin a new search");
    o.resume = false;
    o.timeout_s = 0;
    assert_int_equal(pgy_route_search_create(&s, &o, &err), PGY_OK);
    assert_int_equal(pgy_route_search_run(s, &err), PGY_E_BACKEND);
    assert_true(file_exists("cache.old"));
    pgy_route_search_destroy(s);
    str_deinit(&text);
    leave_folder();
}

/* level and fp16 help alone, the pass does not: 4 routes, then one more. */
static void test_route__mixed_combines_what_helped(void **state)
{
    pgy_route_search *s = NULL;
    pgy_error err = {0};
    pgy_route_options o =
        options_of("-fp16=[on|off] -level=[3|5] -pass:fold=[on|off]", PGY_ROUTE_MIXED);
    (void)state;
    enter_folder();
    o.keep_all_plans = true;
    assert_int_equal(pgy_route_search_create(&s, &o, &err), PGY_OK);
    assert_int_equal(pgy_route_search_run(s, &err), PGY_OK);
    assert_int_equal(pgy_route_search_count(s), 5);
    assert_string_equal(pgy_route_search_fastest(s)->route, "-fp16=on -level=5 -pass:fold=on");
    assert_true(file_exists("best.plan.iter0") && file_exists("best.plan.iter4"));
    pgy_route_search_destroy(s);
    leave_folder();
}

/* ---- The front ------------------------------------------------------------------------------ */

static void test_route__the_front_has_what_nothing_beats(void **state)
{
    pgy_route_result r[] = {
        {.route = "a", .error = "", .gpu_time_ms = 3, .loss = 0, .plan_bytes = 30},
        {.route = "fast", .error = "", .gpu_time_ms = 1, .loss = 0.5, .plan_bytes = 20},
        {.route = "worse than fast", .error = "", .gpu_time_ms = 2, .loss = 0.5, .plan_bytes = 20},
        {.route = "small", .error = "", .gpu_time_ms = 4, .loss = 0.5, .plan_bytes = 10},
        {.route = "wrong", .error = "", .gpu_time_ms = 0.1, .loss = 9, .accuracy_failed = true},
        {.route = "same as a", .error = "", .gpu_time_ms = 3, .loss = 0, .plan_bytes = 30},
    };
    static const bool FRONT[] = {true, true, false, true, false, true};
    (void)state;
    route_mark_front(r, 6);
    for (size_t i = 0; i < 6; i++) assert_int_equal(r[i].on_front, FRONT[i]);
    assert_ptr_equal(route_fastest(r, 6), &r[1]);
}
