/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <pthread.h>
#include <time.h>

#include "base/progress.h"

typedef struct heard {
    size_t calls, ends, deepest;
    uint64_t last_done;
    char what[64];
} heard;

static void hear(const pgy_progress *p, void *user)
{
    heard *h = user;
    assert_int_equal(p->size, sizeof *p);
    h->calls++;
    if (!p->level_count) h->ends++;
    if (p->level_count > h->deepest) h->deepest = p->level_count;
    if (!p->level_count) return;
    h->last_done = p->levels[p->level_count - 1].done;
    snprintf(h->what, sizeof h->what, "%s", p->levels[0].what);
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void test_progress__levels_and_rate(void **state)
{
    (void)state;
    heard h = {0};
    progress_begin("nobody listens", 1);
    progress_advance(1);
    progress_end();
    pgy_set_progress(hear, &h);
    progress_begin("outer", 2);
    assert_string_equal(h.what, "outer");
    progress_begin("inner", 100000);
    for (uint64_t i = 0; i < 100000; i++) progress_advance(i);
    assert_true(h.calls < 1000); /* at most ten a second */
    wait_ms(110);
    progress_advance(7);
    assert_int_equal(h.last_done, 7);
    assert_int_equal(h.deepest, 2);
    progress_end();
    assert_int_equal(h.ends, 0);
    progress_end();
    assert_int_equal(h.ends, 1);
    pgy_set_progress(NULL, NULL);
}

static void test_progress__nested_deeper_than_the_table(void **state)
{
    (void)state;
    heard h = {0};
    pgy_set_progress(hear, &h);
    for (int i = 0; i < 50; i++) progress_begin("level", 1);
    wait_ms(110);
    progress_advance(1);
    for (int i = 0; i < 50; i++) progress_end();
    assert_int_equal(h.ends, 1);
    assert_true(h.deepest <= 8);
    pgy_set_progress(NULL, NULL);
}

static void *report_beside(void *unused)
{
    (void)unused;
    progress_begin("beside", 1);
    wait_ms(110);
    progress_advance(1);
    progress_end();
    return NULL;
}

static void test_progress__one_thread_reports(void **state)
{
    (void)state;
    heard h = {0};
    pthread_t other;
    pgy_set_progress(hear, &h);
    progress_begin("first", 1);
    assert_int_equal(pthread_create(&other, NULL, report_beside, NULL), 0);
    pthread_join(other, NULL);
    progress_advance(1);
    assert_string_equal(h.what, "first");
    progress_end();
    assert_int_equal(h.ends, 1);
    pgy_set_progress(NULL, NULL);
}
