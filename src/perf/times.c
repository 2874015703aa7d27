/* SPDX-License-Identifier: Apache-2.0 */
/* Times of runs in trtexec's JSON. Its key names changed in 8.4; both are read. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "perf/perf.h"

typedef struct time_key {
    const char *name;
    const char *old; /* name before 8.4, or NULL */
    size_t offset;   /* in pgy_perf_run */
} time_key;

static const time_key KEYS[] = {
    {"startEnqMs", NULL, offsetof(pgy_perf_run, enqueue_start)},
    {"endEnqMs", NULL, offsetof(pgy_perf_run, enqueue_end)},
    {"startH2dMs", "startInMs", offsetof(pgy_perf_run, h2d_start)},
    {"endH2dMs", "endInMs", offsetof(pgy_perf_run, h2d_end)},
    {"startComputeMs", "startComputeMs", offsetof(pgy_perf_run, compute_start)},
    {"endComputeMs", "endComputeMs", offsetof(pgy_perf_run, compute_end)},
    {"startD2hMs", "startOutMs", offsetof(pgy_perf_run, d2h_start)},
    {"endD2hMs", "endOutMs", offsetof(pgy_perf_run, d2h_end)},
};
enum { KEY_COUNT = sizeof KEYS / sizeof *KEYS };

/* ---- Writing -------------------------------------------------------------------------------- */

pgy_status perf_times_write(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_perf_trace *t = user;
    (void)err;
    json_begin_array(w);
    for (size_t i = 0; i < t->count; i++) {
        const pgy_perf_run *r = &t->runs[i];
        json_begin_object(w);
        for (size_t k = 0; k < KEY_COUNT; k++)
            json_put_real(w, KEYS[k].name, *(const double *)((const char *)r + KEYS[k].offset));
        json_put_real(w, "h2dMs", pgy_perf_time(r, PGY_PERF_H2D));
        json_put_real(w, "computeMs", pgy_perf_time(r, PGY_PERF_COMPUTE));
        json_put_real(w, "d2hMs", pgy_perf_time(r, PGY_PERF_D2H));
        json_put_real(w, "latencyMs", pgy_perf_time(r, PGY_PERF_LATENCY));
        json_end_object(w);
    }
    json_end_array(w);
    return PGY_OK;
}

pgy_status pgy_perf_times_save(const char *path, const pgy_perf_trace *t, pgy_error *err)
{
    return json_save(path, perf_times_write, t, err);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static bool is_number(const json_value *v)
{
    return v && (v->type == JSON_INT || v->type == JSON_REAL) && isfinite(v->real);
}

/* Old files have no enqueue times: they become the times of the computation. */
static pgy_status read_run(pgy_perf_run *out, const json_value *item, const char *path,
                           pgy_error *err)
{
    for (size_t k = KEY_COUNT; k-- > 0;) {
        const json_value *v = json_get(item, KEYS[k].name);
        double *to = (double *)((char *)out + KEYS[k].offset);
        if (!v && KEYS[k].old) v = json_get(item, KEYS[k].old);
        if (is_number(v))
            *to = v->real;
        else if (!v && !KEYS[k].old)
            *to = k ? out->compute_end : out->compute_start;
        else
            return pgy_error_set(
                err, PGY_E_FORMAT, "%s: line %u: '%s' is %s; expected the time of a run in ms",
                path, (v ? v : item)->line, KEYS[k].name, v ? "not a finite number" : "missing");
    }
    return PGY_OK;
}

static pgy_status read_runs(pgy_perf_trace **out, const json_value *root, const char *path,
                            pgy_error *err)
{
    if (root->type != JSON_ARRAY)
        return pgy_error_set(err, PGY_E_FORMAT, "%s: expected a JSON array of runs", path);
    pgy_perf_run *runs = mem_calloc(root->count + 1, sizeof *runs);
    size_t count = 0;
    if (!runs) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = PGY_OK;
    for (const json_value *item = root->first; !st && item; item = item->next)
        st = read_run(&runs[count++], item, path, err);
    if (!st) st = pgy_perf_trace_create(out, runs, count, err);
    mem_free(runs);
    return st;
}

pgy_status perf_times_parse(pgy_perf_trace **out, span text, const char *path, pgy_error *err)
{
    arena memory = {0};
    json_value *root = NULL;
    pgy_status st = json_parse(&root, text.data, text.size, &memory, err);
    if (st)
        pgy_error_prefix(err, st, "%s: ", path);
    else
        st = read_runs(out, root, path, err);
    arena_deinit(&memory);
    return st;
}

pgy_status pgy_perf_times_load(pgy_perf_trace **out, const char *path, pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st) st = perf_times_parse(out, (span){str_text(&text), text.size}, path, err);
    str_deinit(&text);
    return st;
}
