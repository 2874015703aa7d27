/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one candidate in a process of its own, so that a crash of the builder or of a kernel is a
 * result and not the end of the search. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/command.h"
#include "base/file.h"
#include "base/file_temp.h"
#include "perf/perf.h"
#include "perf/route.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a candidate");
}

/* ---- The process ---------------------------------------------------------------------------- */

static pgy_status run_words(command_result *r, const pgy_route_options *o, const char *route,
                            const char *plan, const char *answer, pgy_error *err)
{
    arena memory = {0};
    const size_t n = o->command_count;
    const char **words = arena_alloc_array(&memory, n + 3, sizeof *words);
    pgy_status st = PGY_OK;
    if (words) {
        for (size_t i = 0; i < n; i++) words[i] = o->command[i];
        words[n] = arena_printf(&memory, "--setBuildRoute=%s", route);
        words[n + 1] = arena_printf(&memory, "--saveEngine=%s", plan);
        words[n + 2] = arena_printf(&memory, "--tuningResultFile=%s", answer);
    }
    if (!words || !words[n] || !words[n + 1] || !words[n + 2]) {
        st = no_memory(err);
    } else {
        cancel_hold(); /* a request ends the process, then its files are removed */
        st = command_run(r, words, n + 3, 0, err);
        cancel_release();
    }
    arena_deinit(&memory);
    /* A terminal sends Ctrl-C to the candidate, too: its death is then no crash. */
    return st ? st : cancel_check(err);
}

/* The last line that an [E] marks says why; else the last line. */
static span find_reason(const char *text)
{
    span found = {"", 0}, last = {"", 0};
    for (const char *at = text; *at;) {
        const size_t size = strcspn(at, "\n");
        const span line = {at, size};
        if (size) last = line;
        for (size_t i = 0; i + 4 <= size && i < 40; i++)
            if (!memcmp(at + i, "[E] ", 4)) found = (span){at + i + 4, size - i - 4};
        at += size + (at[size] == '\n');
    }
    return found.size ? found : last;
}

static pgy_status set_failure(pgy_route_result *out, const command_result *r, arena *a,
                              pgy_error *err)
{
    enum { LONGEST = 500 };
    const span reason = find_reason(str_text(&r->err));
    const int size = reason.size > LONGEST ? LONGEST : (int)reason.size;
    out->crash = r->code < 0;
    if (r->code < 0)
        out->error = arena_printf(a, "its process was ended by signal %d (%s)", -r->code,
                                  strsignal(-r->code));
    else if (size)
        out->error = arena_printf(a, "%.*s", size, reason.data);
    else
        out->error =
            arena_printf(a, "its process ended with exit code %d and wrote no figures", r->code);
    return out->error ? PGY_OK : no_memory(err);
}

/* ---- Losses --------------------------------------------------------------------------------- */

/* An output that is missing or has another shape is as wrong as one with NaN. */
static double loss_of(const route_run *run, const pgy_tensor_map *outputs, size_t i)
{
    const pgy_route_options *o = run->options;
    pgy_tensor *reference = pgy_tensor_map_at(run->baseline, i);
    pgy_tensor *actual = pgy_tensor_map_find(outputs, pgy_tensor_map_name(run->baseline, i));
    double loss = NAN;
    pgy_error ignored = {0};
    if (!actual || pgy_perf_loss(&loss, o->loss, pgy_tensor_view(actual),
                                 pgy_tensor_view(reference), o->atol, o->rtol, &ignored))
        return NAN;
    return loss;
}

static pgy_status compare(pgy_route_result *out, const route_run *run,
                          const pgy_tensor_map *outputs, arena *a, pgy_error *err)
{
    const size_t count = pgy_tensor_map_count(run->baseline);
    const double threshold = run->options->threshold;
    pgy_route_loss *losses = arena_alloc_array(a, count + 1, sizeof *losses);
    if (!losses) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *name = arena_strdup(a, pgy_tensor_map_name(run->baseline, i));
        const double loss = outputs == run->baseline ? 0 : loss_of(run, outputs, i);
        if (!name) return no_memory(err);
        losses[i] = (pgy_route_loss){name, loss};
        if (!i || isnan(loss) || loss > out->loss) out->loss = loss;
        out->accuracy_failed |= isnan(loss) || (threshold > 0 && loss >= threshold);
    }
    out->losses = losses;
    out->loss_count = count;
    return PGY_OK;
}

/* The first outputs are those of the baseline. */
static pgy_status judge_outputs(pgy_route_result *out, route_run *run, const char *path, arena *a,
                                pgy_error *err)
{
    pgy_tensor_map *outputs = NULL;
    pgy_status st = pgy_npz_load(&outputs, path, err);
    if (!st && !run->baseline && !out->iteration) {
        run->baseline = outputs;
        return compare(out, run, outputs, a, err);
    }
    if (!st && run->baseline) st = compare(out, run, outputs, a, err);
    pgy_tensor_map_destroy(outputs);
    return st;
}

/* ---- A candidate ---------------------------------------------------------------------------- */

typedef struct candidate_files {
    char *answer, *outputs;
} candidate_files;

static pgy_status files_create(candidate_files *f, pgy_error *err)
{
    const pgy_status st = file_temp_path(&f->answer, ".json", err);
    if (st) return st;
    f->outputs = route_outputs_path(f->answer);
    if (!f->outputs) return no_memory(err);
    temp_register(f->outputs);
    return PGY_OK;
}

static void files_remove(candidate_files *f)
{
    file_temp_release(f->answer);
    file_temp_release(f->outputs);
}

static pgy_status read_figures(pgy_route_result *out, route_run *run, const command_result *r,
                               const candidate_files *f, const char *plan, arena *a, pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, f->answer, err);
    if (!st && !text.size) {
        st = set_failure(out, r, a, err);
    } else if (!st) {
        st = route_answer_parse(out, (span){str_text(&text), text.size}, "the candidate's figures",
                                a, err);
        if (!st && r->code && !out->accuracy_failed) st = set_failure(out, r, a, err);
        if (!st && !out->error[0]) st = file_size(&out->plan_bytes, plan, err);
        if (!st && !out->error[0] && !run->options->has_references)
            st = judge_outputs(out, run, f->outputs, a, err);
    }
    str_deinit(&text);
    return st;
}

pgy_status route_run_one(pgy_route_result *out, str *output, route_run *run, size_t iteration,
                         const char *route, const char *plan, arena *a, pgy_error *err)
{
    candidate_files files = {0};
    command_result r = {0};
    pgy_error why = {0};
    *out = (pgy_route_result){
        .iteration = iteration, .route = route, .error = "", .gpu_time_ms = NAN, .loss = NAN};
    pgy_status st = files_create(&files, err);
    if (!st) st = run_words(&r, run->options, route, plan, files.answer, err);
    if (!st) {
        st = read_figures(out, run, &r, &files, plan, a, &why);
        if (st && !status_ends_all(st)) { /* figures that cannot be read are a failure, too */
            out->gpu_time_ms = NAN;
            out->error = arena_strdup(a, why.text);
            st = out->error ? PGY_OK : no_memory(err);
        } else if (st) {
            pgy_error_set(err, st, "%s", why.text);
        }
        str_append_n(output, str_text(&r.out), r.out.size);
        str_append_n(output, str_text(&r.err), r.err.size);
    }
    command_result_deinit(&r);
    files_remove(&files);
    return st;
}
