/* SPDX-License-Identifier: Apache-2.0 */
/* What the system says about processors, other processes and memory. Every file may be absent (in
 * a container, on another kernel); the value is then unknown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/pytext.h"
#include "base/system.h"
#include "perf/bench.h"

enum { LINE_SIZE = 16384 }; /* the flags of a processor are a line of some KiB */

/* ---- The processors ------------------------------------------------------------------------- */

/* The text behind "key :" of a line of /proc/cpuinfo; false: another key. */
static bool line_value(const char **value, char *line, const char *key)
{
    const size_t size = strlen(key);
    if (strncmp(line, key, size) != 0) return false;
    char *at = line + size + strspn(line + size, " \t");
    if (*at != ':') return false;
    at += 1 + strspn(at + 1, " \t");
    at[strcspn(at, "\n")] = 0;
    *value = at;
    return true;
}

typedef struct cpu_info {
    bench_machine *texts; /* NULL: only the clock is wanted */
    double mhz_sum;
    size_t mhz_count;
} cpu_info;

static void read_line(cpu_info *info, char *line)
{
    const char *value = NULL;
    bench_machine *m = info->texts;
    if (line_value(&value, line, "cpu MHz")) {
        info->mhz_sum += text_to_double(value, NULL);
        info->mhz_count++;
    } else if (m && !m->processor && line_value(&value, line, "model name")) {
        m->processor = mem_strdup(value);
    } else if (m && !m->flags &&
               (line_value(&value, line, "flags") || line_value(&value, line, "Features"))) {
        m->flags = mem_strdup(value);
    }
}

/* Returns the mean clock in MHz, -1 if unknown. */
static double read_cpu_info(bench_machine *texts)
{
    cpu_info info = {.texts = texts};
    char line[LINE_SIZE];
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f) return -1;
    while (fgets(line, sizeof line, f)) read_line(&info, line);
    fclose(f);
    return info.mhz_count ? info.mhz_sum / (double)info.mhz_count : -1;
}

/* The first line of a file; "" if it cannot be read. */
static void read_first_line(char *out, size_t size, const char *path)
{
    FILE *f = fopen(path, "re");
    out[0] = 0;
    if (!f) return;
    if (!fgets(out, (int)size, f)) out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    fclose(f);
}

static int64_t throttle_count(void)
{
    char text[64];
    read_first_line(text, sizeof text,
                    "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count");
    return text[0] ? strtoll(text, NULL, 10) : -1;
}

pgy_status bench_machine_read(bench_machine *out, pgy_error *err)
{
    char governor[64];
    bench_machine m = {.processors = (int64_t)cpu_count(), .mhz_after = -1};
    m.mhz_before = read_cpu_info(&m);
    m.throttled = throttle_count();
    read_first_line(governor, sizeof governor,
                    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    m.governor = mem_strdup(governor);
    if (!m.processor) m.processor = mem_strdup("");
    if (!m.flags) m.flags = mem_strdup("");
    if (!m.governor || !m.processor || !m.flags) {
        bench_machine_deinit(&m);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    *out = m;
    return PGY_OK;
}

void bench_machine_finish(bench_machine *m)
{
    const int64_t now = throttle_count();
    m->mhz_after = read_cpu_info(NULL);
    m->throttled = m->throttled >= 0 && now >= m->throttled ? now - m->throttled : -1;
}

void bench_machine_deinit(bench_machine *m)
{
    mem_free(m->processor);
    mem_free(m->flags);
    mem_free(m->governor);
    mem_free(m->energy);
}

/* ---- Load ----------------------------------------------------------------------------------- */

/* Seconds of all processors that were not idle: user, nice, system, irq, softirq and steal. */
static double busy_seconds(void)
{
    unsigned long long t[8];
    const long ticks = sysconf(_SC_CLK_TCK);
    FILE *f = fopen("/proc/stat", "re");
    if (!f) return -1;
    const int n = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
                         &t[3], &t[4], &t[5], &t[6], &t[7]);
    fclose(f);
    if (n != 8 || ticks <= 0) return -1;
    return (double)(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) / (double)ticks;
}

bench_load bench_load_read(void)
{
    struct timespec own;
    bench_load l = {.busy = busy_seconds(), .own = -1, .at_ns = clock_ns()};
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) == 0)
        l.own = (double)own.tv_sec + (double)own.tv_nsec / 1e9;
    return l;
}

double bench_load_others(const bench_load *before, const bench_load *after, bool *disturbed)
{
    /* /proc/stat counts ticks of 10 ms for each processor, so a reading is off by about this. */
    static const double RESOLUTION_S = 0.03, SHARE = 0.1, LEAST_WALL_S = 0.05;
    const double wall = (double)(after->at_ns - before->at_ns) / 1e9;
    *disturbed = false;
    if (before->busy < 0 || after->busy < 0 || before->own < 0 || wall < LEAST_WALL_S) return -1;
    const double others = after->busy - before->busy - (after->own - before->own);
    if (others <= 0) return 0;
    *disturbed = others > RESOLUTION_S + SHARE * wall;
    return others / wall;
}

/* ---- Memory --------------------------------------------------------------------------------- */

int64_t bench_memory(bool peak)
{
    long long kib = -1;
    char line[LINE_SIZE];
    FILE *f = fopen("/proc/self/status", "re");
    if (!f) return -1;
    while (kib < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, peak ? "VmHWM: %lld kB" : "VmRSS: %lld kB", &kib) != 1) kib = -1;
    fclose(f);
    return kib < 0 ? -1 : (int64_t)kib * 1024;
}

bool bench_memory_reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "we");
    if (!f) return false;
    const bool written = fputs("5", f) >= 0;
    return fclose(f) == 0 && written;
}
