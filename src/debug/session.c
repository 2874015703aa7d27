/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: their options, the files of a trial, and the loop over trials. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/sized.h"
#include "base/system.h"
#include "debug/artifact.h"
#include "debug/candidate_file.h"
#include "debug/check.h"
#include "debug/options.h"
#include "debug/replay.h"
#include "debug/session.h"

static const char LOG_PATH[] = "tools/debug/subtool/iterative_debug_args.py";

enum { MAX_TRIALS = 100000 };

struct pgy_debug_session {
    pgy_debug_options options; /* strings lie in `memory` */
    pgy_debug_check criterion; /* options.check, copied likewise */
    debug_check check;
    debug_replay replay;
    candidate_file candidate;
    char *skip_path; /* the replay that counts the running trial as failed */
    bool began;      /* a trial was looked up in the replay */
    char time[32];   /* when the session began, for the names of artifacts */
    arena memory;
};

pgy_debug_options pgy_debug_options_default(void)
{
    return (pgy_debug_options){.size = sizeof(pgy_debug_options),
                               .artifact_dir = "polygraphy_artifacts"};
}

/* ---- Creation ------------------------------------------------------------------------------- */

/* "replay.json" has "replay_skip_current.json" beside it. */
static bool make_skip_path(pgy_debug_session *s)
{
    const char *path = s->options.save_replay;
    str name = {0};
    if (!path) return true;
    const char *extension = path_extension(path);
    str_append_n(&name, path, strlen(path) - strlen(extension));
    str_printf(&name, "_skip_current%s", extension);
    s->skip_path = str_take(&name);
    return s->skip_path != NULL;
}

static pgy_status load_replay(pgy_debug_session *s, pgy_error *err)
{
    if (!s->options.load_replay) return PGY_OK;
    LOG(INFO, "Loading debug replay from %s", s->options.load_replay);
    return debug_replay_load(&s->replay, s->options.load_replay, err);
}

/* A file in a folder's place would stop the session after its first check, which may take hours. */
static pgy_status check_artifact_dir(const pgy_debug_options *o, pgy_error *err)
{
    static const char *const INSIDE[] = {"", "/good", "/bad"};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && o->artifact_count && i < sizeof INSIDE / sizeof *INSIDE; i++) {
        struct stat there;
        str path = {0};
        str_printf(&path, "%s%s", o->artifact_dir, INSIDE[i]);
        const bool none = stat(str_text(&path), &there) != 0;
        if (none ? errno == ENOTDIR : !S_ISDIR(there.st_mode))
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "debug.artifact_dir: '%s' is not a folder; choose another path for "
                               "the artifacts",
                               str_text(&path));
        str_deinit(&path);
    }
    return st;
}

static pgy_status prepare(pgy_debug_session *s, pgy_error *err)
{
    const time_t now = time(NULL);
    struct tm local;
    if (!localtime_r(&now, &local) ||
        !strftime(s->time, sizeof s->time, "%m-%d-%y_%H-%M-%S", &local))
        return pgy_error_set(err, PGY_E_INTERNAL, "the local time is not known");
    if (!debug_options_copy(&s->options, &s->criterion, &s->memory) || !make_skip_path(s))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a session");
    if (s->options.candidate && file_exists(s->options.candidate))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "debug.candidate: '%s' exists; remove it or choose another path, because "
            "every trial overwrites and removes this file",
            s->options.candidate);
    pgy_status st = check_artifact_dir(&s->options, err);
    if (!st) st = candidate_file_init(&s->candidate, s->options.candidate, err);
    if (!st) st = debug_check_init(&s->check, &s->criterion, err);
    return st ? st : load_replay(s, err);
}

pgy_status pgy_debug_session_create(pgy_debug_session **out, const pgy_debug_options *options,
                                    pgy_error *err)
{
    pgy_debug_session *s = mem_calloc(1, sizeof *s);
    if (!s) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a session");
    s->options = pgy_debug_options_default();
    pgy_status st = SIZED_TAKE(pgy_debug_options, &s->options, options, err);
    s->criterion = (pgy_debug_check){.size = sizeof s->criterion};
    if (!st && !s->options.check)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "debug.check: a check is needed");
    if (!st) st = SIZED_TAKE(pgy_debug_check, &s->criterion, s->options.check, err);
    if (!st) st = prepare(s, err);
    if (st)
        pgy_debug_session_destroy(s);
    else
        *out = s;
    return st;
}

void pgy_debug_session_destroy(pgy_debug_session *s)
{
    if (!s) return;
    debug_check_deinit(&s->check);
    debug_replay_deinit(&s->replay);
    mem_free(s->skip_path);
    candidate_file_deinit(&s->candidate);
    arena_deinit(&s->memory);
    mem_free(s);
}

const char *pgy_debug_session_candidate(const pgy_debug_session *s)
{
    return s->options.candidate;
}

pgy_status debug_session_save(pgy_debug_session *s, pgy_model *part, pgy_model *whole,
                              pgy_error *err)
{
    return candidate_file_save(&s->candidate, part, whole, s->options.keep_candidate, err);
}

/* ---- Files of a trial ----------------------------------------------------------------------- */

static pgy_status write_info(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_debug_trial *t = user;
    (void)err;
    json_begin_object(w);
    json_put_int(w, "iteration", t->index);
    json_end_object(w);
    return PGY_OK;
}

/* If the process dies in the check, this replay makes the next session go on behind the trial. */
static pgy_status save_skip(pgy_debug_session *s, const char *key, const pgy_debug_trial *t,
                            pgy_error *err)
{
    pgy_debug_trial failed = *t;
    failed.passed = false;
    pgy_status st = debug_replay_put(&s->replay, key, &failed, err);
    if (!st && s->skip_path) st = debug_replay_save(&s->replay, s->skip_path, err);
    return st;
}

static pgy_status move_artifacts(const pgy_debug_session *s, const char *key, bool passed,
                                 pgy_error *err)
{
    const pgy_debug_options *o = &s->options;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < o->artifact_count; i++)
        st = debug_artifact_move(o->artifacts[i], o->artifact_dir, s->time, key, passed, err);
    return st;
}

static void remove_files(pgy_debug_session *s)
{
    if (s->options.info) unlink(s->options.info);
    if (!s->options.keep_candidate) candidate_file_remove(&s->candidate);
}

static pgy_status save_replay(const pgy_debug_session *s, pgy_error *err)
{
    if (!s->options.save_replay) return PGY_OK;
    LOG(INFO, "Saving debug replay to %s", s->options.save_replay);
    return debug_replay_save(&s->replay, s->options.save_replay, err);
}

/* ---- Trials --------------------------------------------------------------------------------- */

static pgy_status judge(pgy_debug_session *s, pgy_debug_trial *t, const char *key, pgy_error *err)
{
    pgy_status st = save_skip(s, key, t, err);
    if (!st && s->options.info) st = json_save(s->options.info, write_info, t, err);
    if (!st) st = debug_check_run(&t->passed, &s->check, s->options.candidate, err);
    return st ? st : move_artifacts(s, key, t->passed, err);
}

static pgy_status make(bool *made, const pgy_debug_search *search, pgy_debug_trial *t,
                       pgy_error *err)
{
    *made = true;
    if (!search->make) return PGY_OK;
    pgy_log_indent(1);
    const pgy_status st = search->make(made, t, search->user, err);
    pgy_log_indent(-1);
    return st;
}

/* A replay has the first trial of its search. One of another search would be ignored silently. */
static void warn_of_other_replay(pgy_debug_session *s, const char *key)
{
    const bool first = !s->began;
    s->began = true;
    if (first && s->options.load_replay && s->replay.trials.count &&
        !debug_replay_find(&s->replay, key))
        LOG(WARNING,
            "The replay %s has no trial '%s', so it is probably of another kind of search: all "
            "trials run",
            s->options.load_replay, key + 1);
}

static pgy_status try_once(pgy_debug_session *s, const pgy_debug_search *search, pgy_debug_trial *t,
                           const char *key, pgy_error *err)
{
    const pgy_debug_trial *known = debug_replay_find(&s->replay, key);
    bool made;
    warn_of_other_replay(s, key);
    if (known) {
        *t = *known;
        LOG(INFO, "Loading iteration information from debug replay: success=%s",
            t->passed ? "True" : "False");
        return PGY_OK;
    }
    if (!s->options.keep_candidate) candidate_file_begin(&s->candidate);
    pgy_status st = make(&made, search, t, err);
    const bool runs_command = !st && made && s->criterion.command;
    if (runs_command) cancel_hold(); /* a request ends the command, then its files are removed */
    if (!st && made) st = judge(s, t, key, err);
    if (!st) st = debug_replay_put(&s->replay, key, t, err);
    remove_files(s);
    if (runs_command) cancel_release();
    return st ? st : save_replay(s, err);
}

static void log_start(const pgy_debug_search *search, const pgy_debug_trial *t)
{
    const int64_t left = search->remaining ? search->remaining(search->user) : -1;
    if (left < 0)
        LOG(INFO, "RUNNING | Iteration %lld", (long long)t->index + 1);
    else
        LOG(INFO, "RUNNING | Iteration %lld | Approximately %lld iteration(s) remaining",
            (long long)t->index + 1, (long long)left);
}

static void log_end(const pgy_debug_trial *t, int64_t begin_ns)
{
    char seconds[64];
    py_double_repr(seconds, (double)(clock_ns() - begin_ns) / 1e9);
    pgy_log_write(t->passed ? PGY_LOG_INFO : PGY_LOG_ERROR, LOG_PATH, __LINE__,
                  "%s | Iteration %lld | Duration %ss", t->passed ? "PASSED" : "FAILED",
                  (long long)t->index + 1, seconds);
}

static pgy_status run_trial(pgy_debug_session *s, const pgy_debug_search *search,
                            pgy_debug_trial *t, pgy_error *err)
{
    const int64_t begin_ns = clock_ns();
    str key = {0};
    debug_replay_append_key(&key, t->index, search->phase);
    pgy_status st = key.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trial")
                               : cancel_check(err);
    if (!st) {
        log_start(search, t);
        st = try_once(s, search, t, str_text(&key), err);
    }
    if (!st) log_end(t, begin_ns);
    str_deinit(&key);
    return st;
}

static void log_summary(const pgy_debug_summary *sum)
{
    char rate[64];
    py_double_repr(rate, 100.0 * (double)sum->passed / (double)sum->trials);
    LOG(INFO, "Finished %zu iteration(s) | Passed: %zu/%zu | Pass Rate: %s%%", sum->trials,
        sum->passed, sum->trials, rate);
}

void debug_session_log_interrupted(const pgy_debug_session *s, size_t trials)
{
    if (trials && s->options.save_replay)
        LOG(WARNING,
            "Interrupted after %zu trials; the replay %s makes the next session go on there",
            trials, s->options.save_replay);
}

pgy_status pgy_debug_session_run(pgy_debug_summary *out, pgy_debug_session *s,
                                 const pgy_debug_search *search, pgy_error *err)
{
    pgy_debug_search taken = {.size = sizeof taken};
    pgy_debug_summary sum = {0};
    pgy_status st = SIZED_TAKE(pgy_debug_search, &taken, search, err);
    if (!st && !taken.next)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "search.next: a function is needed");
    pgy_log_indent(1);
    for (bool more = true; !st && more;) {
        pgy_debug_trial t = {.index = (int64_t)sum.trials};
        st = sum.trials < MAX_TRIALS
                 ? run_trial(s, &taken, &t, err)
                 : pgy_error_set(err, PGY_E_UNSUPPORTED, "the session ended after %d trials",
                                 MAX_TRIALS);
        if (st) break;
        sum.trials++;
        sum.passed += t.passed;
        more = taken.next(&t, taken.user);
    }
    pgy_log_indent(-1);
    if (st == PGY_E_CANCELLED) debug_session_log_interrupted(s, sum.trials);
    if (st) return st;
    log_summary(&sum);
    *out = sum;
    return PGY_OK;
}

/* ---- Single trials -------------------------------------------------------------------------- */

static pgy_status test_trial(pgy_debug_session *s, pgy_debug_trial *t, const char *key,
                             const debug_trial_test *test, pgy_error *err)
{
    pgy_status st = save_skip(s, key, t, err);
    if (!st && s->options.info) st = json_save(s->options.info, write_info, t, err);
    if (!st) st = test->run(&t->passed, test->user, err);
    if (!st) st = move_artifacts(s, key, t->passed, err);
    if (!st) st = debug_replay_put(&s->replay, key, t, err);
    remove_files(s);
    return st ? st : save_replay(s, err);
}

pgy_status debug_session_try(bool *known, pgy_debug_session *s, pgy_debug_trial *trial,
                             const debug_trial_test *test, pgy_error *err)
{
    const int64_t begin_ns = clock_ns();
    str key = {0};
    debug_replay_append_key(&key, trial->index, test->phase);
    pgy_status st = key.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trial")
                               : cancel_check(err);
    const pgy_debug_trial *found = st ? NULL : debug_replay_find(&s->replay, str_text(&key));
    if (!st) warn_of_other_replay(s, str_text(&key));
    *known = found != NULL;
    if (!st)
        LOG(INFO, "RUNNING | Iteration %lld | Approximately %lld iteration(s) remaining",
            (long long)trial->index + 1, (long long)test->remaining);
    if (found)
        *trial = *found;
    else if (!st)
        st = test_trial(s, trial, str_text(&key), test, err);
    if (!st) log_end(trial, begin_ns);
    str_deinit(&key);
    return st;
}
