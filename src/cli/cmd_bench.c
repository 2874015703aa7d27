/* SPDX-License-Identifier: Apache-2.0 */
/* bench: times models in runners side by side, and judges which is faster. Its options, sides and
 * verdicts are in bench/. */
#include "base/file.h"
#include "base/log.h"
#include "cli/bench/options.h"
#include "cli/bench/sides.h"
#include "cli/bench/verdict.h"
#include "cli/groups/runners.h"
#include "cli/groups/trace.h"

static const char LOG_PATH[] = "cli/cmd_bench.c";
static const char RUNTIME[] = "onnxrt";

/* ONNX Runtime's own options (threads, providers) belong to this command, too. */
static const option_group *const *groups(void)
{
    static const option_group *all[5];
    if (all[0]) return all;
    size_t n = 0;
    all[n++] = &GROUP_BENCH;
    all[n++] = &GROUP_LOGGING;
    all[n++] = &GROUP_TRACE;
    const option_group *runtime = group_backend_options(RUNTIME);
    if (runtime) all[n++] = runtime;
    return all;
}

/* ---- Measuring ------------------------------------------------------------------------------ */

static pgy_status measure_sides(pgy_bench_sweep **out, const args *line, pgy_error *err)
{
    const bench_args *s = ARGS_OF(line, bench_args);
    pgy_bench_options o = s->options;
    bench_sides l = {0};
    bench_checked c = {0};
    pgy_status st = bench_sides_init(&l, line, err);
    if (!st && s->check_with) st = bench_checked_init(&c, line, err);
    if (s->check_with) o.reference = &c.reference;
    if (!st) st = pgy_bench_sweep_measure(out, l.sides, l.count, s->axes, &o, err);
    bench_checked_deinit(&c);
    bench_sides_deinit(&l);
    return st;
}

static pgy_status measure(pgy_bench_sweep **out, const args *line, pgy_error *err)
{
    const bench_args *s = ARGS_OF(line, bench_args);
    const trace_args *trace = ARGS_OF(line, trace_args);
    trace_session session = {0};
    if (s->load) return pgy_bench_sweep_load(out, s->load, err);
    pgy_status st = trace_begin(&session, trace->path, &trace->options, err);
    if (st) return st;
    st = measure_sides(out, line, err);
    return trace_end(&session, st, line->name, line->command, s->models.items[0], err);
}

/* ---- The command ---------------------------------------------------------------------------- */

/* A path that cannot be written must not cost a measurement. */
static pgy_status try_paths(const bench_args *s, pgy_error *err)
{
    const char *const paths[] = {s->output, s->csv, s->junit, s->svg};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof paths / sizeof *paths; i++) {
        file_writer *w = NULL;
        if (paths[i]) st = file_writer_create(&w, paths[i], err);
        file_writer_destroy(w);
    }
    return st;
}

static pgy_status report(const args *line, const pgy_bench_sweep *b, pgy_error *err)
{
    const bench_args *s = ARGS_OF(line, bench_args);
    char *text = NULL;
    pgy_status st = pgy_bench_sweep_text(&text, b, err);
    if (!st) LOG(INFO, "==== Times ====\n%s", text);
    if (!st) st = bench_log_worst(line, b, err);
    if (!st && s->output) st = pgy_bench_sweep_save(s->output, b, err);
    if (!st && s->csv) st = pgy_bench_sweep_save_csv(s->csv, b, err);
    if (!st && s->svg) st = pgy_bench_sweep_save_svg(s->svg, b, err);
    pgy_text_free(text);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const bench_args *s = ARGS_OF(line, bench_args);
    pgy_bench_sweep *b = NULL, *old = NULL;
    pgy_bench_demands *d = NULL;
    pgy_status st = pgy_bench_demands_create(&d, err);
    if (!st && s->compare) st = pgy_bench_sweep_load(&old, s->compare, err);
    if (!st) st = try_paths(s, err);
    if (!st) st = measure(&b, line, err);
    if (!st) st = report(line, b, err);
    if (!st && s->compare) st = bench_compare_all(d, s, b, old, err);
    if (!st) st = bench_judge_all(d, s, b, err);
    if (!st && s->junit) st = pgy_bench_demands_save_junit(s->junit, d, b, err);
    if (!st) {
        line->exit_status = pgy_bench_demands_status(d);
        *passed = line->exit_status == 0;
    }
    pgy_bench_demands_destroy(d);
    pgy_bench_sweep_destroy(old);
    pgy_bench_sweep_destroy(b);
    return st;
}

const command COMMAND_bench = {
    .tool = "bench",
    .summary = "Measure models in runners side by side, and tell which is faster.",
    .description = "Measure the time of models and plans in slices of random order, so that a slow "
                   "drift of the machine counts for no side, and tell for each whether it is "
                   "faster or slower than the first, with an interval.",
    .examples = "  Is the built-in engine faster than ONNX Runtime?\n      {program} bench "
                "model.onnx@onnxrt model.onnx\n\n  Did it get slower since the last release?\n"
                "      {program} bench model.plan --compare old.json --fail-on-regression 5%",
    .make_groups = groups,
    .run = run,
};
