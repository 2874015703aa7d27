/* SPDX-License-Identifier: Apache-2.0 */
/* inspect diff-tactics: finds tactics that may cause failures, from tactic replays of good and bad
 * builds: tactics that a layer has in a bad file and in no good one. Other files are skipped with a
 * message. The command fails unless there is at least one good and one bad replay. */
#include <polygraphy/tactics.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/groups/logging.h"

static const char LOG_PATH[] = "tools/inspect/subtool/diff_tactics.py";

typedef struct diff_args {
    const char *dir, *good, *bad;
} diff_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--dir", diff_args, dir, .meta = "DIR",
                 .help = "folder with the subfolders 'good' and 'bad' of tactic replay files; "
                         "default: the current folder"),
    PGY_OPT_TEXT("--good", diff_args, good, .meta = "PATH",
                 .help = "a good tactic replay, or a folder that is searched recursively for them"),
    PGY_OPT_TEXT("--bad", diff_args, bad, .meta = "PATH",
                 .help = "a bad tactic replay, or a folder that is searched recursively for them"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(diff_args)};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

static pgy_status nothing_loaded(const pgy_tactic_set *set, const char *path, const char *kind,
                                 pgy_error *err)
{
    if (!file_exists(path))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "'%s' does not exist: expected a file or a folder of %s tactic "
                             "replays; give it with --%s or --dir",
                             path, kind, kind);
    if (!pgy_tactic_set_skipped(set))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s': the folder has no files: expected %s tactic replays", path,
                             kind);
    return pgy_error_set(err, PGY_E_FORMAT,
                         "'%s': none of the %zu file(s) is a %s tactic replay as --save-tactics "
                         "writes it; the warnings give the reasons",
                         path, pgy_tactic_set_skipped(set), kind);
}

static pgy_status load(pgy_tactic_set **out, const char *given, const char *dir, const char *kind,
                       const char *title, pgy_error *err)
{
    char *path = given ? mem_strdup(given) : dir && *dir ? path_join(dir, kind) : mem_strdup(kind);
    str list = {0};
    pgy_status st = path ? pgy_tactic_set_load(out, path, err)
                         : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) {
        const size_t count = pgy_tactic_set_count(*out);
        str_append_py_list(&list, pgy_tactic_set_paths(*out), count);
        LOG(INFO, "Loaded %zu %s tactic replays.", count, kind);
        LOG(VERBOSE, "%s tactic replays: %s", title, str_text(&list));
        if (!count) st = nothing_loaded(*out, path, kind, err);
    }
    str_deinit(&list);
    mem_free(path);
    return st;
}

static void report(const pgy_tactic_suspects *suspects)
{
    const size_t count = pgy_tactic_suspects_count(suspects);
    if (count)
        LOG(INFO, "Found potentially bad tactics:");
    else
        LOG(INFO, "Could not determine potentially bad tactics. Try providing more tactic replay "
                  "files if possible.");
    for (size_t i = 0; i < count; i++) {
        const pgy_tactic_suspect *s = pgy_tactic_suspects_at(suspects, i);
        str text = {0};
        str_append_py_list(&text, s->algorithms, s->algorithm_count);
        LOG(INFO, "Layer: %s\n    Algorithms: %s", s->layer, str_text(&text));
        str_deinit(&text);
    }
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const diff_args *s = args_get(line, &OWN);
    pgy_tactic_set *good = NULL, *bad = NULL;
    pgy_tactic_suspects *suspects = NULL;
    (void)passed;
    pgy_status st = load(&good, s->good, s->dir, "good", "Good", err);
    if (!st) st = load(&bad, s->bad, s->dir, "bad", "Bad", err);
    if (!st) st = pgy_tactic_suspects_find(&suspects, good, bad, err);
    if (!st) report(suspects);
    pgy_tactic_suspects_destroy(suspects);
    pgy_tactic_set_destroy(good);
    pgy_tactic_set_destroy(bad);
    return st;
}

static const command_alias ALIASES[] = {
    {"debug diff-tactics", NULL}, {"flaky diff-tactics", NULL}, {NULL, NULL}};

const command COMMAND_inspect_diff_tactics = {
    .tool = "inspect",
    .subtool = "diff-tactics",
    .summary = "Show which tactics may cause wrong results.",
    .description = "Compare tactic replays of builds with good results and of builds with bad "
                   "results. A tactic that a layer has in a bad replay, but in no good one, is "
                   "potentially bad. The tool needs at least one replay of each kind.",
    .groups = GROUPS,
    .aliases = ALIASES,
    .run = run,
};
