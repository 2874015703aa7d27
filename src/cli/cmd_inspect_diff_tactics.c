/* SPDX-License-Identifier: Apache-2.0 */
/* inspect diff-tactics: which tactics could be to blame, given replays of builds that
 * were good and of builds that were bad: those that a layer has in a bad file and in no good one.
 * Files that are no replays are skipped, which is said of each; without a good and a bad one there
 * is nothing to compare, which is a failure. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/groups/logging.h"
#include "cli/tactic_file.h"

static const char LOG_PATH[] = "tools/inspect/subtool/diff_tactics.py";

enum { DEEPEST = 64 }; /* folders in folders: a link may lead back */

typedef struct diff_args {
    const char *dir, *good, *bad;
} diff_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--dir", diff_args, dir, .meta = "DIR",
                 .help = "folder with the folders 'good' and 'bad', which hold tactic replay "
                         "files; by default the current one"),
    PGY_OPT_TEXT("--good", diff_args, good, .meta = "PATH",
                 .help = "folder of good replays, searched with what is in it, or a single file"),
    PGY_OPT_TEXT("--bad", diff_args, bad, .meta = "PATH",
                 .help = "folder of bad replays, searched with what is in it, or a single file"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(diff_args)};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

/* Algorithms by layer, each once, in the order in which they came. */
typedef struct replay_set {
    strmap layers; /* name -> strvec */
    strvec paths;
    size_t skipped; /* files */
} replay_set;

static void replay_set_deinit(replay_set *r)
{
    for (size_t i = 0; i < r->layers.count; i++) {
        strvec_deinit(r->layers.entries[i].value);
        mem_free(r->layers.entries[i].value);
    }
    strmap_deinit(&r->layers);
    strvec_deinit(&r->paths);
}

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status add_layer(replay_set *r, const tactic_layer *l, pgy_error *err)
{
    strvec *known = strmap_get(&r->layers, l->name);
    if (!known) {
        known = mem_calloc(1, sizeof *known);
        if (!known || !strmap_put(&r->layers, l->name, known)) {
            mem_free(known);
            return no_memory(err);
        }
    }
    if (strvec_contains(known, l->algorithm)) return PGY_OK;
    return strvec_push(known, l->algorithm) ? PGY_OK : no_memory(err);
}

static pgy_status add_file(replay_set *r, const char *path, pgy_error *err)
{
    tactic_file f = {0};
    pgy_error why = {0};
    LOG(INFO, "Loading tactic replay file from %s", path);
    pgy_status st = tactic_file_load(&f, path, &why);
    if (st == PGY_E_NOT_FOUND && !file_exists(path)) return PGY_OK; /* the caller says so */
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        r->skipped++;
        LOG(WARNING, "Skipped, since it cannot be read as a tactic replay: %s", why.text);
        return PGY_OK;
    }
    st = strvec_push(&r->paths, path) ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < f.count; i++) st = add_layer(r, &f.layers[i], err);
    tactic_file_deinit(&f);
    return st;
}

/* A file, or all files of a folder and of those in it; hidden ones are left alone. */
static pgy_status add_path(replay_set *r, const char *path, int depth, pgy_error *err)
{
    strvec names = {0};
    if (!file_is_dir(path)) return add_file(r, path, err);
    pgy_status st = depth < DEEPEST ? file_list_dir(&names, path, "", err) : PGY_OK;
    for (size_t i = 0; !st && i < names.count; i++) {
        if (names.items[i][0] == '.') continue;
        char *inside = path_join(path, names.items[i]);
        st = inside ? add_path(r, inside, depth + 1, err) : no_memory(err);
        mem_free(inside);
    }
    strvec_deinit(&names);
    return st;
}

static pgy_status nothing_loaded(const replay_set *r, const char *path, const char *kind,
                                 pgy_error *err)
{
    if (!file_exists(path))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "'%s': there is no such file or folder of %s tactic replays; name one "
                             "with --%s or --dir",
                             path, kind, kind);
    if (!r->skipped)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s': the folder holds no files, so there is no %s tactic replay",
                             path, kind);
    return pgy_error_set(err, PGY_E_FORMAT,
                         "'%s': none of the %zu file(s) is a %s tactic replay, as --save-tactics "
                         "writes them; see the warnings for the reasons",
                         path, r->skipped, kind);
}

static pgy_status load(replay_set *r, const char *given, const char *dir, const char *kind,
                       const char *title, pgy_error *err)
{
    char *path = given ? mem_strdup(given) : dir && *dir ? path_join(dir, kind) : mem_strdup(kind);
    str list = {0};
    pgy_status st = path ? add_path(r, path, 0, err) : no_memory(err);
    if (!st) {
        str_append_py_list(&list, (const char *const *)r->paths.items, r->paths.count);
        LOG(INFO, "Loaded %zu %s tactic replays.", r->paths.count, kind);
        LOG(VERBOSE, "%s tactic replays: %s", title, str_text(&list));
    }
    if (!st && !r->paths.count) st = nothing_loaded(r, path, kind, err);
    str_deinit(&list);
    mem_free(path);
    return st;
}

/* What a layer has in bad files only. */
static pgy_status find_suspects(strvec *out, const strvec *bad, const strvec *good, pgy_error *err)
{
    for (size_t i = 0; i < bad->count; i++) {
        if (good && strvec_contains(good, bad->items[i])) continue;
        if (!strvec_push(out, bad->items[i])) return no_memory(err);
    }
    return PGY_OK;
}

static pgy_status report(const replay_set *good, const replay_set *bad, pgy_error *err)
{
    bool found = false;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < bad->layers.count; i++) {
        const char *name = bad->layers.entries[i].key;
        strvec suspects = {0};
        str text = {0};
        st = find_suspects(&suspects, bad->layers.entries[i].value, strmap_get(&good->layers, name),
                           err);
        if (!st && suspects.count) {
            if (!found) LOG(INFO, "Found potentially bad tactics:");
            found = true;
            str_append_py_list(&text, (const char *const *)suspects.items, suspects.count);
            LOG(INFO, "Layer: %s\n    Algorithms: %s", name, str_text(&text));
        }
        strvec_deinit(&suspects);
        str_deinit(&text);
    }
    if (!st && !found)
        LOG(INFO, "Could not determine potentially bad tactics. Try providing more tactic replay "
                  "files if possible.");
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const diff_args *s = args_get(line, &OWN);
    replay_set good = {0}, bad = {0};
    (void)passed;
    pgy_status st = load(&good, s->good, s->dir, "good", "Good", err);
    if (!st) st = load(&bad, s->bad, s->dir, "bad", "Bad", err);
    if (!st) st = report(&good, &bad, err);
    replay_set_deinit(&good);
    replay_set_deinit(&bad);
    return st;
}

const command COMMAND_inspect_diff_tactics = {
    .tool = "inspect",
    .subtool = "diff-tactics",
    .summary = "Show which tactics could be to blame for wrong results.",
    .description =
        "Compare tactic replays of builds whose results were good with those of builds whose "
        "results were bad. A tactic that a layer has in a bad replay and in no good one is "
        "potentially bad. Without a replay of each kind the tool fails.",
    .groups = GROUPS,
    .alias = "debug diff-tactics",
    .run = run,
};
