/* SPDX-License-Identifier: Apache-2.0 */
/* The list of passes, and the switch for each. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/build/progress.h"
#include "engine/passes/pass.h"
#include "engine/tactics/replay.h"

static const char LOG_PATH[] = "engine/passes/passes.c";

static const pass *const PASSES[] = {
#define PASS(name) &PASS_##name,
#include "engine/passes/passes.def"
#undef PASS
    NULL,
};

/* Does `list` switch pass `name` off: does it contain "-<name>", or is it "none"? */
static bool is_off(const char *list, const char *name)
{
    if (!list) return false;
    if (strcmp(list, "none") == 0) return true;
    const size_t size = strlen(name);
    for (const char *word = list; *word;) {
        const size_t length = strcspn(word, ",");
        if (length == size + 1 && word[0] == '-' && memcmp(word + 1, name, size) == 0) return true;
        word += length + (word[length] == ',');
    }
    return false;
}

/* Saves the graph after a pass as <number>_<name of the pass>.onnx in `folder`. */
static pgy_status save(pgy_graph *g, const char *folder, size_t number, const char *name,
                       pgy_error *err)
{
    pgy_model *model = NULL;
    str path = {0};
    str_printf(&path, "%s/%02zu_%s.onnx", folder, number, name);
    pgy_status st = path.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
    if (!st) st = pgy_graph_export(&model, g, err);
    if (!st) st = pgy_model_save(model, str_text(&path), NULL, err);
    pgy_model_destroy(model);
    str_deinit(&path);
    return st;
}

/* Gets the list of passes that are switched off: from the replay file if there is one, else from
 * the environment. */
static pgy_status find_list(str *out, const pgy_build_config *config, pgy_error *err)
{
    const char *given = getenv("POLYGRAPHY_PASSES"), *recorded = NULL;
    tactics *replay = NULL;
    if (config && config->load_tactics) {
        const pgy_status st = tactics_load(&replay, config->load_tactics, err);
        if (st) return st;
        recorded = tactics_passes(replay);
    }
    if (recorded && given && strcmp(recorded, given) != 0)
        LOG(WARNING,
            "POLYGRAPHY_PASSES has no effect: the tactic replay was recorded with '%s', which is "
            "used instead",
            recorded);
    str_append(out, recorded ? recorded : given ? given : "");
    tactics_destroy(replay);
    return out->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
}

static pgy_status run_all(pgy_graph *g, const pass_target *target, const char *list, pgy_error *err)
{
    const char *folder = getenv("POLYGRAPHY_SAVE_PASSES");
    for (const pass *const *p = PASSES; *p; p++) {
        size_t changes = 0;
        if (is_off(list, (*p)->name)) {
            LOG(INFO, "Pass %s is switched off", (*p)->name);
            continue;
        }
        pgy_status st =
            (*p)->run_for ? (*p)->run_for(g, target, &changes, err) : (*p)->run(g, &changes, err);
        if (!st && folder) st = save(g, folder, (size_t)(p - PASSES), (*p)->name, err);
        if (st) return pgy_error_prefix(err, st, "pass %s: ", (*p)->name);
        LOG(VERBOSE, "Pass %s: %zu changes, %zu nodes", (*p)->name, changes, g->node_count);
        st = progress_step(target->config, PROGRESS_PASSES, (size_t)(p - PASSES), err);
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status passes_run(pgy_graph *g, const pass_target *target, pgy_error *err)
{
    const pgy_build_config *config = target->config;
    str list = {0};
    progress_start(config, PROGRESS_PASSES, NULL, sizeof PASSES / sizeof *PASSES - 1);
    pgy_status st = find_list(&list, config, err);
    if (!st) st = run_all(g, target, str_text(&list), err);
    progress_finish(config, PROGRESS_PASSES);
    str_deinit(&list);
    return st;
}
