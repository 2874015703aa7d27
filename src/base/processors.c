/* SPDX-License-Identifier: Apache-2.0 */
/* More threads than the quota pays for are stopped together for the rest of each period, so steps
 * wait for threads that may not run. */
#include "base/processors.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cgroup.h"

static const cgroup_kind V2[] = {{"", "/sys/fs/cgroup"}, {"", "/sys/fs/cgroup/unified"}};
static const cgroup_kind V1[] = {{"cpu", "/sys/fs/cgroup/cpu"},
                                 {"cpu", "/sys/fs/cgroup/cpu,cpuacct"}};

static void lower(size_t *least, uint64_t quota, uint64_t period)
{
    if (!quota || !period || quota == UINT64_MAX || period == UINT64_MAX) return;
    const uint64_t count = quota / period + (quota % period != 0);
    if (count < *least) *least = (size_t)count;
}

/* "200000 100000": microseconds of processor time in each period; "max 100000": no limit. */
static void visit_v2(const char *root, const char *folder, void *least)
{
    char line[64], *end;
    if (!cgroup_line(root, folder, "cpu.max", line, sizeof line)) return;
    if (*line < '0' || *line > '9') return;
    const uint64_t quota = strtoull(line, &end, 10);
    if (*end == ' ' && end[1] >= '0' && end[1] <= '9')
        lower(least, quota, strtoull(end + 1, NULL, 10));
}

static void visit_v1(const char *root, const char *folder, void *least)
{
    lower(least, cgroup_number(root, folder, "cpu.cfs_quota_us"), /* -1: no limit */
          cgroup_number(root, folder, "cpu.cfs_period_us"));
}

size_t processors_quota(const char *root)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < sizeof V2 / sizeof *V2; i++)
        cgroup_visit(root, &V2[i], visit_v2, &least);
    for (size_t i = 0; i < sizeof V1 / sizeof *V1; i++)
        cgroup_visit(root, &V1[i], visit_v1, &least);
    return least;
}

static size_t in_affinity_mask(void)
{
    enum { LARGEST = 1 << 16 };
    for (int limit = 1024; limit <= LARGEST; limit *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)limit);
        if (!set) break;
        const size_t size = CPU_ALLOC_SIZE((size_t)limit);
        const int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0) return (size_t)count;
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

size_t processors_allowed(void)
{
    const size_t mask = in_affinity_mask(), quota = processors_quota("");
    return quota < mask ? quota : mask;
}

int processors_current(void)
{
    return sched_getcpu();
}

/* A thread moves at once when its mask forbids where it is, and stays when the mask is back. */
void processors_leave(int processor)
{
    cpu_set_t all, others;
    if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof all, &all)) return;
    others = all;
    CPU_CLR(processor, &others);
    if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof others, &others))
        (void)sched_setaffinity(0, sizeof all, &all);
}
