/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements of several sides in slices. bench.c keeps them, bench_measure.c fills them,
 * bench_stats.c judges them. */
#ifndef PERF_BENCH_H
#define PERF_BENCH_H

#include <polygraphy/bench.h>

#include "base/json.h"
#include "base/rand.h"

/* A slice keeps at most BENCH_KEPT times, a random sample of its runs. */
enum { BENCH_KEPT = 1000, BENCH_SIDES = 64, BENCH_LEAST = 8, BENCH_SLICES = 1000 };

/* Energy of the machine; negative: unknown. */
typedef struct bench_joules {
    double cpu, gpu;
} bench_joules;

typedef struct bench_slice {
    int64_t *times_ns; /* `count` sorted times */
    size_t count;
    uint64_t runs;
    int64_t total_ns; /* of all runs */
    bench_joules joules;
    bool first_counts; /* while measuring: the first run is one of `runs` */
    double others;     /* processors that other processes used; negative: unknown */
    bool disturbed;
    size_t place; /* in the order of its round */
} bench_slice;

/* What the comparison with the reference found. */
typedef struct bench_accuracy {
    char *reference; /* NULL: nothing was to be checked */
    char *reason;    /* why it did not pass; NULL: it did */
    bool measured;
    double error, relative_error; /* finite if measured */
} bench_accuracy;

typedef struct bench_side {
    char *name;
    bench_accuracy accuracy;
    bench_slice *slices; /* slices[i] belongs to round i */
    size_t count, capacity;
    double load_ms, first_run_ms;
    int64_t peak_bytes;
} bench_side;

/* What the system says about the processors. Texts are "" and numbers -1 if unknown. */
typedef struct bench_machine {
    char *processor, *flags, *governor;
    int64_t processors;
    double mhz_before, mhz_after;
    int64_t throttled; /* how often the processor was throttled while measuring */
    char *energy;      /* what measured energy, and why the rest is unknown */
} bench_machine;

struct pgy_bench {
    pgy_bench_options options;
    bench_side *sides;
    size_t count;
    bench_machine machine;
};

pgy_status bench_check_options(const pgy_bench_options *o, pgy_error *err) PGY_MUST_CHECK;
/* Adds a slice, taking over s->times_ns, also on failure. The times must be sorted. */
pgy_status bench_adopt(pgy_bench *b, size_t side, bench_slice *s, pgy_error *err) PGY_MUST_CHECK;
/* The time in ns that stands for a slice: the mean of the middle half of its times. Unlike their
 * median it has no steps where runs take only a few ticks of the clock. */
double bench_slice_centre(const bench_slice *s);
void bench_sort_times(int64_t *times, size_t count);

/* ---- bench_stats.c ---- */
/* Does the round count? True for all rounds if too many are disturbed. */
typedef struct bench_rounds {
    bool *counts;
    size_t total, counted;
    bool all; /* disturbed ones count, too */
} bench_rounds;
pgy_status bench_rounds_find(bench_rounds *out, const pgy_bench *b, pgy_error *err) PGY_MUST_CHECK;
void bench_rounds_deinit(bench_rounds *r);

/* ---- bench_machine.c ---- */
pgy_status bench_machine_read(bench_machine *out, pgy_error *err) PGY_MUST_CHECK;
void bench_machine_finish(bench_machine *m); /* reads again what may have changed */
void bench_machine_deinit(bench_machine *m);
/* Processor time in seconds so far; negative: unknown. */
typedef struct bench_load {
    double busy, own; /* of all processes; of this one */
    int64_t at_ns;
} bench_load;
bench_load bench_load_read(void);
/* The number of processors that others used between the two readings; negative: unknown, as it
 * is for slices under 50 ms.
 * *disturbed: more than the readings' resolution and a tenth of a processor. */
double bench_load_others(const bench_load *before, const bench_load *after, bool *disturbed);
/* Resident memory and its peak in bytes; -1: unknown. Reset makes the peak begin again. */
int64_t bench_memory(bool peak);
bool bench_memory_reset_peak(void);

/* ---- bench_energy.c ---- */
/* Counters of energy: RAPL's files below a folder, and NVML. */
typedef struct bench_energy bench_energy;
pgy_status bench_energy_open(bench_energy **out, const char *powercap,
                             pgy_error *err) PGY_MUST_CHECK;
void bench_energy_close(bench_energy *e); /* NULL is fine */
/* "CPU from RAPL (2 packages), GPU unknown (libnvidia-ml.so.1 is not there)" */
const char *bench_energy_text(const bench_energy *e);
/* What the counters say now, from any origin; the difference of two readings counts. */
void bench_energy_read(bench_joules *out, bench_energy *e);
bench_joules bench_joules_between(const bench_joules *before, const bench_joules *after);

/* ---- bench_text.c ---- */
/* A column: the error, "?" if it could not be measured, "-" if nothing was to be checked. */
void bench_append_error(str *out, const pgy_bench *b, size_t side);
void bench_append_machine(str *out, const bench_machine *m);
void bench_append_verdict(str *out, const pgy_bench_verdict *v, const char *name,
                          const char *other);

/* ---- bench_draw.c ---- */
/* Times of the slices of a side as a row of blocks of growing height, from the first round to the
 * last: at most `width` blocks. */
void bench_append_sparkline(str *out, const bench_side *s, size_t width);

/* ---- bench_write.c and bench_read.c ---- */
pgy_status bench_write(json_writer *w, const void *user, pgy_error *err) PGY_MUST_CHECK;
/* `path` is the name in errors. */
pgy_status bench_parse(pgy_bench **out, span text, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* Reads a document inside another one; `memory` holds its texts. */
pgy_status bench_read_value(pgy_bench **out, const json_value *root, const char *path,
                            arena *memory, pgy_error *err) PGY_MUST_CHECK;

#endif
