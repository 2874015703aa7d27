/* SPDX-License-Identifier: Apache-2.0 */
/* The build configuration has what the built-in engine knows. trtexec knows more (DLA, plugins),
 * which goes to it as text. */
#include "cli/groups/trtexec.h"

#include <string.h>

#include "base/log.h"
#include "cli/args/values.h"
#include "cli/groups/operators.h"
#include "cli/groups/trt.h"

static const char LOG_PATH[] = "cli/groups/trtexec.c";

typedef struct passer {
    runner_option_visitor visit;
    void *user;
    pgy_error *err;
} passer;

static pgy_status pass(const passer *p, const char *key, const char *value)
{
    str word = {0};
    str_printf(&word, "%s%s%s", key, value ? "=" : "", value ? value : "");
    const char *const words[] = {str_text(&word)};
    const pgy_status st = word.failed ? pgy_error_set(p->err, PGY_E_MEMORY, "out of memory")
                                      : p->visit("--trtexec-option", words, 1, p->user, p->err);
    str_deinit(&word);
    return st;
}

/* ---- Memory pools --------------------------------------------------------------------------- */

static const char *pool_word(const char *pool)
{
    static const struct {
        const char *pool, *word;
    } POOLS[] = {{"WORKSPACE", "workspace"},
                 {"DLA_MANAGED_SRAM", "dlaSRAM"},
                 {"DLA_LOCAL_DRAM", "dlaLocalDRAM"},
                 {"DLA_GLOBAL_DRAM", "dlaGlobalDRAM"},
                 {"TACTIC_SHARED_MEMORY", "tacticSharedMem"}};
    for (size_t i = 0; i < sizeof POOLS / sizeof *POOLS; i++)
        if (!strcmp(POOLS[i].pool, pool)) return POOLS[i].word;
    return NULL;
}

/* The configuration has the limit of the workspace; other pools need the whole list. */
static pgy_status pass_pools(const passer *p, const args *line, const trt_config_args *s)
{
    const key_value *pairs = NULL;
    size_t count = 0;
    str list = {0};
    if (!s->other_pools) return PGY_OK;
    pgy_status st =
        values_split(&pairs, &count, &s->pool_words, (arena *)(uintptr_t)&line->memory, p->err);
    for (size_t i = 0; !st && i < count; i++) {
        const char *pool = "";
        uint64_t bytes = 0;
        st = trt_name(&pool, pairs[i].key, &TRT_POOLS, p->err);
        if (!st) st = value_bytes(&bytes, pairs[i].value, "--pool-limit", p->err);
        const char *word = st ? NULL : pool_word(pool);
        if (word)
            str_printf(&list, "%s%s:%.15g", list.size ? "," : "", word, (double)bytes / 1048576);
        else if (!st)
            LOG(WARNING, "--pool-limit %s has no effect on trtexec", pairs[i].key);
    }
    if (!st && list.size) st = pass(p, "memPoolSize", str_text(&list));
    str_deinit(&list);
    return st;
}

/* ---- All ------------------------------------------------------------------------------------ */

static pgy_status pass_plugins(const passer *p, const operator_args *s)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->libraries.count; i++)
        if (s->libraries.items[i]) st = pass(p, "plugins", s->libraries.items[i]);
    return st;
}

/* --trt saves the plan if it is among the runners, so that two runners do not write one file. */
static pgy_status pass_plan(const passer *p, const args *line)
{
    const char *const *path = runner_option(line, "trt", "--save-engine");
    const bool alone = ARGS_OF(line, runner_args) && !runners_with(line, PGY_BACKEND_BUILDS_PLANS);
    return alone && path && *path ? pass(p, "saveEngine", *path) : PGY_OK;
}

pgy_status trtexec_visit_options(const args *line, runner_option_visitor visit, void *user,
                                 pgy_error *err)
{
    const passer p = {visit, user, err};
    const trt_config_args *config = ARGS_OF(line, trt_config_args);
    const trt_network_args *network = ARGS_OF(line, trt_network_args);
    const operator_args *operators = ARGS_OF(line, operator_args);
    pgy_status st = pass_plan(&p, line);
    if (!st && config && config->use_dla) st = pass(&p, "useDLACore", "0");
    if (!st && config) st = pass_pools(&p, line, config);
    if (!st && network && network->strongly_typed) st = pass(&p, "stronglyTyped", NULL);
    if (!st && network && network->plugin_instancenorm) st = pass(&p, "pluginInstanceNorm", NULL);
    return st || !operators ? st : pass_plugins(&p, operators);
}

void trtexec_notes(const args *line)
{
    const trt_config_args *c = ARGS_OF(line, trt_config_args);
    const trt_network_args *n = ARGS_OF(line, trt_network_args);
    const trt_engine_args *e = ARGS_OF(line, trt_engine_args);
    const struct {
        bool given;
        const char *text;
    } NOTES[] = {
        {trt_selects_outputs(n), "--trt-outputs, --trt-exclude-outputs and --trt-outputs-by-type "
                                 "have no effect on --trtexec; use --onnx-outputs"},
        {n->postprocess.given || c->config_postprocess,
         "functions of shared objects have no effect on --trtexec"},
        {n->onnx_flags.given || n->uint8_dla, "--onnx-flags has no effect on --trtexec"},
        {n->decomposable_attentions, "--decomposable-attentions has no effect on --trtexec"},
        {c->tiling_level || c->runtime_platform || c->max_aux_streams >= 0,
         "--tiling-optimization-level, --runtime-platform and --max-aux-streams have no effect on "
         "--trtexec; --trtexec-option passes them on"},
        {e->load_runtime || e->dla_strategy,
         "--load-runtime and --dla-workspace-allocation-strategy have no effect on --trtexec"},
    };
    for (size_t i = 0; i < sizeof NOTES / sizeof *NOTES; i++)
        if (NOTES[i].given) LOG(WARNING, "%s", NOTES[i].text);
}
