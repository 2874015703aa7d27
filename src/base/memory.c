/* SPDX-License-Identifier: Apache-2.0 */
/* The limit is derived from free memory, not from physical memory: a container may have only a part
 * of it, and other processes use it, too. A process that exceeds the free memory is killed, or the
 * machine swaps. */
#include "base/memory.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <polygraphy/base.h>

#include "base/cgroup.h"

/* ---- Control groups ------------------------------------------------------------------------- */

typedef struct group_files {
    cgroup_kind kind;
    const char *limits[2], *usage;
    const char *cache[2]; /* fields of memory.stat that count pages of files, which the kernel
                             reclaims first */
} group_files;

static const group_files KINDS[] = {
    {{"", "/sys/fs/cgroup"},
     {"memory.max", "memory.high"},
     "memory.current",
     {"inactive_file", "active_file"}},
    {{"", "/sys/fs/cgroup/unified"},
     {"memory.max", "memory.high"},
     "memory.current",
     {"inactive_file", "active_file"}},
    {{"memory", "/sys/fs/cgroup/memory"},
     {"memory.limit_in_bytes", NULL},
     "memory.usage_in_bytes",
     {"total_inactive_file", "total_active_file"}},
};
enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

/* cgroup v1 reports "no limit" as a huge multiple of the page size, so limits from here on count as
 * none. */
#define UNLIMITED (UINT64_C(1) << 62)

static uint64_t group_room(const char *root, const group_files *k, const char *folder)
{
    uint64_t limit = UINT64_MAX;
    for (size_t i = 0; i < 2 && k->limits[i]; i++) {
        const uint64_t n = cgroup_number(root, folder, k->limits[i]);
        if (n < limit) limit = n;
    }
    if (limit >= UNLIMITED)
        return UINT64_MAX; /* return early, because reading the group's statistics is slow */
    const uint64_t usage = cgroup_number(root, folder, k->usage);
    if (usage == UINT64_MAX) return limit;
    uint64_t cache = 0;
    for (size_t i = 0; i < 2; i++) cache += cgroup_field(root, folder, "memory.stat", k->cache[i]);
    const uint64_t held = usage > cache ? usage - cache : 0;
    return limit > held ? limit - held : 0;
}

typedef struct search {
    const group_files *files;
    uint64_t room;
} search;

static void visit_group(const char *root, const char *folder, void *user)
{
    search *s = user;
    const uint64_t here = group_room(root, s->files, folder);
    if (here < s->room) s->room = here;
}

/* The free part of the limit (room): the smallest one of the group and all its ancestors. */
static uint64_t kind_room(const char *root, const group_files *k)
{
    search s = {.files = k, .room = UINT64_MAX};
    cgroup_visit(root, &k->kind, visit_group, &s);
    return s.room;
}

uint64_t memory_free_bytes(const char *root, const char **source)
{
    const uint64_t available = cgroup_field(root, "/proc", "meminfo", "MemAvailable:");
    uint64_t least = available && available < UINT64_MAX >> 10 ? available << 10 : UINT64_MAX;
    const char *from = "free memory of this machine";
    for (size_t i = 0; i < KIND_COUNT; i++) {
        const uint64_t room = kind_room(root, &KINDS[i]);
        if (room >= least) continue;
        least = room;
        from = "the memory that the control group (cgroup) of this process leaves";
    }
    if (source) *source = from;
    return least;
}

/* ---- The limit ------------------------------------------------------------------------------ */

static _Atomic uint64_t given; /* limit that pgy_set_max_memory set; 0: none was set */
static _Atomic uint64_t found; /* limit derived from free memory; 0: not determined yet */
static _Atomic(const char *) found_source; /* where the limit in `found` comes from */

void pgy_set_max_memory(uint64_t size_bytes)
{
    atomic_store_explicit(&given, size_bytes, memory_order_relaxed);
}

/* If two threads call this at once, the later result wins; both are right. */
static uint64_t find_limit(void)
{
    const char *source = NULL;
    uint64_t room = memory_free_bytes("", &source);
    if (room == UINT64_MAX) {
        const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        source = "memory of this machine";
        if (pages > 0 && page > 0) room = (uint64_t)pages * (uint64_t)page;
    }
    room -= room / 16; /* reserve for code, stacks and small blocks, which are not counted */
    atomic_store(&found_source, source);
    atomic_store(&found, room ? room : 1);
    return room ? room : 1;
}

uint64_t memory_limit_bytes(void)
{
    const uint64_t set = atomic_load_explicit(&given, memory_order_relaxed);
    if (set) return set;
    const uint64_t known = atomic_load_explicit(&found, memory_order_relaxed);
    return known ? known : find_limit();
}

memory_limit_text memory_limit_describe(void)
{
    memory_limit_text t;
    const uint64_t limit = memory_limit_bytes();
    const bool set = atomic_load(&given) != 0;
    const char *source = atomic_load(&found_source);
    if (set)
        snprintf(t.text, sizeof t.text, "the memory limit of %" PRIu64 " bytes", limit);
    else
        snprintf(t.text, sizeof t.text,
                 "the memory limit of %" PRIu64
                 " bytes (15/16 of %s; pgy_set_max_memory sets another limit)",
                 limit, source ? source : "free memory");
    return t;
}

memory_limit_text memory_limit_describe_other(uint64_t size_bytes)
{
    memory_limit_text t;
    if (size_bytes == memory_limit_bytes()) return memory_limit_describe();
    snprintf(t.text, sizeof t.text, "the limit of %" PRIu64 " bytes", size_bytes);
    return t;
}

uint64_t memory_resident_bytes(void)
{
    unsigned long long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    const int count = fscanf(file, "%llu %llu", &total, &resident);
    fclose(file);
    return count == 2 ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
