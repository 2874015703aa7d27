/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison and post-processing scripts. Need a Python with NumPy (POLYGRAPHY_PYTHON or python3);
 * skip, saying so, without one. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <polygraphy/compare.h>

static char script_path[1024];

static void need_numpy(void)
{
    const char *python = getenv("POLYGRAPHY_PYTHON");
    char command[512];
    snprintf(command, sizeof command, "'%s' -c 'import numpy' >/dev/null 2>&1",
             python && *python ? python : "python3");
    if (system(command)) {
        print_message("skipped: no Python with NumPy (POLYGRAPHY_PYTHON)\n");
        skip();
    }
}

static const char *make_script(const char *text, const char *symbol)
{
    static char spec[1100];
    snprintf(script_path, sizeof script_path, TEST_BINARY_DIR "/pgy_compare_script_%ld.py",
             (long)getpid());
    FILE *f = fopen(script_path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    snprintf(spec, sizeof spec, "%s%s%s", script_path, symbol ? ":" : "", symbol ? symbol : "");
    return spec;
}

/* Two runners, one iteration: x of `a` and x of `b`, y equal. */
static pgy_results *make_results(float a, float b)
{
    pgy_results *r = NULL;
    assert_int_equal(pgy_results_create(&r, NULL), PGY_OK);
    for (int i = 0; i < 2; i++) {
        pgy_tensor_map *m = NULL;
        size_t runner;
        int64_t shape[] = {1};
        assert_int_equal(pgy_tensor_map_create(&m, NULL), PGY_OK);
        for (int k = 0; k < 2; k++) {
            pgy_tensor *t = NULL;
            assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, shape, NULL), PGY_OK);
            *(float *)pgy_tensor_data(t) = k ? 1 : i ? b : a;
            assert_int_equal(pgy_tensor_map_adopt(m, k ? "y" : "x", t, NULL), PGY_OK);
        }
        assert_int_equal(pgy_results_add_runner(r, i ? "second" : "first", &runner, NULL), PGY_OK);
        assert_int_equal(pgy_results_add(r, runner, m, i ? NAN : 0.25, NULL), PGY_OK);
        pgy_tensor_map_destroy(m);
    }
    return r;
}

static bool judge(const char *text, const char *symbol, float a, float b)
{
    pgy_error err = {0};
    pgy_compare *c = NULL;
    pgy_results *r = make_results(a, b);
    bool passed = false;
    pgy_judge_options o = pgy_judge_options_default();
    if (pgy_compare_script_create(&c, make_script(text, symbol), &err)) fail_msg("%s", err.text);
    o.comparisons = (const pgy_compare *const *)&c;
    o.comparison_count = 1;
    if (pgy_compare_accuracy(NULL, &passed, (const pgy_results *const *)&r, 1, &o, &err))
        fail_msg("%s", err.text);
    pgy_compare_destroy(c);
    pgy_results_destroy(r);
    unlink(script_path);
    return passed;
}

static void test_script__verdicts_of_a_function(void **state)
{
    (void)state;
    need_numpy();
    static const char TEXT[] = "import numpy as np\n"
                               "def compare_outputs(a, b):\n"
                               "    assert a.runner_name == 'first' and b.runner_name == 'second'\n"
                               "    assert a.runtime == 0.25 and b.runtime is None\n"
                               "    assert list(a) == ['x', 'y'] and a['x'].dtype == np.float32\n"
                               "    return {n: np.allclose(a[n], b[n]) for n in a}\n";
    assert_true(judge(TEXT, NULL, 1, 1));
    assert_false(judge(TEXT, NULL, 1, 2));
}

static void test_script__objects_and_classes(void **state)
{
    (void)state;
    need_numpy();
    static const char TEXT[] =
        "class Near:\n"
        "    def __init__(self, limit=0.5): self.limit = limit\n"
        "    def __call__(self, a, b):\n"
        "        return {'x': abs(a['x'] - b['x']).max() < self.limit, 'y': True}\n"
        "wide = Near(5)\n";
    assert_true(judge(TEXT, "Near", 1, 1.25f));
    assert_false(judge(TEXT, "Near", 1, 2));
    assert_true(judge(TEXT, "wide", 1, 2));
}

static void test_script__what_the_script_raises_is_the_error(void **state)
{
    (void)state;
    need_numpy();
    pgy_error err = {0};
    pgy_compare *c = NULL;
    pgy_results *r = make_results(1, 1);
    bool passed = true;
    pgy_judge_options o = pgy_judge_options_default();
    assert_int_equal(
        pgy_compare_script_create(
            &c, make_script("def compare_outputs(a, b): return a['missing']\n", NULL), &err),
        PGY_OK);
    o.comparisons = (const pgy_compare *const *)&c;
    o.comparison_count = 1;
    assert_int_equal(
        pgy_compare_accuracy(NULL, &passed, (const pgy_results *const *)&r, 1, &o, &err),
        PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "KeyError: 'missing'"));
    pgy_compare_destroy(c);
    c = NULL;
    assert_int_equal(
        pgy_compare_script_create(&c, make_script("compare_outputs = 3\n", NULL), &err),
        PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "cannot be called"));
    pgy_results_destroy(r);
    unlink(script_path);
}

static void expect_refused(const char *values, const char *text)
{
    char script[256];
    pgy_error err = {0};
    pgy_compare *c = NULL;
    pgy_results *r = make_results(1, 1);
    bool passed = true;
    snprintf(script, sizeof script, "import numpy\ndef compare_outputs(a, b): return %s\n", values);
    assert_int_equal(pgy_compare_script_create(&c, make_script(script, NULL), &err), PGY_OK);
    pgy_judge_options o = pgy_judge_options_default();
    o.comparisons = (const pgy_compare *const *)&c;
    o.comparison_count = 1;
    assert_int_equal(
        pgy_compare_accuracy(NULL, &passed, (const pgy_results *const *)&r, 1, &o, &err),
        PGY_E_BACKEND);
    if (!strstr(err.text, text)) fail_msg("%s", err.text);
    pgy_compare_destroy(c);
    pgy_results_destroy(r);
    unlink(script_path);
}

static void test_script__a_verdict_is_true_or_false(void **state)
{
    (void)state;
    need_numpy();
    static const char GOOD[] = "import numpy as np\n"
                               "class Result:\n"
                               "    def __bool__(self): return True\n"
                               "def compare_outputs(a, b):\n"
                               "    return {'x': np.array([True]).all(), 'y': Result()}\n";
    assert_true(judge(GOOD, NULL, 1, 1));
    expect_refused("{'x': True, 'y': 0.5}", "gave float as the verdict on output 'y'");
    expect_refused("{'x': 'False', 'y': True}", "gave str as the verdict on output 'x'");
    expect_refused("{'x': True, 'y': None}", "gave NoneType as the verdict on output 'y'");
    expect_refused("{'x': numpy.ones(3, bool), 'y': True}", "gave ndarray as the verdict");
    expect_refused("{'x': numpy.float32(0), 'y': True}", "gave float32 as the verdict");
    expect_refused("{'x': True, 'y': True, 3: True}", "gave a verdict on 3");
    expect_refused("[True, True]", "no mapping");
}

/* A verdict for each output and nothing else. */
static void test_script__verdicts_are_complete(void **state)
{
    (void)state;
    need_numpy();
    assert_true(judge("def compare_outputs(a, b): return {'x': True, 'y': True}\n", NULL, 1, 1));
    assert_false(judge("def compare_outputs(a, b): return {'x': True}\n", NULL, 1, 1));
    assert_false(judge("def compare_outputs(a, b): return {}\n", NULL, 1, 1));
    assert_false(judge(
        "def compare_outputs(a, b): return {'x': 1 == 1, 'y': 1 == 1, 'z': 1 == 1}\n", NULL, 1, 1));
}

static void test_script__postprocessing_replaces_outputs(void **state)
{
    (void)state;
    need_numpy();
    pgy_error err = {0};
    pgy_postprocess_script *s = NULL;
    pgy_results *r = make_results(3, 4);
    const char *script = make_script("def postprocess_outputs(results):\n"
                                     "    results['x'] = results['x'] * 2\n"
                                     "    del results['y']\n"
                                     "    return results\n",
                                     NULL);
    if (pgy_postprocess_script_create(&s, script, &err)) fail_msg("%s", err.text);
    if (pgy_postprocess_apply(r, pgy_postprocess_script_use(s), &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < 2; i++) {
        const pgy_iteration *it = pgy_results_at(r, i, 0);
        assert_int_equal(pgy_tensor_map_count(it->outputs), 1);
        assert_true(*(float *)pgy_tensor_data(pgy_tensor_map_find(it->outputs, "x")) ==
                    (i ? 8 : 6));
    }
    pgy_postprocess_script_destroy(s);
    pgy_results_destroy(r);
    unlink(script_path);
}

static void test_script__bfloat16_outputs_are_widened(void **state)
{
    (void)state;
    need_numpy();
    pgy_error err = {0};
    pgy_postprocess_script *s = NULL;
    pgy_results *r = NULL;
    pgy_tensor_map *m = NULL;
    pgy_tensor *t = NULL;
    int64_t shape[] = {2};
    assert_int_equal(pgy_results_create(&r, NULL), PGY_OK);
    assert_int_equal(pgy_results_add_runner(r, "first", NULL, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&m, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_BF16, 1, shape, NULL), PGY_OK);
    ((uint16_t *)pgy_tensor_data(t))[1] = 0x3fc0;
    assert_int_equal(pgy_tensor_map_adopt(m, "x", t, NULL), PGY_OK);
    assert_int_equal(pgy_results_add(r, 0, m, 1, NULL), PGY_OK);
    pgy_tensor_map_destroy(m);
    if (pgy_postprocess_script_create(
            &s, make_script("def postprocess_outputs(r): return r\n", NULL), &err))
        fail_msg("%s", err.text);
    if (pgy_postprocess_apply(r, pgy_postprocess_script_use(s), &err)) fail_msg("%s", err.text);
    const pgy_tensor *x = pgy_tensor_map_find(pgy_results_at(r, 0, 0)->outputs, "x");
    assert_int_equal(pgy_tensor_dtype(x), PGY_F32);
    assert_true(((float *)pgy_tensor_data(x))[1] == 1.5f);
    pgy_postprocess_script_destroy(s);
    pgy_results_destroy(r);
    unlink(script_path);
}
