/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming runs: all runners are active at once. Every input goes through all runners, stored
 * results of the same iteration are added after them, and all are judged before the next input is
 * loaded. Memory does not grow with the number of iterations, except for their times. */
#include "base/alloc.h"
#include "base/log.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/comparator.py";

/* Stream 0 is that of the runners (if any); the others are the stored results. */
typedef struct stream {
    run_context *run;
    saver save;
    pgy_results_reader **readers; /* opened when first read */
    size_t count;                 /* streams */
    size_t index;                 /* iteration */
    pgy_results **now; /* results of each stream at this iteration; NULL: the stream has ended */
    bool *ended;
    bool cut_short; /* a runner lacks this iteration; only those before it were compared */
} stream;

static pgy_status activate_all(run_context *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->runner_count; i++) {
        pgy_runner *r = c->runners[i];
        LOG(START, "%-35s | Activating and starting inference", pgy_runner_name(r));
        st = pgy_runner_activate(r, err);
        if (st) pgy_error_prefix(err, st, "%s could not be started: ", pgy_runner_name(r));
    }
    return st;
}

static void deactivate_all(run_context *c)
{
    for (size_t i = 0; i < c->runner_count; i++)
        if (pgy_runner_is_active(c->runners[i])) pgy_runner_deactivate(c->runners[i]);
}

static bool has_runners(const stream *s)
{
    return s->run->runner_count > 0;
}

/* ---- The runners' own iteration ------------------------------------------------------------- */

static void log_feed(const stream *s, const pgy_tensor_map *feed)
{
    char *text = infer_describe("Inference Input(s)", feed);
    if (text) LOG(INFO, "Streaming iteration %zu\n%s", s->index, text);
    pgy_text_free(text);
}

static pgy_status infer_runner(pgy_results *out, const stream *s, size_t index,
                               const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_runner *r = s->run->runners[index];
    pgy_tensor_map *outputs = NULL;
    size_t entry;
    pgy_status st = run_check_cancelled(s->run->options, err);
    if (!st) st = infer_once(&outputs, r, feed, err);
    if (st) return pgy_error_prefix(err, st, "%s, iteration %zu: ", pgy_runner_name(r), s->index);
    st = pgy_results_add_runner(out, pgy_runner_name(r), &entry, err);
    const infer_time time = infer_time_of(r);
    if (!st) st = pgy_results_add(out, entry, outputs, time.whole_s, err);
    if (!st && !run_times_add(&s->run->times[index], time))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for times");
    pgy_tensor_map_destroy(outputs);
    return st;
}

static pgy_status infer_all_runners(pgy_results **out, stream *s, pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_results *results = NULL;
    pgy_status st = run_check_cancelled(s->run->options, err);
    if (!st) st = pgy_data_loader_next(&feed, s->run->loader, err);
    if (st || !feed) return st;
    log_feed(s, feed);
    st = saver_add_feed(&s->save, feed, err);
    if (!st) st = pgy_results_create(&results, err);
    for (size_t i = 0; !st && i < s->run->runner_count; i++)
        st = infer_runner(results, s, i, feed, err);
    pgy_tensor_map_destroy(feed);
    if (!st) st = saver_add_results(&s->save, results, err);
    if (!st)
        *out = results;
    else
        pgy_results_destroy(results);
    return st;
}

/* ---- Any stream ----------------------------------------------------------------------------- */

static pgy_status read_stored(pgy_results **out, stream *s, size_t stored, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (!s->readers[stored])
        st = pgy_results_reader_open(&s->readers[stored], s->run->options->load_outputs[stored],
                                     err);
    return st ? st : pgy_results_reader_next(out, s->readers[stored], err);
}

static void note_invalid(tally *t, size_t iteration)
{
    static const char FORMAT[] = "Output validation failed: iteration %zu contains invalid values "
                                 "(NaNs/Infs). See the errors above.";
    LOG(CRITICAL, FORMAT, iteration);
    tally_fail_for_good(t, FORMAT, iteration);
}

/* Post-processes and validates the results of a stream as they arrive. */
static pgy_status prepare(stream *s, pgy_results *results, pgy_error *err)
{
    tally *t = s->run->verdict;
    const pgy_postprocess *post = s->run->options->postprocess;
    str prefix = {0};
    pgy_status st = PGY_OK;
    str_printf(&prefix, "Iteration %zu | ", s->index);
    for (size_t i = 0; !st && i < pgy_results_runner_count(results); i++) {
        bool valid = true;
        pgy_iteration *it =
            pgy_results_iteration_count(results, i) ? results_mutable_at(results, i, 0) : NULL;
        if (!it) continue;
        if (post->callback || post->top_k_count) st = postprocess_iteration(it, post, err);
        t->validated += iteration_element_count(it);
        if (!st && t->options.validate)
            st = validate_iteration(&valid, it, str_text(&prefix), true, true, false, err);
        if (st || valid) continue;
        note_invalid(t, s->index);
        t->stopped = true;
        break;
    }
    str_deinit(&prefix);
    return st;
}

static pgy_status advance(stream *s, size_t i, pgy_error *err)
{
    bool own = has_runners(s) && i == 0;
    if (s->ended[i]) return PGY_OK;
    pgy_status st = own ? infer_all_runners(&s->now[i], s, err)
                        : read_stored(&s->now[i], s, i - has_runners(s), err);
    if (st) return st;
    s->ended[i] = !s->now[i];
    return s->now[i] ? prepare(s, s->now[i], err) : PGY_OK;
}

/* Notes that a stored runner has fewer iterations than others. */
static void note_absent(stream *s, const char *runner)
{
    tally *t = s->run->verdict;
    tally_absent(t, runner);
    if (!t->options.compat) s->cut_short = true;
}

/* Compares all runners of all streams at this iteration. */
static pgy_status judge(stream *s, pgy_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) n += pgy_results_runner_count(s->now[i]);
    const pgy_iteration **its = mem_calloc(n + 1, sizeof *its);
    if (!its) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    n = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t r = 0; r < pgy_results_runner_count(s->now[i]); r++)
            if (pgy_results_iteration_count(s->now[i], r))
                its[n++] = pgy_results_at(s->now[i], r, 0);
            else
                note_absent(s, pgy_results_runner_name(s->now[i], r));
    pgy_status st = s->cut_short ? PGY_OK : tally_iteration(s->run->verdict, its, n, err);
    mem_free((void *)its);
    return st;
}

static size_t ended_count(const stream *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) n += s->ended[i];
    return n;
}

static void forget_iteration(stream *s)
{
    for (size_t i = 0; s->now && i < s->count; i++) {
        pgy_results_destroy(s->now[i]);
        s->now[i] = NULL;
    }
}

static pgy_status iterate(stream *s, pgy_error *err)
{
    tally *t = s->run->verdict;
    pgy_status st = PGY_OK;
    for (; !st && !t->stopped && !s->cut_short; s->index++) {
        for (size_t i = 0; !st && !t->stopped && i < s->count; i++) st = advance(s, i, err);
        if (st || t->stopped || ended_count(s)) break;
        st = judge(s, err);
        forget_iteration(s);
    }
    if (!st && !t->stopped && !s->cut_short && ended_count(s) < s->count)
        tally_uneven(t, s->ended, s->count, s->index);
    return st;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pgy_status open_stream(stream *s, run_context *c, pgy_error *err)
{
    *s = (stream){.run = c, .count = (c->runner_count > 0) + c->options->load_output_count};
    s->readers = mem_calloc(c->options->load_output_count + 1, sizeof *s->readers);
    s->now = mem_calloc(s->count + 1, sizeof *s->now);
    s->ended = mem_calloc(s->count + 1, sizeof *s->ended);
    if (!s->readers || !s->now || !s->ended)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!has_runners(s)) return PGY_OK;

    const pgy_metadata *inputs = NULL;
    pgy_status st = activate_all(c, err);
    if (!st) st = pgy_runner_inputs(&inputs, c->runners[0], err);
    if (!st && inputs) st = pgy_data_loader_set_metadata(c->loader, inputs, err);
    if (!st) st = saver_open(&s->save, c->options, err);
    return st;
}

static void close_stream(stream *s)
{
    forget_iteration(s);
    for (size_t i = 0; s->readers && i < s->run->options->load_output_count; i++)
        pgy_results_reader_close(s->readers[i]);
    mem_free(s->readers);
    mem_free(s->now);
    mem_free(s->ended);
    saver_close(&s->save);
    deactivate_all(s->run);
}

pgy_status stream_run(run_context *c, pgy_error *err)
{
    stream s;
    const pgy_postprocess *post = c->options->postprocess;
    if (post->callback || post->top_k_count)
        LOG(VERBOSE, "Will apply post-processing to streamed outputs: %s",
            post->name ? post->name : "TopKPostprocessFunc");
    pgy_status st = open_stream(&s, c, err);
    if (!st) st = iterate(&s, err);
    for (size_t i = 0; !st && i < c->runner_count; i++)
        run_times_log(pgy_runner_name(c->runners[i]), &c->times[i]);
    /* Save the results also when a later iteration failed, but not when the user asked to stop. */
    if (st != PGY_E_CANCELLED && has_runners(&s)) {
        pgy_status saved = saver_finish(&s.save, st ? NULL : err);
        if (!st) st = saved;
    }
    close_stream(&s);
    return st ? st : tally_finish(c->verdict, err);
}
