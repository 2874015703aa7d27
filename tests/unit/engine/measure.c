/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring kernels that are made up, so that it is known which one is faster. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/select/measure.h"

enum { COUNT = 4096 };

typedef struct seen {
    size_t runs, zeros, strange;
    uint32_t most_parts;
    uintptr_t addresses[4];
    size_t address_count;
} seen;

static seen quick, slow;

static void look(seen *s, const kernel_run *r)
{
    const float *x = r->tensors[0];
    s->runs++;
    if (r->parts > s->most_parts) s->most_parts = r->parts;
    for (size_t i = 0; i < COUNT; i++) {
        s->zeros += x[i] == 0;
        s->strange += !(fabsf(x[i]) >= 0.25f && fabsf(x[i]) <= 1);
    }
    bool known = false;
    for (size_t i = 0; i < s->address_count; i++) known |= s->addresses[i] == (uintptr_t)x;
    if (!known && s->address_count < 4) s->addresses[s->address_count++] = (uintptr_t)x;
    s->strange += (uintptr_t)x % 64 != 0 || (uintptr_t)r->tensors[2] % 64 != 0;
}

/* Sums the input again and again. */
static void work(const kernel_run *r, int times)
{
    const float *x = r->tensors[0];
    volatile float sum = 0;
    for (int t = 0; t < times; t++)
        for (size_t i = r->part; i < COUNT; i += r->parts) sum = sum + x[i];
    if (!r->part) ((float *)r->tensors[2])[0] = sum;
}

static void run_quick(const kernel_run *r)
{
    look(&quick, r);
    work(r, 2);
}

static void run_slow(const kernel_run *r)
{
    look(&slow, r);
    work(r, 40);
}

static bool accept(kernel_problem *u, double *cost_ns)
{
    (void)u;
    *cost_ns = 1e6;
    return true;
}

/* The second input is packed. */
static pgy_status prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    (void)u, (void)err;
    *out = (kernel_plan){
        .packed_inputs = 2, .phases = 1, .parts = 3, .in_place = -1, .scratch_bytes = 100};
    return PGY_OK;
}

static pgy_status prepare_never(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    (void)out, (void)u;
    return pgy_error_set(err, PGY_E_MEMORY, "no");
}

static const kernel QUICK = {
    .name = "quick", .accept = accept, .prepare = prepare, .run = run_quick};
static const kernel SLOW = {.name = "slow", .accept = accept, .prepare = prepare, .run = run_slow};
static const kernel NEVER = {.name = "never", .accept = accept, .prepare = prepare_never};

static const int64_t SHAPE[] = {COUNT};
static float weights[COUNT];

static kernel_problem problem(void)
{
    const kernel_tensor x = {.dtype = PGY_F32, .rank = 1, .shape = SHAPE};
    kernel_problem u = {.input_count = 2, .output_count = 1, .inputs = {x, x}, .outputs = {x}};
    u.inputs[1].data = weights;
    return u;
}

static int64_t later(void)
{
    return clock_ns() + 60000000000;
}

static void test_measure__the_faster_kernel_has_the_shorter_time(void **state)
{
    const kernel_problem u = problem();
    measure_candidate c[] = {{&SLOW, &u, 1e6, 0}, {&QUICK, &u, 1e6, 0}};
    (void)state;
    memset(&quick, 0, sizeof quick);
    memset(&slow, 0, sizeof slow);
    assert_true(measure_kernels(c, 2, 1, later()));
    assert_true(c[0].time_ns > 0 && c[1].time_ns > 0);
    assert_true(c[1].time_ns < c[0].time_ns);
    /* The winner: two runs to warm up, five that count. The loser is given up before. */
    assert_true(quick.runs >= 7);
    assert_true(slow.runs < quick.runs);
}

static void test_measure__data_are_random_aligned_and_rotated(void **state)
{
    const kernel_problem u = problem();
    measure_candidate c[] = {{&QUICK, &u, 1e6, 0}};
    (void)state;
    memset(&quick, 0, sizeof quick);
    assert_true(measure_kernels(c, 1, 1, later()));
    assert_int_equal(quick.zeros, 0);
    assert_int_equal(quick.strange, 0);
    assert_int_equal(quick.address_count, 4);
    assert_int_equal(quick.most_parts, 1);
}

/* Parts are those that the threads would do. */
static void test_measure__parts_are_those_of_the_threads(void **state)
{
    const kernel_problem u = problem();
    measure_candidate c[] = {{&QUICK, &u, 1e6, 0}};
    (void)state;
    memset(&quick, 0, sizeof quick);
    assert_true(measure_kernels(c, 1, 2, later()));
    assert_int_equal(quick.most_parts, 3);
    memset(&quick, 0, sizeof quick);
    assert_true(measure_kernels(c, 1, 16, later()));
    assert_int_equal(quick.most_parts, 3);
    c[0].estimate_ns = 100; /* too short to be shared */
    memset(&quick, 0, sizeof quick);
    assert_true(measure_kernels(c, 1, 16, later()));
    assert_int_equal(quick.most_parts, 1);
}

static void test_measure__without_time_there_is_no_result(void **state)
{
    const kernel_problem u = problem();
    measure_candidate c[] = {{&QUICK, &u, 1e6, 0}, {&SLOW, &u, 1e6, 0}};
    (void)state;
    assert_false(measure_kernels(c, 2, 1, clock_ns() - 1));
    assert_true(c[0].time_ns < 0 && c[1].time_ns < 0);
}

static void test_measure__a_kernel_that_cannot_be_prepared_is_no_error(void **state)
{
    const kernel_problem u = problem();
    measure_candidate c[] = {{&QUICK, &u, 1e6, 0}, {&NEVER, &u, 1e6, 0}};
    (void)state;
    assert_true(measure_kernels(c, 2, 1, later()));
    assert_true(c[0].time_ns > 0);
    assert_true(c[1].time_ns < 0);
}
