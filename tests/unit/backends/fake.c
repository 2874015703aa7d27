/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <polygraphy/runner.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/model_builder.h"

extern const pgy_backend BACKEND_fake;

static pgy_runner *runner_of(const char *mode)
{
    pgy_runner *r = NULL;
    pgy_backend_options *o = NULL;
    assert_int_equal(pgy_backend_options_create(&o, &BACKEND_fake, NULL), PGY_OK);
    if (mode) assert_int_equal(pgy_backend_options_set(o, "fake_mode", mode, NULL), PGY_OK);
    assert_int_equal(pgy_runner_create(&r, &BACKEND_fake, NULL, o, NULL, NULL), PGY_OK);
    pgy_backend_options_destroy(o);
    return r;
}

/* Inference with an input of four times `v`. */
static pgy_status infer(pgy_tensor_map **out, const char *mode, float v, pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_tensor *t = NULL;
    pgy_runner *r = runner_of(mode);
    assert_int_equal(pgy_runner_activate(r, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 2, (int64_t[]){1, 4}, NULL), PGY_OK);
    for (int i = 0; i < 4; i++) ((float *)pgy_tensor_data(t))[i] = v;
    assert_int_equal(pgy_tensor_map_adopt(feed, "input", t, NULL), PGY_OK);
    pgy_status st = pgy_runner_infer(out, r, feed, err);
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
    return st;
}

/* Four output values in the given mode. */
static void values(float *v, const char *mode, float input)
{
    pgy_tensor_map *out = NULL;
    assert_int_equal(infer(&out, mode, input, NULL), PGY_OK);
    const pgy_tensor *y = pgy_tensor_map_find(out, "output");
    assert_int_equal(pgy_tensor_count(y), 4);
    memcpy(v, pgy_tensor_data(y), 4 * sizeof *v);
    pgy_tensor_map_destroy(out);
}

static void test_fake__values_depend_on_inputs_only(void **state)
{
    (void)state;
    float a[4], b[4], c[4];
    values(a, "ok", 1);
    values(b, "ok", 1);
    values(c, "ok", 2);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    for (int i = 0; i < 4; i++) assert_true(a[i] >= 0 && a[i] < 1);
}

static void test_fake__nan_and_inf(void **state)
{
    (void)state;
    float ok[4], v[4];
    values(ok, "ok", 1);
    values(v, "nan", 1);
    assert_true(isnan(v[2]));
    assert_float_equal(v[0], ok[0], 0);
    values(v, "inf", 1);
    assert_true(isinf(v[2]));
}

static void test_fake__wrong_outputs(void **state)
{
    (void)state;
    pgy_tensor_map *out = NULL;
    assert_int_equal(infer(&out, "shape", 1, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_shape(pgy_tensor_map_at(out, 0))[1], 7);
    pgy_tensor_map_destroy(out);
    assert_int_equal(infer(&out, "missing", 1, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_count(out), 0);
    pgy_tensor_map_destroy(out);
    assert_int_equal(infer(&out, "extra", 1, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_count(out), 2);
    assert_non_null(pgy_tensor_map_find(out, "extra"));
    pgy_tensor_map_destroy(out);
}

static void test_fake__errors(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *out = NULL;
    assert_int_equal(infer(&out, "error", 1, &err), PGY_E_BACKEND);
    assert_string_equal(err.text, "the fake runtime fails, as fake.fake_mode error demands");
    pgy_runner *r = runner_of("start");
    assert_int_equal(pgy_runner_activate(r, &err), PGY_E_BACKEND);
    pgy_runner_destroy(r);
    pgy_backend_options *o = NULL;
    assert_int_equal(pgy_backend_options_create(&o, &BACKEND_fake, &err), PGY_OK);
    assert_int_equal(pgy_backend_options_set(o, "fake_mode", "dance", &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "fake.fake_mode: invalid choice: 'dance'"));
    pgy_backend_options_destroy(o);
}

static void test_fake__crashes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            pgy_tensor_map *out = NULL;
            signal(SIGSEGV, SIG_DFL); /* not the test runner's handlers */
            signal(SIGABRT, SIG_DFL);
            close(STDERR_FILENO); /* sanitizers report the crash */
            _exit(infer(&out, i ? "abort" : "crash", 1, NULL) == PGY_OK ? 0 : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 1);
    }
}

static pgy_status open_model(pgy_backend_model *out, void *user, pgy_error *err)
{
    (void)err;
    out->data = "";
    out->model = user;
    return PGY_OK;
}

static void test_fake__inputs_and_outputs_of_a_model(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = NULL;
    const pgy_metadata *in = NULL;
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_tensor *x = NULL;
    model_builder m = builder_start(17);
    builder_input(&m, "x", PGY_F32, "N, 3");
    builder_floats(&m, "w", "3", NULL);
    builder_node(&m, "Add", "x w", "y");
    builder_output(&m, "y", PGY_I64, "N, 3");
    pgy_model *model = builder_finish(&m);
    pgy_model_source source = {.open = open_model, .user = model};
    assert_int_equal(pgy_runner_create(&r, &BACKEND_fake, &source, NULL, NULL, &err), PGY_OK);
    assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
    assert_int_equal(pgy_runner_inputs(&in, r, &err), PGY_OK);
    assert_int_equal(pgy_metadata_count(in), 1); /* the weight is none */
    assert_int_equal(pgy_tensor_map_create(&feed, &err), PGY_OK);
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 2, (int64_t[]){5, 3}, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", x, &err), PGY_OK);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_OK);
    const pgy_tensor *y = pgy_tensor_map_find(out, "y");
    assert_int_equal(pgy_tensor_dtype(y), PGY_I64);
    assert_int_equal(pgy_tensor_shape(y)[0], 1); /* dynamic */
    assert_in_range(((int64_t *)pgy_tensor_data(y))[0], 0, 99);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    pgy_runner_destroy(r);
    pgy_model_destroy(model);
}
