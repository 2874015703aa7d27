/* SPDX-License-Identifier: Apache-2.0 */
/* The fake accelerator: a program that follows the rules of device.h gives what it should under
 * every schedule, and one that breaks a rule does not survive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "harness/fake_device.h"

enum { COUNT = 3000, BYTES = COUNT * sizeof(float) };

/* What the program below forgets. */
typedef enum mistake {
    NO_MISTAKE,
    NO_COPY_TO_DEVICE,
    NO_COPY_BACK,
    NO_WAIT_OF_HOST,
    NO_WAIT_OF_STREAM,
    USE_AFTER_FREE,
    MISTAKES,
    CHANGED_TOO_EARLY = MISTAKES, /* the host writes what a copy has still to read */
    TOUCHED_BY_HOST,
    RELEASED_TWICE,
    REACHES_BEYOND,
    GIVEN_TO_KERNEL, /* memory of the host */
    ALL_MISTAKES
} mistake;

/* y[i] = 2 * x[i] on the device. */
typedef struct twice {
    const float *x;
    float *y;
    size_t count;
} twice;

static void run_twice(device *d, void *user)
{
    const twice *w = user;
    const float *x = fake_device_reach(d, w->x, w->count * sizeof *x);
    float *y = fake_device_reach(d, w->y, w->count * sizeof *y);
    for (size_t i = 0; i < w->count; i++) y[i] = 2 * x[i];
}

static void enqueue_twice(device_stream *s, const float *x, float *y, size_t count)
{
    twice *w = malloc(sizeof *w);
    *w = (twice){.x = x, .y = y, .count = count};
    fake_device_enqueue(s, (fake_work){.run = run_twice, .drop = free, .user = w});
}

/* For a child process: cmocka's assertions would jump into the parent's code. */
static void demand(bool holds)
{
    if (!holds) abort();
}

typedef struct setting {
    mistake mistake;
    fake_schedule schedule;
    uint64_t seed;
} setting;

typedef struct rig {
    device *d;
    device_stream *first, *second;
    device_event *doubled, *back;
    void *x, *y; /* of the device */
    float in[COUNT], out[COUNT];
} rig;

static void set_up(rig *r, const setting *s)
{
    r->d = fake_device_create("fake:0", s->schedule, s->seed);
    demand(!device_stream_create(&r->first, r->d, NULL));
    demand(!device_stream_create(&r->second, r->d, NULL));
    demand(!device_event_create(&r->doubled, r->d, NULL));
    demand(!device_event_create(&r->back, r->d, NULL));
    demand(!device_allocate(&r->x, r->first, BYTES, NULL));
    demand(!device_allocate(&r->y, r->first, BYTES, NULL));
}

static void tear_down(rig *r)
{
    device_release(r->second, r->x);
    device_release(r->second, r->y);
    device_event_destroy(r->doubled);
    device_event_destroy(r->back);
    device_stream_destroy(r->first);
    device_stream_destroy(r->second);
    fake_device_destroy(r->d);
}

static void enqueue_all(rig *r, mistake m)
{
    const float *x = m == GIVEN_TO_KERNEL ? r->in : r->x;
    if (m != NO_COPY_TO_DEVICE)
        demand(!device_copy(r->first, r->x, r->in, BYTES, DEVICE_FROM_HOST, NULL));
    if (m == CHANGED_TOO_EARLY) r->in[COUNT / 2] = -1;
    enqueue_twice(r->first, x, r->y, COUNT + (m == REACHES_BEYOND));
    if (m == USE_AFTER_FREE || m == RELEASED_TWICE) device_release(r->first, r->y);
    if (m == RELEASED_TWICE) device_release(r->first, r->y);
    demand(!device_event_record(r->doubled, r->first, NULL));
    if (m != NO_WAIT_OF_STREAM) demand(!device_event_wait(r->second, r->doubled, NULL));
    if (m != NO_COPY_BACK)
        demand(!device_copy(r->second, r->out, r->y, BYTES, DEVICE_TO_HOST, NULL));
    demand(!device_event_record(r->back, r->second, NULL));
    if (m != NO_WAIT_OF_HOST) demand(!device_event_synchronize(r->back, NULL));
    if (m == TOUCHED_BY_HOST) r->out[0] = *(volatile float *)r->y;
}

/* Doubles numbers on one stream and brings them back by another, twice: the memory of the round
 * with the mistake is full of numbers that look right. */
static void double_numbers(void *user)
{
    const setting *s = user;
    static rig r;
    set_up(&r, s);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) r.in[i] = (float)(i + (size_t)round);
        enqueue_all(&r, round ? s->mistake : NO_MISTAKE);
        for (size_t i = 0; i < COUNT; i++) demand(r.out[i] == 2 * (float)(i + (size_t)round));
    }
    tear_down(&r);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_fake__right_programs_are_right_under_every_schedule(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++)
        for (int schedule = FAKE_LATE; schedule <= FAKE_MIXED; schedule++)
            double_numbers(&(setting){NO_MISTAKE, (fake_schedule)schedule, seed});
}

static void test_fake__a_child_without_mistake_survives(void **state)
{
    (void)state;
    assert_true(fake_survives(double_numbers, &(setting){NO_MISTAKE, FAKE_LATE, 1}));
    assert_true(fake_survives(double_numbers, &(setting){NO_MISTAKE, FAKE_MIXED, 1}));
}

static void test_fake__each_mistake_is_found_every_time(void **state)
{
    (void)state;
    for (int m = NO_MISTAKE + 1; m < ALL_MISTAKES; m++)
        for (uint64_t seed = 0; seed < 5; seed++)
            if (fake_survives(double_numbers, &(setting){(mistake)m, FAKE_LATE, seed}))
                fail_msg("mistake %d was not found", m);
}

/* Mistakes of the host show whatever ran ahead. */
static void test_fake__missing_copies_and_waits_of_the_host_show_in_mixed_order(void **state)
{
    (void)state;
    static const mistake ALWAYS[] = {NO_COPY_BACK, NO_WAIT_OF_HOST, USE_AFTER_FREE};
    for (size_t i = 0; i < sizeof ALWAYS / sizeof *ALWAYS; i++)
        for (uint64_t seed = 0; seed < 10; seed++)
            if (fake_survives(double_numbers, &(setting){ALWAYS[i], FAKE_MIXED, seed}))
                fail_msg("mistake %d was not found with seed %d", (int)ALWAYS[i], (int)seed);
}

static void touch(void *user)
{
    *(volatile char *)user = 1;
}

static void test_fake__only_shared_memory_can_be_touched(void **state)
{
    (void)state;
    device *d = fake_device_create("fake:0", FAKE_LATE, 0);
    device_stream *s = NULL;
    void *own = NULL, *shared = NULL;
    assert_int_equal(device_stream_create(&s, d, NULL), PGY_OK);
    assert_int_equal(device_allocate(&own, s, 10, NULL), PGY_OK);
    assert_int_equal(device_allocate_shared(&shared, d, 10, NULL), PGY_OK);
    assert_int_equal(device_stream_synchronize(s, NULL), PGY_OK);
    assert_int_equal((uintptr_t)own % DEVICE_ALIGNMENT, 0);
    assert_false(fake_survives(touch, own));
    assert_true(fake_survives(touch, shared));
    device_release(s, own);
    device_release_shared(d, shared);
    assert_false(fake_survives(touch, shared));
    device_stream_destroy(s);
    assert_false(fake_survives(touch, own));
    fake_device_destroy(d);
}

static void test_fake__fresh_memory_is_poison(void **state)
{
    (void)state;
    device *d = fake_device_create("fake:0", FAKE_LATE, 0);
    device_stream *s = NULL;
    void *memory = NULL;
    uint32_t words[4] = {0};
    assert_int_equal(device_stream_create(&s, d, NULL), PGY_OK);
    assert_int_equal(device_allocate(&memory, s, sizeof words, NULL), PGY_OK);
    assert_int_equal(device_fill(s, memory, 7, 4, NULL), PGY_OK);
    assert_int_equal(device_copy(s, words, memory, sizeof words, DEVICE_TO_HOST, NULL), PGY_OK);
    assert_int_equal(words[0], FAKE_POISON);
    assert_int_equal(device_stream_synchronize(s, NULL), PGY_OK);
    assert_int_equal(words[0], 0x07070707);
    assert_int_equal(words[3], FAKE_POISON);
    device_release(s, memory);
    device_stream_destroy(s);
    fake_device_destroy(d);
}

static void test_fake__events_tell_time_once_they_have_passed(void **state)
{
    (void)state;
    device *d = fake_device_create("fake:0", FAKE_LATE, 0);
    device_stream *s = NULL;
    device_event *first = NULL, *second = NULL;
    pgy_error err = {0};
    double ns = -1;
    assert_int_equal(device_stream_create(&s, d, NULL), PGY_OK);
    assert_int_equal(device_event_create(&first, d, NULL), PGY_OK);
    assert_int_equal(device_event_create(&second, d, NULL), PGY_OK);
    assert_int_equal(device_event_record(first, s, NULL), PGY_OK);
    assert_int_equal(device_event_record(second, s, NULL), PGY_OK);
    assert_int_equal(device_event_elapsed(&ns, first, second, &err), PGY_E_ARGUMENT);
    assert_int_equal(device_event_synchronize(second, NULL), PGY_OK);
    assert_int_equal(device_event_elapsed(&ns, first, second, &err), PGY_OK);
    assert_true(ns >= 0);
    device_event_destroy(first);
    device_event_destroy(second);
    device_stream_destroy(s);
    fake_device_destroy(d);
}

static void forget_memory(void *user)
{
    device *d = fake_device_create("fake:0", FAKE_LATE, 0);
    device_stream *s = NULL;
    void *memory = NULL;
    demand(!device_stream_create(&s, d, NULL));
    demand(!device_allocate(&memory, s, 10, NULL));
    if (!user) device_release(s, memory);
    device_stream_destroy(s);
    fake_device_destroy(d);
}

static void test_fake__memory_has_to_be_given_back(void **state)
{
    (void)state;
    assert_true(fake_survives(forget_memory, NULL));
    assert_false(fake_survives(forget_memory, state));
}
