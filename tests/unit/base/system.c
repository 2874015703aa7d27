/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "base/system.h"

/* Also where one processor is all there is, four threads must do. */
static int group_setup(void **state)
{
    (void)state;
    return setenv("POLYGRAPHY_THREADS", "4", 1);
}

static void test_system__facts(void **state)
{
    (void)state;
    assert_int_equal(cpu_count(), 4);
    assert_in_range(cpu_features(), CPU_PORTABLE, CPU_AVX512);
    assert_string_equal(cpu_level_name(CPU_PORTABLE), "portable");
    assert_string_equal(cpu_level_name(CPU_AVX512), "avx512");
    assert_string_equal(cpu_level_name((cpu_level)7), "unknown");
    const int64_t t = clock_ns();
    assert_true(t > 0 && clock_ns() >= t);
}

static int level_in_child(const char *name, const char *value, int (*ask)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        setenv(name, value, 1);
        _exit(ask());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static int ask_level(void)
{
    execl("/proc/self/exe", "system", "--level", NULL);
    return 99;
}

/* Run as `system --level`, before cmocka starts. */
__attribute__((constructor)) static void answer_level(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--level") == 0)
        _exit((int)cpu_features() * 16 + (int)(cpu_count() % 16));
}

static void test_system__environment_masks(void **state)
{
    (void)state;
    assert_int_equal(level_in_child("POLYGRAPHY_CPU", "portable", ask_level),
                     CPU_PORTABLE * 16 + 4);
    assert_true(level_in_child("POLYGRAPHY_CPU", "avx2", ask_level) <= CPU_AVX2 * 16 + 4);
    if (!getenv("POLYGRAPHY_CPU")) /* else this process is masked itself */
        assert_int_equal(level_in_child("POLYGRAPHY_CPU", "what", ask_level),
                         (int)cpu_features() * 16 + 4);
    assert_int_equal(level_in_child("POLYGRAPHY_THREADS", "3", ask_level) % 16, 3);
    assert_true(level_in_child("POLYGRAPHY_THREADS", "0", ask_level) % 16 != 0);
}

typedef struct tally {
    atomic_int hits[1000];
    pthread_t threads[1000];
    void (*inner)(size_t index, void *user);
} tally;

static void hit(size_t index, void *user)
{
    tally *t = user;
    t->threads[index] = pthread_self();
    atomic_fetch_add(&t->hits[index], 1);
}

static void expect_each_once(tally *t, size_t count)
{
    for (size_t i = 0; i < 1000; i++) assert_int_equal(t->hits[i], i < count);
}

static void test_system__each_index_once(void **state)
{
    (void)state;
    for (size_t count = 0; count <= 1000; count += count < 10 ? 1 : 99) {
        tally t = {0};
        parallel_for(count, hit, &t);
        expect_each_once(&t, count);
    }
}

/* Every task waits until all four have begun: with fewer threads this would not end. */
static void meet(size_t index, void *user)
{
    atomic_int *present = user;
    (void)index;
    atomic_fetch_add(present, 1);
    while (atomic_load(present) < 4) usleep(100);
}

static void test_system__really_parallel(void **state)
{
    (void)state;
    atomic_int present = 0;
    parallel_for(4, meet, &present);
    assert_int_equal(present, 4);
}

static void one_runs_inline(size_t index, void *user)
{
    *(pthread_t *)user = pthread_self();
    (void)index;
}

static void test_system__one_runs_inline(void **state)
{
    (void)state;
    pthread_t thread = 0;
    parallel_for(1, one_runs_inline, &thread);
    assert_true(pthread_equal(thread, pthread_self()));
}

static void nest(size_t index, void *user)
{
    tally *outer = user, inner = {0};
    parallel_for(50, hit, &inner);
    for (size_t i = 0; i < 50; i++)
        if (inner.hits[i] != 1 || !pthread_equal(inner.threads[i], pthread_self())) return;
    atomic_fetch_add(&outer->hits[index], 1);
}

static void test_system__nested_runs_inline(void **state)
{
    (void)state;
    tally t = {0};
    parallel_for(100, nest, &t);
    expect_each_once(&t, 100);
}

static void *loop_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < 300; i++) {
        tally *t = calloc(1, sizeof *t);
        parallel_for(64, hit, t);
        for (int k = 0; k < 64; k++)
            if (t->hits[k] != 1) abort();
        free(t);
    }
    return NULL;
}

static void test_system__loops_beside_each_other(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, loop_many, NULL), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void test_system__works_after_fork(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* that sanitizer cannot follow threads started after fork */
#endif
    tally t = {0};
    parallel_for(1000, hit, &t);
    for (int i = 0; i < 20; i++) {
        const pid_t child = fork();
        if (child == 0) {
            atomic_int present = 0;
            tally mine = {0};
            /* Without memory for a thread nobody comes. */
            alarm(getenv("POLYGRAPHY_TEST_FAIL_ALLOC") ? 1 : 20);
            parallel_for(4, meet, &present);
            parallel_for(1000, hit, &mine);
            for (size_t k = 0; k < 1000; k++)
                if (mine.hits[k] != 1) _exit(1);
            scratch_folder[0] = '\0';
            exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
    }
}
