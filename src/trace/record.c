/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: the recorder of base/tracer.h behind the public functions, and the facts that every
 * recorded trace has. */
#include <stdio.h>
#include <time.h>

#include "base/hash.h"
#include "base/machine.h"
#include "base/ranges.h"
#include "base/sized.h"
#include "base/system.h"
#include "trace/trace.h"

enum { DEFAULT_RUNS = 20, DEFAULT_EVENTS = 1000000, TRACE_VERSION = 1 };

static pgy_trace_options options; /* of the recording that is going on */

pgy_trace_options pgy_trace_options_default(void)
{
    return (pgy_trace_options){
        .size = sizeof(pgy_trace_options), .runs = DEFAULT_RUNS, .max_events = DEFAULT_EVENTS};
}

pgy_status pgy_trace_start(const pgy_trace_options *given, pgy_error *err)
{
    pgy_trace_options taken = pgy_trace_options_default();
    pgy_status st = SIZED_TAKE(pgy_trace_options, &taken, given, err);
    if (st) return st;
    const tracer_limits limits = {.runs = taken.runs, .records = taken.max_events};
    ranges_detect();
    st = tracer_start(&limits, err);
    if (!st) options = taken;
    return st;
}

void pgy_trace_pause(bool on)
{
    tracer_pause(on);
}

bool pgy_trace_is_recording(void)
{
    return tracer_is_recording();
}

void pgy_trace_phase_begin(const char *name)
{
    tracer_phase_begin(name);
}

void pgy_trace_phase_end(void)
{
    tracer_phase_end();
}

/* The time of day when the recording began. */
static void format_start(char *out, size_t size, int64_t start_ns)
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t then = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (clock_ns() - start_ns);
    const time_t seconds = (time_t)(then / 1000000000);
    gmtime_r(&seconds, &utc);
    const size_t used = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + used, size - used, ".%06dZ", (int)(then % 1000000000 / 1000));
}

static pgy_status set_facts(pgy_trace *t, const tracer_take *taken, pgy_error *err)
{
    char start[64], processor[64];
    format_start(start, sizeof start, taken->start_ns);
    machine_processor(processor, sizeof processor);
    pgy_status st = pgy_trace_set_number(t, "trace_version", TRACE_VERSION, err);
    if (!st) st = pgy_trace_set_text(t, "library", "libpolygraphy " PGY_VERSION, err);
    if (!st) st = pgy_trace_set_text(t, "start_utc", start, err);
    if (!st) st = pgy_trace_set_text(t, "clock", "monotonic", err);
    if (!st) st = pgy_trace_set_text(t, "cpu", cpu_level_name(cpu_features()), err);
    if (!st) st = pgy_trace_set_text(t, "processor", processor, err);
    if (!st) st = pgy_trace_set_number(t, "processors", (double)cpu_count(), err);
    if (!st) st = pgy_trace_set_number(t, "overhead_ns_per_slice", taken->cost_ns, err);
    if (!st && taken->residual_ns >= 0)
        st = pgy_trace_set_number(t, "clock_residual_ns", (double)taken->residual_ns, err);
    if (!st) st = pgy_trace_set_number(t, "dropped_events", (double)taken->dropped, err);
    if (!st) st = pgy_trace_set_number(t, "runs", (double)taken->run_count, err);
    return st ? st : pgy_trace_set_number(t, "runs_without_layers", (double)taken->left_out, err);
}

pgy_status pgy_trace_stop(pgy_trace **out, pgy_error *err)
{
    pgy_trace *t = NULL;
    if (!out) return tracer_stop(NULL, err);
    pgy_status st = pgy_trace_create(&t, err);
    const pgy_status stopped = tracer_stop(t ? &t->taken : NULL, st ? NULL : err);
    if (!st) st = stopped;
    if (!st) {
        tracer_take *taken = &t->taken;
        t->records = taken->records;
        t->record_count = t->record_capacity = taken->record_count;
        t->labels = taken->labels;
        t->label_count = t->label_capacity = taken->label_count;
        t->rows = taken->rows;
        t->row_count = t->row_capacity = taken->row_count;
        t->runs = taken->runs;
        t->run_count = taken->run_count;
        t->start_ns = taken->start_ns;
        taken->records = NULL;
        taken->labels = NULL;
        taken->rows = NULL;
        taken->runs = NULL;
        st = trace_derive(t, options.max_events, options.align, err);
    }
    if (!st) st = set_facts(t, &t->taken, err);
    if (st)
        pgy_trace_destroy(t);
    else
        *out = t;
    return st;
}

/* ---- Facts about a program's run ------------------------------------------------------------- */

/* Copies a command line without the folders of paths, which tell about the machine. */
static void put_without_folders(str *out, const char *command)
{
    bool quoted = false;
    size_t word = 0; /* where the name that is being copied begins */
    for (const char *c = command; *c; c++) {
        if (*c == '/') {
            out->size = word;
            continue;
        }
        if (*c == '\'') quoted = !quoted;
        str_append_char(out, *c);
        if (out->failed) return;
        if (*c == '\'' || *c == ':' || *c == '=' || *c == ',' || (*c == ' ' && !quoted))
            word = out->size;
    }
    str_append(out, "");
}

static pgy_status describe_model(pgy_trace *t, const char *path, pgy_error *err)
{
    char hash[24];
    file_map map = {0};
    pgy_status st = pgy_trace_set_text(t, "model", path_basename(path), err);
    if (st || file_map_open(&map, path, NULL)) return st;
    snprintf(hash, sizeof hash, "%016llx",
             (unsigned long long)hash_xxh64(map.data, map.size_bytes, 0));
    file_map_close(&map);
    return pgy_trace_set_text(t, "model_xxh64", hash, err);
}

pgy_status pgy_trace_describe(pgy_trace *t, const char *tool, const char *command,
                              const char *model, pgy_error *err)
{
    str text = {0};
    pgy_status st = tool ? pgy_trace_set_text(t, "tool", tool, err) : PGY_OK;
    if (command) put_without_folders(&text, command);
    if (!st && command) st = pgy_trace_set_text(t, "command", str_text(&text), err);
    if (!st && model) st = describe_model(t, model, err);
    str_deinit(&text);
    return st;
}
