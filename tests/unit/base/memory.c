/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/memory.h"

#include <polygraphy/base.h>

enum { MIB = 1 << 20 };

/* Writes <root><name> for a test of control groups. */
static void put(const char *root, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", scratch(root), name);
    assert_int_equal(file_write_all(path, text, strlen(text), NULL), PGY_OK);
}

static void expect(const char *root, uint64_t bytes, const char *source)
{
    const char *from = NULL;
    assert_int_equal(memory_free_bytes(scratch(root), &from), bytes);
    if (source) assert_non_null(strstr(from, source));
}

static const char MEMINFO[] = "MemTotal: 24684084 kB\nMemFree: 100 kB\nMemAvailable:   1000 kB\n";

static void test_memory__of_the_machine(void **state)
{
    (void)state;
    expect("nothing", UINT64_MAX, NULL);
    put("machine", "/proc/meminfo", MEMINFO);
    expect("machine", 1000 << 10, "this machine");
    put("machine", "/proc/self/cgroup", "0::/\n"); /* the root group has no files */
    expect("machine", 1000 << 10, "this machine");
}

static void test_memory__cgroup_version_2(void **state)
{
    (void)state;
    put("v2", "/proc/meminfo", MEMINFO);
    put("v2", "/proc/self/cgroup", "0::/outer/inner\n");
    put("v2", "/sys/fs/cgroup/outer/inner/memory.max", "max\n");
    put("v2", "/sys/fs/cgroup/outer/inner/memory.current", "5\n");
    put("v2", "/sys/fs/cgroup/outer/memory.max", "max\n");
    expect("v2", 1000 << 10, "this machine");
    put("v2", "/sys/fs/cgroup/outer/memory.max", "300000\n");
    put("v2", "/sys/fs/cgroup/outer/memory.current", "200000\n");
    expect("v2", 100000, "control group");
    put("v2", "/sys/fs/cgroup/outer/memory.stat",
        "anon 1\ninactive_file 30000\nactive_file 20000\nactive_files 7\n");
    expect("v2", 150000, "control group"); /* pages of files can be had back */
    put("v2", "/sys/fs/cgroup/outer/inner/memory.high", "1005\n");
    expect("v2", 1000, "control group");
    put("v2", "/sys/fs/cgroup/outer/inner/memory.max", "4\n");
    expect("v2", 0, "control group");
}

static void test_memory__cgroup_version_1(void **state)
{
    (void)state;
    put("v1", "/proc/meminfo", MEMINFO);
    put("v1", "/proc/self/cgroup", "5:cpu,memory:/job\n1:name=systemd:/memory\n0::/\n");
    put("v1", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("v1", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "77\n");
    expect("v1", 1000 << 10, "this machine");
    put("v1", "/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "5000\n");
    put("v1", "/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4000\n");
    put("v1", "/sys/fs/cgroup/memory/job/memory.stat",
        "inactive_file 7\ntotal_inactive_file 500\n");
    expect("v1", 1500, "control group");
}

/* A container sees its own group at the mount, and is told a path outside. */
static void test_memory__cgroup_of_a_container(void **state)
{
    (void)state;
    put("box", "/proc/meminfo", MEMINFO);
    put("box", "/proc/self/cgroup", "4:memory:/docker/0123\n0::/../../outside\n");
    put("box", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n");
    expect("box", 5000, "control group");
    put("box", "/sys/fs/cgroup/unified/memory.max", "4000\n");
    expect("box", 4000, "control group");
}

static void test_memory__damaged_files(void **state)
{
    (void)state;
    put("bad", "/proc/meminfo", "MemAvailable: lots\nMemAvailable:\n");
    put("bad", "/proc/self/cgroup", "\n:\n0:\n::\n0::\n0::/a\n");
    put("bad", "/sys/fs/cgroup/memory.max", "-1\n");
    put("bad", "/sys/fs/cgroup/a/memory.max", "");
    expect("bad", UINT64_MAX, NULL);
}

static void test_memory__facts(void **state)
{
    (void)state;
    pgy_set_max_memory(0);
    assert_true(memory_resident_bytes() > 100000);
    assert_true(memory_limit_bytes() > memory_resident_bytes());
    assert_non_null(strstr(memory_limit_describe().text, "15/16 of "));
}

static void test_memory__large_blocks_count_together(void **state)
{
    (void)state;
    pgy_error err = {0};
    const size_t before = mem_counted_bytes();
    pgy_set_max_memory(before + 10 * MIB);
    void *a = mem_alloc(4 * MIB), *b = mem_alloc_aligned(64, 4 * MIB);
    assert_non_null(a);
    assert_non_null(b);
    assert_true(mem_counted_bytes() >= before + 8 * MIB);
    assert_null(mem_calloc(4, MIB));
    assert_int_equal(pgy_error_set(&err, PGY_E_MEMORY, "out of memory for it"), PGY_E_MEMORY);
    assert_true(!strncmp(err.text, "out of memory for it (4194304 bytes more than the ", 50));
    assert_non_null(strstr(err.text, " bytes)"));
    assert_int_equal(pgy_error_set(&err, PGY_E_MEMORY, "again"), PGY_E_MEMORY);
    assert_string_equal(err.text, "again");
    assert_null(mem_realloc(b, 8 * MIB)); /* which keeps the old block */
    assert_true(mem_counted_bytes() >= before + 8 * MIB);
    mem_free(b);
    a = mem_realloc(a, 9 * MIB); /* without the old block beside it */
    assert_non_null(a);
    a = mem_realloc(a, 1000);
    assert_int_equal(mem_counted_bytes(), before);
    mem_free(a);
    void *small = mem_alloc(1000);
    assert_non_null(small);
    mem_free(small);
    assert_int_equal(mem_counted_bytes(), before);
    pgy_set_max_memory(0);
}
