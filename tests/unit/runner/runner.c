/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "stub.h"

static pgy_runner *make(const char *name)
{
    pgy_runner *r = NULL;
    pgy_model_source source = stub_source();
    stub = (stub_counts){0};
    assert_int_equal(pgy_runner_create(&r, &STUB, &source, NULL, name, NULL), PGY_OK);
    assert_null(source.open); /* it moved in */
    return r;
}

static void put(pgy_tensor_map *m, const char *name, pgy_dtype dtype, size_t rank,
                const int64_t *shape)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, dtype, rank, shape, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(m, name, t, NULL), PGY_OK);
}

/* The error text of inferring with x and n as described. */
static const char *infer_error(pgy_status expected, pgy_dtype dtype, size_t rank,
                               const int64_t *shape, const char *extra)
{
    static pgy_error err;
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_runner *r = make("r");
    err = (pgy_error){0};
    assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&feed, &err), PGY_OK);
    if (shape) put(feed, "x", dtype, rank, shape);
    put(feed, "n", PGY_F32, 0, NULL);
    if (extra) put(feed, extra, PGY_F32, 0, NULL);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), expected);
    assert_null(out);
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
    return err.text;
}

static void test_runner__generated_names_count_per_prefix(void **state)
{
    (void)state;
    int numbers[3];
    char when[3][64];
    for (int i = 0; i < 2; i++) {
        pgy_runner *r = make(NULL);
        assert_int_equal(sscanf(pgy_runner_name(r), "stub-runner-N%d-%63s", &numbers[i], when[i]),
                         2);
        pgy_runner_destroy(r);
    }
    assert_int_equal(numbers[1], numbers[0] + 1);
    int month, day, year, hour, minute, second;
    long micros, process;
    assert_int_equal(sscanf(when[0], "%2d/%2d/%2d-%2d:%2d:%2d.%6ld-%ld", &month, &day, &year, &hour,
                            &minute, &second, &micros, &process),
                     8);
    assert_int_equal(when[0][17], '.');
    assert_int_equal(process, getpid());
    assert_in_range(month, 1, 12);

    pgy_runner *named = make("mine");
    assert_string_equal(pgy_runner_name(named), "mine");
    pgy_runner_destroy(named);
    pgy_runner *next = make(NULL);
    assert_int_equal(sscanf(pgy_runner_name(next), "stub-runner-N%d", &numbers[2]), 1);
    assert_int_equal(numbers[2], numbers[1] + 1); /* a given name does not count */
    pgy_runner_destroy(next);
}

static void test_runner__life(void **state)
{
    (void)state;
    pgy_runner *r = make("r");
    assert_int_equal(stub.opened, 0); /* creating is cheap */
    assert_false(pgy_runner_is_active(r));
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(pgy_runner_activate(r, NULL), PGY_OK);
        assert_true(pgy_runner_is_active(r));
        pgy_runner_deactivate(r);
        assert_int_equal(stub.opened, i);
        assert_int_equal(stub.closed, i);
        assert_int_equal(stub.destroyed, i);
    }
    assert_int_equal(pgy_runner_activate(r, NULL), PGY_OK);
    pgy_runner_destroy(r); /* deactivates */
    assert_int_equal(stub.deactivated, 3);
    assert_int_equal(stub.closed, 3);
    assert_int_equal(stub.source_destroyed, 1);
    pgy_runner_destroy(NULL);
}

static void test_runner__states_warn(void **state)
{
    (void)state;
    pgy_runner *r = make("r");
    capture_begin();
    pgy_runner_deactivate(r);
    assert_int_equal(captured_count("Not active; will not deactivate"), 1);
    assert_int_equal(pgy_runner_activate(r, NULL), PGY_OK);
    assert_int_equal(pgy_runner_activate(r, NULL), PGY_OK);
    assert_int_equal(captured_count("Already active; will not activate again"), 1);
    assert_int_equal(stub.activated, 1);
    capture_end();
    pgy_runner_destroy(r);
}

static void test_runner__failed_activation_leaves_nothing(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = make("r");
    stub.fail_activate = true;
    assert_int_equal(pgy_runner_activate(r, &err), PGY_E_BACKEND);
    assert_string_equal(err.text, "it does not start");
    assert_false(pgy_runner_is_active(r));
    assert_int_equal(stub.closed, 1);
    assert_int_equal(stub.destroyed, 1);
    assert_int_equal(stub.deactivated, 0);
    stub.fail_activate = false;
    assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
    pgy_runner_destroy(r);
}

static void test_runner__inactive(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *feed = NULL, *out = NULL;
    const pgy_metadata *m = NULL;
    pgy_runner *r = make("r");
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_E_ARGUMENT);
    assert_string_equal(
        err.text,
        "r                                   | Must be activated prior to calling infer()");
    assert_int_equal(pgy_runner_inputs(&m, r, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "r                                   | Must be activated prior "
                                  "to calling get_input_metadata()");
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
}

static void test_runner__infer_and_time(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *feed = NULL, *out = NULL;
    const pgy_metadata *m = NULL;
    pgy_runner *r = make("r");
    assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
    assert_int_equal(pgy_runner_last_time_ns(r), -1);
    assert_int_equal(pgy_runner_inputs(&m, r, &err), PGY_OK);
    assert_int_equal(pgy_metadata_count(m), 2);
    assert_int_equal(pgy_runner_outputs(&m, r, &err), PGY_OK);
    assert_null(m); /* this backend does not know */
    assert_int_equal(pgy_tensor_map_create(&feed, &err), PGY_OK);
    put(feed, "x", PGY_F32, 2, (int64_t[]){3, 4});
    put(feed, "n", PGY_F32, 0, NULL);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_count(out), 1);
    assert_int_equal(pgy_runner_last_time_ns(r), 1234);
    pgy_tensor_map_destroy(out);
    out = NULL;
    stub.fail_infer = true;
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_E_BACKEND);
    assert_null(out);
    pgy_runner_deactivate(r);
    assert_int_equal(pgy_runner_last_time_ns(r), -1);
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
}

static void test_runner__feed_errors(void **state)
{
    (void)state;
    assert_string_equal(infer_error(PGY_E_ARGUMENT, 0, 0, NULL, NULL),
                        "The following inputs were not found in input data: {'x'}. "
                        "Note: inputs requested were: {'x', 'n'}, but all inputs are: {'n'}");
    assert_string_equal(
        infer_error(PGY_E_ARGUMENT, PGY_F32, 2, (int64_t[]){1, 4}, "z"),
        "Extra inputs in input data: {'z'}. "
        "Note: inputs requested were: {'x', 'n'}, but all inputs are: {'x', 'n', 'z'}");
    assert_string_equal(
        infer_error(PGY_E_TYPE, PGY_F64, 2, (int64_t[]){1, 4}, NULL),
        "Input tensor: x | Received unexpected dtype: float64. Note: Expected type: float32");
    assert_string_equal(
        infer_error(PGY_E_SHAPE, PGY_F32, 2, (int64_t[]){1, 5}, NULL),
        "Input tensor: x | Received incompatible shape: (1, 5). "
        "Note: Expected a shape compatible with: BoundedShape(['N', 4], min=None, max=None)");
    assert_string_equal(
        infer_error(PGY_E_SHAPE, PGY_F32, 3, (int64_t[]){1, 5, 3}, NULL),
        "Input tensor: x | Received incompatible shape: (1, 5, 3). "
        "Note: Expected a shape compatible with: BoundedShape(['N', 4], min=None, max=None)");
}

static void test_runner__source_is_taken_on_failure_too(void **state)
{
    (void)state;
    pgy_runner *r = NULL;
    pgy_model_source source = stub_source();
    stub = (stub_counts){0};
    assert_int_equal(pgy_runner_create(&r, NULL, &source, NULL, NULL, NULL), PGY_E_ARGUMENT);
    assert_null(r);
    assert_int_equal(stub.source_destroyed, 1);
}

static void test_runner__zeroed_source_is_none(void **state)
{
    (void)state;
    pgy_runner *r = NULL;
    pgy_model_source none = {0};
    stub = (stub_counts){0};
    assert_int_equal(pgy_runner_create(&r, &STUB, &none, NULL, NULL, NULL), PGY_OK);
    assert_int_equal(pgy_runner_activate(r, NULL), PGY_OK);
    assert_int_equal(stub.created, 1);
    pgy_runner_destroy(r);
}

static void test_runner__source_of_a_missing_file(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = NULL;
    pgy_model_source source = {0};
    assert_int_equal(pgy_source_from_path(&source, "/no/such/model.onnx", &err),
                     PGY_OK); /* lazily */
    assert_int_equal(pgy_runner_create(&r, &STUB, &source, NULL, "r", &err), PGY_OK);
    assert_int_equal(pgy_runner_activate(r, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "Model path does not exist: /no/such/model.onnx");
    pgy_runner_destroy(r);
}
