/* SPDX-License-Identifier: Apache-2.0 */
/* The command line for trtexec, and what is read in its answers. tests/cli/run_trtexec has whole
 * runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <polygraphy/engine_runner.h>

#include "backends/trtexec/answer.h"
#include "backends/trtexec/line.h"

/* ---- The line ------------------------------------------------------------------------------- */

typedef struct fixture {
    trtexec_options options;
    pgy_metadata *inputs;
    pgy_tensor_map *feed;
    trtexec_line line;
} fixture;

static void add_input(fixture *f, const char *name, size_t rank, const int64_t *declared,
                      const int64_t *fed)
{
    const pgy_tensor_info info = {
        .name = name, .dtype = PGY_F32, .rank = (int32_t)rank, .shape = declared};
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_metadata_set(f->inputs, &info, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, rank, fed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(f->feed, name, t, NULL), PGY_OK);
}

static void open_fixture(fixture *f)
{
    *f = (fixture){
        .line = {.program = "trtexec", .model = "m.onnx", .output = "o.json", .load_inputs = ""}};
    trtexec_options_defaults(&f->options);
    assert_int_equal(pgy_metadata_create(&f->inputs, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&f->feed, NULL), PGY_OK);
}

static void close_fixture(fixture *f)
{
    pgy_metadata_destroy(f->inputs);
    pgy_tensor_map_destroy(f->feed);
}

static pgy_status make(str *out, fixture *f, pgy_error *err)
{
    strvec words = {0};
    f->line.options = &f->options;
    f->line.inputs = f->inputs;
    f->line.feed = f->feed;
    const pgy_status st = line_make(&words, &f->line, err);
    for (size_t i = 0; i < words.count; i++) str_printf(out, "%s%s", i ? " " : "", words.items[i]);
    strvec_deinit(&words);
    return st;
}

static void expect_line(fixture *f, const char *expected)
{
    str text = {0};
    pgy_error err = {0};
    if (make(&text, f, &err)) fail_msg("%s", err.text);
    assert_string_equal(str_text(&text), expected);
    str_deinit(&text);
}

static void expect_failure(fixture *f, const char *expected)
{
    str text = {0};
    pgy_error err = {0};
    assert_int_not_equal(make(&text, f, &err), PGY_OK);
    if (!strstr(err.text, expected)) fail_msg("%s", err.text);
    str_deinit(&text);
}

static void test_trtexec__shapes_of_dynamic_inputs(void **state)
{
    static const int64_t DYNAMIC[] = {-1, 3}, FED[] = {2, 3};
    fixture f;
    (void)state;
    open_fixture(&f);
    add_input(&f, "fixed", 2, FED, FED);
    add_input(&f, "x:0", 2, DYNAMIC, FED);
    add_input(&f, "a,b", 2, DYNAMIC, FED);
    f.line.model = "~m.onnx";
    expect_line(&f, "trtexec --onnx=./~m.onnx --exportOutput=o.json --shapes=x:0:2x3,'a,b':2x3 "
                    "--noTF32");
    f.line.is_plan = true;
    f.line.load_inputs = "x:0:i";
    expect_line(&f, "trtexec --loadEngine=./~m.onnx --exportOutput=o.json --loadInputs=x:0:i "
                    "--shapes=x:0:2x3,'a,b':2x3");
    add_input(&f, "it's", 2, DYNAMIC, FED);
    expect_failure(&f, "the name 'it's' has a single quote");
    close_fixture(&f);
}

static void test_trtexec__profile(void **state)
{
    static const int64_t DYNAMIC[] = {-1, 3}, FED[] = {2, 3}, SHAPE[] = {4};
    static const int64_t MIN[] = {1, -1}, OPT[] = {2, 3}, MAX[] = {-1, 3},
                         ELEMENTS[] = {1, 2, 3, 4};
    static const pgy_profile_range RANGES[] = {{"x*", 2, MIN, OPT, MAX},
                                               {"fixed", 2, OPT, OPT, OPT},
                                               {"wanted", 4, ELEMENTS, ELEMENTS, ELEMENTS}};
    const pgy_profile profile = {RANGES, 3};
    const pgy_build_config config = {
        .size = sizeof config, .tf32 = true, .profiles = &profile, .profile_count = 1};
    fixture f;
    (void)state;
    open_fixture(&f);
    f.options.config = &config;
    add_input(&f, "x1", 2, DYNAMIC, FED);
    add_input(&f, "fixed", 2, FED, FED);
    add_input(&f, "wanted", 1, SHAPE, SHAPE);
    add_input(&f, "other", 2, DYNAMIC, FED);
    expect_line(&f, "trtexec --onnx=m.onnx --exportOutput=o.json --shapes=x1:2x3,other:2x3 "
                    "--minShapes=x1:1x3,wanted:1x2x3x4,other:2x3 "
                    "--optShapes=x1:2x3,wanted:1x2x3x4,other:2x3 "
                    "--maxShapes=x1:1x3,wanted:1x2x3x4,other:2x3");
    close_fixture(&f);
}

static void test_trtexec__extra_options_replace_others(void **state)
{
    static const char *const EXTRA[] = {"noTF32", NULL, "warmUp=7", NULL, "shapes=x:9", NULL};
    static const int64_t DYNAMIC[] = {-1}, FED[] = {2};
    fixture f;
    (void)state;
    open_fixture(&f);
    add_input(&f, "x", 1, DYNAMIC, FED);
    f.options.warm_up = 5;
    f.options.streams = 2;
    f.options.extra = (pgy_text_list){EXTRA, 6, true};
    expect_line(&f, "trtexec --onnx=m.onnx --exportOutput=o.json --streams=2 --noTF32 --warmUp=7 "
                    "--shapes=x:9");
    assert_string_equal(trtexec_extra(&f.options, "warmUp"), "7");
    assert_string_equal(trtexec_extra(&f.options, "noTF32"), "");
    assert_null(trtexec_extra(&f.options, "warm"));
    close_fixture(&f);
}

static void test_trtexec__what_it_cannot_express(void **state)
{
    static const pgy_type_choice TYPES[] = {{"layer", PGY_F64}};
    static const char *const DEVICES[] = {"cuda:1", "cuda:2"}, *const OTHER[] = {"rocm:0"};
    pgy_build_config config = {.size = sizeof config, .layer_types = TYPES, .layer_type_count = 1};
    fixture f;
    (void)state;
    open_fixture(&f);
    f.options.config = &config;
    expect_failure(&f, "layer 'layer': trtexec has no layers of type float64");
    config = (pgy_build_config){.size = sizeof config, .devices = {DEVICES, 2, true}};
    expect_failure(&f, "config.devices: trtexec runs on one GPU");
    config.devices = (pgy_name_list){OTHER, 1, true};
    expect_failure(&f, "'rocm:0' is not it");
    config.devices = (pgy_name_list){DEVICES, 1, true};
    expect_line(&f, "trtexec --onnx=m.onnx --exportOutput=o.json --device=1 --noTF32");
    close_fixture(&f);
}

/* ---- Configuration -------------------------------------------------------------------------- */

static void test_trtexec__configuration_of_other_backends(void **state)
{
    pgy_backend_options *o = NULL;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_backend_options_create(&o, pgy_backend_find("opref"), &err), PGY_OK);
    assert_int_equal(pgy_engine_runner_configure(o, NULL, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "a backend that builds engines"));
    pgy_backend_options_destroy(o);
    assert_int_equal(pgy_engine_runner_configure(NULL, NULL, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_backend_options_create(&o, pgy_backend_find("trtexec"), &err), PGY_OK);
    assert_int_equal(pgy_engine_runner_configure(o, NULL, &err), PGY_OK);
    pgy_backend_options_destroy(o);
}

/* ---- Answers -------------------------------------------------------------------------------- */

static command_result answer(const char *out, const char *err, int code)
{
    command_result r = {.code = code};
    str_append(&r.out, out);
    str_append(&r.err, err);
    return r;
}

static void test_trtexec__latency(void **state)
{
    static const struct {
        const char *out;
        double median; /* below 0: none */
    } CASES[] = {
        {"[11/23/2026-19:00:00] [I] H2D Latency: min = 1 ms, median = 9 ms\n"
         "[11/23/2026-19:00:00] [I] Latency: min = 1 ms, max = 2 ms, mean = 1 ms, median = 1.25 "
         "ms, "
         "percentile(99%) = 2 ms\n",
         1.25},
        {"[11/23/2026-19:00:00] [I] [TRT] Latency: median = 9 ms\n", -1},
        {"Latency: min = 1 ms, median = 0.5 ms", 0.5},
        {"[I] Latency: median = 3e-05 ms\r\n", 3e-05},
        {"[I] GPU latency: 3 ms\n[I] Latency: median = \n[I] Latency: median = nan ms", -1},
        {"[I] Latency: median = -1 ms", -1},
        {"[I] Latency: median = inf ms", -1},
        {"[[[[[[", -1},
        {"[I", -1},
        {"", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        command_result r = answer(CASES[i].out, "", 0);
        double median = -1;
        pgy_error err = {0};
        const pgy_status st = answer_latency(&median, &r, &err);
        assert_int_equal(st, CASES[i].median < 0 ? PGY_E_BACKEND : PGY_OK);
        if (!st) assert_true(median == CASES[i].median);
        command_result_deinit(&r);
    }
}

static void expect_answer(const char *out, const char *err_text, int code, const char *expected)
{
    command_result r = answer(out, err_text, code);
    pgy_error err = {0};
    const pgy_status st = answer_check(&r, &err);
    if (!expected)
        assert_int_equal(st, PGY_OK);
    else
        assert_string_equal(err.text, expected);
    command_result_deinit(&r);
}

static void test_trtexec__failures(void **state)
{
    (void)state;
    expect_answer("&&&& PASSED TensorRT.trtexec", "[W] warning", 0, NULL);
    expect_answer("[I] a line with &&&& FAILED in it\n", "", 0, NULL);
    expect_answer("", "", 1, "trtexec failed with exit code 1; it printed nothing");
    expect_answer("&&&& FAILED x\n", "", 0,
                  "trtexec says FAILED, though its exit code is 0; it printed nothing");
    expect_answer("[11/23/2026-19:00:00] [E] on stdout\n[11/23/2026-19:00:00] [I] no\n", "text", 1,
                  "trtexec failed with exit code 1: on stdout");
    expect_answer("out", "1\n2\n\n3\n4\n5\n", 2, "trtexec failed with exit code 2: 2 | 3 | 4 | 5");
    expect_answer("", "[E] \x1b[2Jbad\xff", -9,
                  "trtexec was ended by signal 9 (Killed): \\x1b[2Jbad\\xff");
}
