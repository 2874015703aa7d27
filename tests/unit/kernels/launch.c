/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels are run: phases, parts, faults; and kernels of a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "device/host.h"
#include "kernels/launch.h"

enum { PARTS = 3, PHASES = 3, THREADS = 4 };

/* What the kernels below were called for. */
typedef struct record {
    atomic_int calls[PHASES][PARTS];
    atomic_int before; /* parts of a phase that began before the phase in front of it was done */
    int fails_in;      /* phase; -1: none */
} record;

static void run_record(const kernel_run *r)
{
    record *to = r->tensors[0];
    for (uint32_t p = 0; r->phase && p < r->parts; p++)
        if (!atomic_load(&to->calls[r->phase - 1][p])) atomic_fetch_add(&to->before, 1);
    atomic_fetch_add(&to->calls[r->phase][r->part], 1);
    *(uint32_t *)r->scratch = r->part;
    if (to->fails_in == (int)r->phase && r->part == 1) kernel_fault(r);
}

static const kernel RECORD = {.name = "record", .version = 1, .ops = "Record", .run = run_record};

static launch launch_record(record *to, void **tensors, char *scratch)
{
    const kernel_plan plan = {.phases = PHASES, .parts = PARTS};
    launch l = launch_of(&RECORD, &plan, 8);
    tensors[0] = to;
    l.run.tensors = tensors;
    l.scratch = scratch;
    l.scratch_stride = 64;
    return l;
}

static int calls_of(record *r, int phase)
{
    int sum = 0;
    for (int p = 0; p < PARTS; p++) sum += atomic_load(&r->calls[phase][p]);
    return sum;
}

static void test_launch__every_part_of_every_phase_runs_once(void **state)
{
    (void)state;
    _Alignas(64) char scratch[THREADS * 64];
    void *tensors[1];
    team *t = NULL;
    assert_int_equal(team_create(&t, THREADS, NULL), PGY_OK);
    for (int alone = 0; alone < 2; alone++) {
        record r = {.fails_in = -1};
        const launch l = launch_record(&r, tensors, scratch);
        assert_int_equal(l.run.parts, PARTS);
        assert_int_equal(alone ? launch_alone(&l) : launch_on_team(&l, t), PGY_OK);
        for (int phase = 0; phase < PHASES; phase++) assert_int_equal(calls_of(&r, phase), PARTS);
        assert_int_equal(atomic_load(&r.before), 0);
    }
    team_destroy(t);
}

enum { MANY = 64 };

/* What a kernel of many parts was called for. */
typedef struct many {
    atomic_int calls[2][MANY], wrong;
} many;

/* A thread that resumes finds in its scratch what it left there in the same phase. */
static void run_many(const kernel_run *r)
{
    many *to = r->tensors[0];
    uint32_t *note = r->scratch;
    atomic_fetch_add(&to->calls[r->phase][r->part], 1);
    if (r->resumed && (note[0] != r->phase || note[1] >= r->parts)) atomic_fetch_add(&to->wrong, 1);
    note[0] = r->phase;
    note[1] = r->part;
}

static void test_launch__threads_share_more_parts_than_threads(void **state)
{
    static const kernel MANY_PARTS = {.name = "many", .ops = "Many", .run = run_many};
    static _Alignas(64) char scratch[MANY * 64];
    (void)state;
    for (size_t threads = 1; threads <= 4; threads++) {
        team *t = NULL;
        assert_int_equal(team_create(&t, threads, NULL), PGY_OK);
        for (uint32_t parts = 1; parts <= MANY; parts++) {
            const kernel_plan plan = {.phases = 2, .parts = parts};
            launch l = launch_of(&MANY_PARTS, &plan, MANY);
            many m = {0};
            void *tensors[] = {&m};
            l.run.tensors = tensors;
            l.scratch = scratch;
            l.scratch_stride = 64;
            memset(scratch, 0xff, sizeof scratch);
            assert_int_equal(launch_on_team(&l, t), PGY_OK);
            assert_int_equal(atomic_load(&m.wrong), 0);
            for (uint32_t i = 0; i < parts; i++)
                for (int phase = 0; phase < 2; phase++)
                    assert_int_equal(atomic_load(&m.calls[phase][i]), 1);
        }
        team_destroy(t);
    }
}

/* What a phase was to check is relied on by those behind it. */
static void test_launch__no_phase_runs_behind_a_fault(void **state)
{
    (void)state;
    _Alignas(64) char scratch[THREADS * 64];
    void *tensors[1];
    team *t = NULL;
    assert_int_equal(team_create(&t, THREADS, NULL), PGY_OK);
    for (int i = 0; i < 40; i++) {
        record r = {.fails_in = 1};
        const launch l = launch_record(&r, tensors, scratch);
        assert_int_equal(i % 2 ? launch_alone(&l) : launch_on_team(&l, t), PGY_E_SHAPE);
        assert_int_equal(calls_of(&r, 0), PARTS);
        assert_int_equal(calls_of(&r, 2), 0);
    }
    team_destroy(t);
}

/* ---- Kernels of a device -------------------------------------------------------------------- */

static pgy_status enqueue_copy(const kernel_run *r, device_stream *s, pgy_error *err)
{
    return device_copy(s, r->tensors[1], r->tensors[0], 3, DEVICE_WITHIN, err);
}

static bool accept_all(kernel_problem *u, double *cost_ns)
{
    *cost_ns = u->inputs[0].space == u->space ? 1 : 2;
    return true;
}

static const kernel OFFERED[] = {
    {.name = "relu_second",
     .version = 3,
     .ops = "Relu",
     .accept = accept_all,
     .device = "second",
     .enqueue = enqueue_copy},
    {0},
};

static size_t count_for_relu(void)
{
    size_t count = 0;
    while (kernel_for("", "Relu", count)) count++;
    return count;
}

static size_t count_all(void)
{
    size_t count = 0;
    while (kernel_at(count)) count++;
    return count;
}

static void test_launch__kernels_of_a_device_are_found_while_they_are_offered(void **state)
{
    (void)state;
    const size_t before = count_for_relu(), all = count_all();
    assert_null(kernel_find("relu_second", 3));
    assert_int_equal(kernel_offer(OFFERED, NULL), PGY_OK);
    assert_int_equal(count_for_relu(), before + 1);
    assert_int_equal(count_all(), all + 1);
    assert_ptr_equal(kernel_for("", "Relu", before), &OFFERED[0]);
    assert_ptr_equal(kernel_at(all), &OFFERED[0]);
    assert_ptr_equal(kernel_find("relu_second", 3), &OFFERED[0]);
    assert_null(kernel_find("relu_second", 2));
    kernel_withdraw(OFFERED);
    assert_null(kernel_find("relu_second", 3));
    assert_int_equal(count_for_relu(), before);
}

static void test_launch__operands_are_in_the_space_of_the_kernel(void **state)
{
    (void)state;
    kernel_problem problem = {.space = 2, .input_count = 1, .output_count = 1};
    double cost = 0;
    assert_true(kernel_accept(&OFFERED[0], &problem, &cost));
    assert_int_equal(problem.inputs[0].space, 2);
    assert_int_equal(problem.outputs[0].space, 2);
    assert_int_equal((int)cost, 1);
}

static void test_launch__enqueues_on_a_stream(void **state)
{
    (void)state;
    const kernel_plan plan = {.phases = 1, .parts = 1};
    char from[] = "ab", to[] = "--";
    void *tensors[2] = {from, to};
    pgy_error err = {0};
    device_stream *s = NULL;
    assert_int_equal(device_stream_create(&s, device_host(), &err), PGY_OK);
    launch l = launch_of(&OFFERED[0], &plan, 1);
    l.run.tensors = tensors;
    assert_int_equal(launch_enqueue(&l, s, &err), PGY_OK);
    assert_string_equal(to, "ab");
    device_stream_destroy(s);
}
