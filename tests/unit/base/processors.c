/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <sched.h>

#include "base/file.h"
#include "base/processors.h"
#include "base/system.h"

/* Writes <root><name>. */
static void put(const char *root, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", scratch(root), name);
    assert_int_equal(file_write_all(path, text, strlen(text), NULL), PGY_OK);
}

static void expect(const char *root, size_t processors)
{
    assert_int_equal(processors_quota(scratch(root)), processors);
}

static void test_processors__no_quota(void **state)
{
    (void)state;
    expect("nothing", SIZE_MAX);
    put("free", "/proc/self/cgroup", "0::/a\n");
    expect("free", SIZE_MAX);
    put("free", "/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    expect("free", SIZE_MAX);
}

static void test_processors__quota_of_version_2(void **state)
{
    (void)state;
    put("v2", "/proc/self/cgroup", "0::/outer/inner\n");
    put("v2", "/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    put("v2", "/sys/fs/cgroup/outer/cpu.max", "400000 100000\n");
    expect("v2", 4); /* a group's quota holds for the groups in it */
    put("v2", "/sys/fs/cgroup/outer/inner/cpu.max", "150000 100000\n");
    expect("v2", 2); /* one and a half */
    put("v2", "/sys/fs/cgroup/outer/inner/cpu.max", "1000 100000\n");
    expect("v2", 1);
}

static void test_processors__quota_of_version_1(void **state)
{
    (void)state;
    put("v1", "/proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/\n");
    put("v1", "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    put("v1", "/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    expect("v1", SIZE_MAX);
    put("v1", "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000\n");
    expect("v1", 3);
}

/* A container sees its own group at the mount, and is told a path outside. */
static void test_processors__quota_of_a_container(void **state)
{
    (void)state;
    put("box", "/proc/self/cgroup", "0::/docker/0123\n");
    put("box", "/sys/fs/cgroup/cpu.max", "200000 100000\n");
    expect("box", 2);
}

static void test_processors__damaged_files(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {"",         "\n",        "-5 100000\n",
                                        "200000\n", "0 100000",  "200000 0\n",
                                        "x 100000", "200000 -1", "99999999999999999999999 1\n"};
    put("bad", "/proc/self/cgroup", "0::/\n");
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        put("bad", "/sys/fs/cgroup/cpu.max", TEXTS[i]);
        expect("bad", SIZE_MAX);
    }
}

static void test_processors__of_this_process(void **state)
{
    (void)state;
    const size_t allowed = processors_allowed(), quota = processors_quota("");
    assert_true(allowed >= 1 && allowed <= quota);
    if (!getenv("POLYGRAPHY_THREADS")) assert_int_equal(cpu_count(), allowed);
}

static void test_processors__a_thread_moves_and_keeps_its_mask(void **state)
{
    cpu_set_t before, after;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    const int here = processors_current();
    processors_leave(here);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    processors_leave(-1);
    processors_leave(CPU_SETSIZE);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

/* A thread that is asked to leave the only processor that it may use stays. */
static void test_processors__the_only_one_is_kept(void **state)
{
    cpu_set_t all, one;
    (void)state;
    const int here = processors_current();
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(here, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    processors_leave(here);
    assert_int_equal(processors_current(), here);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}
