/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, processor features and processor count. Values that cannot change are determined once. */
#include "base/system.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/processors.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const char *const LEVEL_NAMES[] = {"portable", "avx2", "avx512"};
enum { LEVEL_COUNT = sizeof LEVEL_NAMES / sizeof LEVEL_NAMES[0] };

/* What POLYGRAPHY_CPU leaves. */
typedef struct cpu_mask {
    const char *name;
    cpu_level level;
    bool avx_vnni, tiles;
} cpu_mask;
static const cpu_mask MASKS[] = {
    {"portable", CPU_PORTABLE, false, false},
    {"avx2", CPU_AVX2, false, false},
    {"avxvnni", CPU_AVX2, true, false},
    {"avx512", CPU_AVX512, false, false},
};

static cpu_mask chosen_mask(void)
{
    const char *name = getenv("POLYGRAPHY_CPU");
    for (size_t i = 0; name && i < sizeof MASKS / sizeof *MASKS; i++)
        if (strcmp(name, MASKS[i].name) == 0) return MASKS[i];
    return (cpu_mask){NULL, CPU_AVX512, true, true};
}

int64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#if defined(__x86_64__)
static cpu_level detect(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return CPU_PORTABLE;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return wide ? CPU_AVX512 : CPU_AVX2;
}
#else
static cpu_level detect(void)
{
    return CPU_PORTABLE;
}
#endif

static cpu_level masked_level(void)
{
    const cpu_level level = detect(), most = chosen_mask().level;
    return level < most ? level : most;
}

cpu_level cpu_features(void)
{
    static atomic_int known = -1; /* two threads may both determine it, with the same result */
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) {
        level = (int)masked_level();
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (cpu_level)level;
}

#if defined(__x86_64__)
static bool find_avx_vnni(void)
{
    const unsigned avx_vnni = 1u << 4; /* in EAX of leaf 7, subleaf 1 */
    unsigned a, b, c, d;
    return cpu_features() >= CPU_AVX2 && chosen_mask().avx_vnni &&
           __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & avx_vnni);
}

bool cpu_has_byte_sums(cpu_level level)
{
    static atomic_int known = -1; /* two threads may both determine it, with the same result */
    if (level >= CPU_AVX512)
        return cpu_features() >= CPU_AVX512 && __builtin_cpu_supports("avx512vnni");
    int found = atomic_load_explicit(&known, memory_order_relaxed);
    if (found < 0) {
        found = find_avx_vnni();
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return level == CPU_AVX2 && found;
}
#else
bool cpu_has_byte_sums(cpu_level level)
{
    (void)level;
    return false;
}
#endif

bool cpu_has_byte_permutes(void)
{
#if defined(__x86_64__)
    return cpu_features() >= CPU_AVX512 && __builtin_cpu_supports("avx512vbmi");
#else
    return false;
#endif
}

#if defined(__x86_64__) && defined(__linux__)
/* Linux gives a process the registers of tiles only when it asks for them. */
static bool find_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    const unsigned needed = 1u << 24 | 1u << 25; /* in EDX of leaf 7: AMX-TILE, AMX-INT8 */
    unsigned a, b, c, d;
    return chosen_mask().tiles && cpu_has_byte_sums(CPU_AVX512) &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & needed) == needed &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}
#else
static bool find_tiles(void)
{
    return false;
}
#endif

bool cpu_has_tiles(void)
{
    static atomic_int known = -1; /* two threads may both determine it, with the same result */
    int found = atomic_load_explicit(&known, memory_order_relaxed);
    if (found < 0) {
        found = find_tiles();
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return found;
}

const char *cpu_level_name(cpu_level level)
{
    const size_t i = (size_t)level;
    return i < LEVEL_COUNT ? LEVEL_NAMES[i] : "unknown";
}

static size_t chosen_processors(void)
{
    enum { LARGEST = 1024 };
    const char *text = getenv("POLYGRAPHY_THREADS");
    if (!text) return processors_allowed();
    char *end;
    const long count = strtol(text, &end, 10);
    if (end == text || *end || count < 1) return processors_allowed();
    return count < LARGEST ? (size_t)count : LARGEST;
}

size_t cpu_count(void)
{
    static atomic_size_t known;
    size_t count = atomic_load_explicit(&known, memory_order_relaxed);
    if (count == 0) {
        count = chosen_processors();
        atomic_store_explicit(&known, count, memory_order_relaxed);
    }
    return count;
}
