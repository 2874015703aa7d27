/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: checks the options, runs in streaming or sequential mode, forms the verdict, and
 * writes accuracy results and reports. Reports are also written when the run could not be finished.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/system.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/comparator.py";

struct pgy_run_report {
    bool passed, compared;
    size_t iteration_count;
    pgy_accuracy_results *accuracy;
    char *reason;
};

pgy_run_options pgy_run_options_default(void)
{
    return (pgy_run_options){.size = sizeof(pgy_run_options), .keep_verdicts = true};
}

bool pgy_run_report_passed(const pgy_run_report *r)
{
    return r->passed;
}

size_t pgy_run_report_iteration_count(const pgy_run_report *r)
{
    return r->iteration_count;
}

const pgy_accuracy_results *pgy_run_report_accuracy(const pgy_run_report *r)
{
    return r->compared ? r->accuracy : NULL;
}

const char *pgy_run_report_reason(const pgy_run_report *r)
{
    return r->reason;
}

void pgy_run_report_destroy(pgy_run_report *r)
{
    if (!r) return;
    pgy_accuracy_results_destroy(r->accuracy);
    mem_free(r->reason);
    mem_free(r);
}

/* ---- Checks before anything runs ------------------------------------------------------------ */

/* The caller's options, converted to the struct versions of this library. */
typedef struct run_settings {
    pgy_run_options run;
    pgy_judge_options judge;     /* run.judge points here */
    pgy_postprocess postprocess; /* run.postprocess points here */
} run_settings;

static pgy_status take_options(run_settings *out, const pgy_run_options *given, pgy_error *err)
{
    *out = (run_settings){.run = pgy_run_options_default(),
                          .judge = pgy_judge_options_default(),
                          .postprocess = {.size = sizeof out->postprocess}};
    pgy_status st = SIZED_TAKE(pgy_run_options, &out->run, given, err);
    if (!st) st = SIZED_TAKE(pgy_judge_options, &out->judge, out->run.judge, err);
    if (!st) st = SIZED_TAKE(pgy_postprocess, &out->postprocess, out->run.postprocess, err);
    out->run.judge = &out->judge;
    out->run.postprocess = &out->postprocess;
    return st;
}

static pgy_status check_stored(const pgy_run_options *o, pgy_error *err)
{
    for (size_t i = 0; i < o->load_output_count; i++)
        if (!file_exists(o->load_outputs[i]))
            return pgy_error_set(err, PGY_E_NOT_FOUND,
                                 "%s: no such file or folder of stored results",
                                 o->load_outputs[i]);
    return PGY_OK;
}

static pgy_status check_options(const pgy_run_options *o, pgy_error *err)
{
    pgy_status st = saver_check_paths(o, err);
    if (!st && o->warm_up && !o->sequential)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "run.warm_up requires run.sequential.");
    if (!st && o->use_subprocess && !o->sequential)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "run.use_subprocess requires run.sequential.");
    for (size_t i = 0; !st && i < o->report_count; i++) st = report_check_path(o->reports[i], err);
    return st ? st : check_stored(o, err);
}

/* Chooses the caller's loader, or makes one with defaults, which the caller owns as *made. */
static pgy_status choose_loader(run_context *c, pgy_data_loader **made, pgy_error *err)
{
    c->loader = c->options->loader;
    if (c->loader || !c->runner_count) return PGY_OK;
    pgy_random_options random = pgy_random_options_default();
    pgy_status st = pgy_random_loader_create(made, &random, err);
    c->loader = *made;
    return st;
}

/* ---- The verdict ---------------------------------------------------------------------------- */

/* Verdicts that no later step reads are only counted, so that memory does not grow with the number
 * of iterations. */
static verdict_keeping needed_verdicts(const pgy_run_options *o)
{
    return o->keep_verdicts || o->save_accuracy || o->report_count ? KEEP_VERDICTS : KEEP_COUNTS;
}

/* A run without inference, or loaded results that were not compared, must not look like a
 * pass. */
static void judge_course(const run_context *c)
{
    tally *t = c->verdict;
    const pgy_run_options *o = c->options;
    if (!c->runner_count && !o->load_output_count)
        tally_fail_unless_compat(
            t, "Nothing was run or compared: no runner was selected and no results were loaded.");
    else if (!t->iteration_count && !t->stopped)
        tally_fail_unless_compat(t, "There were no iterations, so nothing was run or compared.");
    else if (o->load_output_count && t->runners.count < 2 && !t->options.validate)
        tally_fail_unless_compat(t, "Nothing was compared: the loaded results have one runner, and "
                                    "no other runner was selected.");
}

static pgy_status run_and_judge(run_context *c, pgy_error *err)
{
    pgy_data_loader *made = NULL;
    const pgy_run_options *o = c->options;
    if (!c->runner_count) LOG(WARNING, "No runners have been selected. Inference will not be run!");
    pgy_status st = choose_loader(c, &made, err);
    if (!st && (c->runner_count || o->load_output_count))
        st = (o->sequential ? sequential_run : stream_run)(c, err);
    pgy_data_loader_destroy(made);
    if (st) return st;
    judge_course(c);
    if (c->verdict->out_of_memory)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while judging");
    if (!o->save_accuracy) return PGY_OK;
    return pgy_accuracy_results_save(c->verdict->accuracy, o->save_accuracy, err);
}

/* ---- Reports -------------------------------------------------------------------------------- */

static pgy_status write_reports(const run_context *c, run_facts *facts, pgy_error *err)
{
    const pgy_run_options *o = c->options;
    pgy_status st = PGY_OK;
    if (!o->report_count) return PGY_OK;
    const char **names = mem_calloc(c->runner_count + 1, sizeof *names);
    if (!names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < c->runner_count; i++) names[i] = pgy_runner_name(c->runners[i]);
    facts->model_path = o->model_path;
    facts->runner_names = names;
    facts->runner_count = c->runner_count;
    facts->times = c->times;
    for (size_t i = 0; !st && i < o->report_count; i++) {
        LOG(INFO, "Saving report to %s", o->reports[i]);
        st = report_write(o->reports[i], facts, err);
    }
    mem_free((void *)names);
    return st;
}

static pgy_status make_report(pgy_run_report **out, tally *t, pgy_error *err)
{
    pgy_run_report *r = mem_calloc(1, sizeof *r);
    if (r) r->reason = mem_strdup(str_text(&t->reason));
    if (!r || !r->reason) {
        mem_free(r);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    r->passed = !t->failed;
    r->compared = t->runners.count > 1;
    r->iteration_count = t->iteration_count;
    r->accuracy = t->accuracy;
    t->accuracy = NULL;
    *out = r;
    return PGY_OK;
}

pgy_status pgy_run(pgy_run_report **out, pgy_runner *const *runners, size_t runner_count,
                   const pgy_run_options *options, pgy_error *err)
{
    run_settings settings;
    tally t = {0};
    run_context c = {
        .runners = runners, .runner_count = runner_count, .options = &settings.run, .verdict = &t};
    pgy_error why = {0};
    int64_t begin = clock_ns();

    pgy_status st = take_options(&settings, options, err);
    if (!st) st = check_options(&settings.run, err);
    if (!st && !(c.times = mem_calloc(runner_count + 1, sizeof *c.times)))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = tally_init(&t, &settings.judge, needed_verdicts(c.options), err);
    if (st) goto done;
    st = run_and_judge(&c, &why);
    run_facts facts = {.reason = st ? why.text : str_text(&t.reason),
                       .passed = !st && !t.failed,
                       .compared = t.runners.count > 1,
                       .iteration_count = t.iteration_count,
                       .duration_ns = clock_ns() - begin,
                       .accuracy = t.accuracy};
    pgy_error unwritten = {0};
    pgy_status written = write_reports(&c, &facts, &unwritten);
    if (st) {
        if (written) LOG(ERROR, "%s", unwritten.text);
        pgy_error_set(err, st, "%s", why.text);
    } else if (written) {
        st = pgy_error_set(err, written, "%s", unwritten.text);
    }
    if (!st) st = make_report(out, &t, err);
    tally_deinit(&t);
done:
    for (size_t i = 0; c.times && i < runner_count; i++) run_times_deinit(&c.times[i]);
    mem_free(c.times);
    return st;
}

pgy_status pgy_infer_all(pgy_results **out, pgy_runner *const *runners, size_t runner_count,
                         const pgy_run_options *options, pgy_error *err)
{
    run_settings settings;
    run_context c = {.runners = runners, .runner_count = runner_count, .options = &settings.run};
    pgy_data_loader *made = NULL;
    pgy_status st = take_options(&settings, options, err);
    if (st) return st;
    if (!runner_count) LOG(WARNING, "No runners were provided; there will be no results.");
    st = saver_check_paths(c.options, err);
    if (!st) st = choose_loader(&c, &made, err);
    if (!st) st = sequential_infer(out, &c, err);
    pgy_data_loader_destroy(made);
    return st;
}
