/* SPDX-License-Identifier: Apache-2.0 */
/* A runner made of ranks: their threads, failures, and outputs that differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <polygraphy/runner.h>

#include "base/communicator.h"
#include "stub.h"

enum { FAILS = 1, DIFFERS = 2, OTHER_SHAPE = 4, SKIPS = 8, NEARLY = 16 };
static int faults[PGY_MAX_RANKS]; /* indexed by rank */

static void add_up(const void *const *data, size_t count, size_t self, void *user)
{
    float *sum = user;
    (void)self;
    for (size_t i = 0; i < count; i++) *sum += *(const float *)data[i];
}

/* y is the sum over ranks of x[0] + rank. */
static pgy_status rank_infer(void *r, const pgy_tensor_map *feed, pgy_tensor_map *out,
                             int64_t *time_ns, pgy_error *err)
{
    int64_t rank;
    pgy_communicator *c = communicator_current(&rank);
    const int64_t ranks = pgy_communicator_ranks(c), shape = faults[rank] & OTHER_SHAPE ? 2 : 1;
    const communicator_call call = {.members = (UINT64_C(1) << ranks) - 1, .name = "all_reduce"};
    const float *x = pgy_tensor_data(pgy_tensor_map_find(feed, "x"));
    float own = x[0] + (float)rank, sum = 0;
    pgy_tensor *y = NULL;
    (void)r;
    *time_ns = 100 * (rank + 1);
    if (faults[rank] & FAILS) return pgy_error_set(err, PGY_E_MEMORY, "no memory");
    pgy_status st = PGY_OK;
    if (!(faults[rank] & SKIPS)) st = communicator_meet(&call, &own, add_up, &sum, err);
    if (!st) st = pgy_tensor_create(&y, PGY_F32, 1, &shape, err);
    if (st) return st;
    if (faults[rank] & DIFFERS) sum += 1;
    if (faults[rank] & NEARLY) sum *= 1.000001F;
    ((float *)pgy_tensor_data(y))[0] = sum;
    return pgy_tensor_map_adopt(out, "y", y, err);
}

static pgy_backend backend; /* STUB with other functions */

static pgy_runner *create(size_t count, const char *part)
{
    pgy_error err = {0};
    pgy_runner *all[PGY_MAX_RANKS], *joined = NULL;
    memset(faults, 0, sizeof faults);
    memset(&stub, 0, sizeof stub);
    backend = STUB;
    backend.infer = rank_infer;
    backend.traits = PGY_BACKEND_RUNS_RANKS;
    for (size_t i = 0; i < count; i++)
        if (pgy_runner_create(&all[i], &backend, NULL, NULL, "r", &err)) fail_msg("%s", err.text);
    if (pgy_runner_create_ranks(&joined, all, count, &part, part != NULL, &err) ||
        pgy_runner_activate(joined, &err))
        fail_msg("%s", err.text);
    assert_int_equal(stub.activated, count);
    return joined;
}

/* The sum that rank 0 gives, or -1. */
static double run(pgy_runner *r, pgy_error *err)
{
    static float x[4] = {10}, n;
    static const int64_t SHAPE[] = {1, 4};
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_tensor *tx = NULL, *tn = NULL;
    double sum = -1;
    assert_int_equal(pgy_tensor_map_create(&feed, err), PGY_OK);
    assert_int_equal(pgy_tensor_wrap(&tx, x, PGY_F32, 2, SHAPE, NULL, NULL, err), PGY_OK);
    assert_int_equal(pgy_tensor_wrap(&tn, &n, PGY_F32, 0, SHAPE, NULL, NULL, err), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", tx, err), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "n", tn, err), PGY_OK);
    if (!pgy_runner_infer(&out, r, feed, err))
        sum = (double)((float *)pgy_tensor_data(pgy_tensor_map_find(out, "y")))[0];
    pgy_tensor_map_destroy(out);
    pgy_tensor_map_destroy(feed);
    return sum;
}

static void test_ranks__run(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = create(3, NULL);
    for (int i = 0; i < 3; i++) assert_true(run(r, &err) == 33);
    assert_string_equal(pgy_runner_name(r), "r");
    assert_int_equal(pgy_runner_last_time_ns(r), 300); /* of the slowest rank */
    pgy_runner_destroy(r);
    assert_int_equal(stub.destroyed, 3);
}

static void test_ranks__failures(void **state)
{
    (void)state;
    static const struct {
        int fault;
        const char *text;
    } CASES[] = {{FAILS, "rank 2: no memory"},
                 {SKIPS, "rank 2 has ended its run without it"},
                 {DIFFERS, "output 'y' of rank 2 differs from that of rank 0, although all ranks "
                           "should have the whole of it"},
                 {OTHER_SHAPE, "output 'y' of rank 2 differs"}};
    pgy_runner *r = create(3, NULL);
    for (size_t i = 0; i < 4; i++) {
        pgy_error err = {0};
        faults[2] = CASES[i].fault;
        assert_true(run(r, &err) == -1);
        if (!strstr(err.text, CASES[i].text)) fail_msg("%s", err.text);
        faults[2] = 0;
        assert_true(run(r, &err) == 33); /* a failure does not last */
    }
    pgy_runner_destroy(r);
}

static void test_ranks__differences_that_are_none(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = create(2, NULL);
    faults[1] = NEARLY;
    assert_true(run(r, &err) == 21);
    pgy_runner_destroy(r);
    r = create(2, "y");
    faults[1] = OTHER_SHAPE;
    assert_true(run(r, &err) == 21);
    pgy_runner_destroy(r);
}

static void test_ranks__refused(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = NULL, *joined = NULL;
    memset(&stub, 0, sizeof stub);
    assert_int_equal(pgy_runner_create(&r, &STUB, NULL, NULL, "r", &err), PGY_OK);
    assert_int_equal(pgy_runner_create_ranks(&joined, &r, 1, NULL, 0, &err), PGY_E_UNSUPPORTED);
    assert_string_equal(err.text, "runtime 'stub' cannot run the ranks of a divided model");
    assert_int_equal(pgy_runner_create_ranks(&joined, NULL, 0, NULL, 0, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "0 ranks; expected 1 to 64");
}

static void test_ranks__activation_fails(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *all[2], *joined = NULL;
    memset(&stub, 0, sizeof stub);
    backend = STUB;
    backend.traits = PGY_BACKEND_RUNS_RANKS;
    stub.fail_activate = true;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pgy_runner_create(&all[i], &backend, NULL, NULL, "r", &err), PGY_OK);
    assert_int_equal(pgy_runner_create_ranks(&joined, all, 2, NULL, 0, &err), PGY_OK);
    assert_int_equal(pgy_runner_activate(joined, &err), PGY_E_BACKEND);
    assert_string_equal(err.text, "rank 0: it does not start");
    assert_int_equal(stub.activated, 1);
    pgy_runner_destroy(joined);
}
