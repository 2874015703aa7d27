/* SPDX-License-Identifier: Apache-2.0 */
/* Options of decoding. Options of `run` that decoding leaves without effect are refused. */
#include "cli/groups/decode.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/groups/compare.h"
#include "cli/groups/data.h"
#include "cli/groups/script.h"
#include "cli/groups/where_unused.h"

#define NOT_GIVEN INT64_MIN
enum { MAX_STEPS = 1 << 20 };

static const char *const JUDGES[] = {"tolerance", "floor", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_INT("--decode", decode_args, steps, .meta = "N",
                .help = "decode: run the prompt, then N steps of one token, feed the caches back, "
                        "and compare the logits and caches of each step with those of the first "
                        "runner, which also chooses the tokens"),
    PGY_OPT_TEXT("--prompt-ids", decode_args, prompt_path, .meta = "PATH",
                 .help = "file of token ids: integers with blanks or commas between them, a line "
                         "for each text of the batch, or JSON, or .npy. Default: --load-inputs, "
                         "else 8 random ids"),
    PGY_OPT_INT("--prompt-length", decode_args, prompt_length, .meta = "N",
                .help = "number of ids that are the prompt; all runners read the other ids one by "
                        "one before tokens are chosen. Default: all ids"),
    PGY_OPT_LIST("--kv", decode_args, caches, .nargs = PGY_ONE_OR_MORE, .meta = "INPUT=OUTPUT",
                 .help = "outputs that are the caches of the next step, as pairs of names with as "
                         "many '*' on both sides: 'past_key_values.*=present.*'. Default: found by "
                         "name"),
    PGY_OPT_LIST("--decode-roles", decode_args, role_words, .nargs = PGY_ONE_OR_MORE,
                 .meta = "NAME:ROLE",
                 .help = "what an input is for if its name does not tell: tokens, positions, mask, "
                         "past_length, total_length, last_index, use_cache or constant; or the "
                         "output that is the logits"),
    PGY_OPT_FLAG("--decode-free", decode_args, free_running,
                 .help = "each runner reads the tokens that it chooses itself; the report says "
                         "where the texts part, which is a failure"),
    PGY_OPT_TEXT("--decode-judge", decode_args, judge, .choices = JUDGES, .meta = "RULE",
                 .help = "rule that decides whether a step differs: tolerance (--rtol and --atol, "
                         "relative to the tensor's largest magnitude), or floor: a multiple of the "
                         "error that rounding must cause. Default: tolerance"),
    PGY_OPT_TEXT("--decode-floor-times", decode_args, times_text, .meta = "X",
                 .help = "for --decode-judge floor: the multiple that passes. Default 3"),
    PGY_OPT_FLAG("--decode-copy-caches", decode_args, copy_caches,
                 .help = "each step writes its caches into memory of their own. Default: runners "
                         "that can add a step's rows to caches in place do so, and the report says "
                         "how many caches stay in place"),
    PGY_OPT_FLAG("--decode-all", decode_args, all_steps,
                 .help = "show all steps of long runs, not a choice"),
    PGY_OPT_END,
};

static void defaults(void *settings)
{
    decode_args *s = settings;
    s->steps = NOT_GIVEN;
    s->prompt_length = NOT_GIVEN;
    s->times = NAN;
}

bool decode_is_asked(const args *line)
{
    return ARGS_OF(line, decode_args)->steps != NOT_GIVEN;
}

/* ---- Checks -----------------------------------------------------------------------------------
 */

/* Options whose work decoding does not do. */
static const struct {
    const option_group *group;
    const char *names; /* NULL: all */
} UNUSED[] = {
    {&GROUP_SCRIPT, NULL},
    {&GROUP_DATA, "--iterations"},
    {&GROUP_INFERENCE, "--warm-up --use-subprocess --sequential-runners --save-input-blob"},
    {&GROUP_POSTPROCESS, NULL},
    {&GROUP_COMPARE, "--no-shape-check --fail-fast --check-average --compare "
                     "--compare-func-script --compare-func-name --save-accuracy-results --compat "
                     "--validate --read-outputs"},
    {&GROUP_FUNCTIONS,
     "--check-error-stat --error-quantile --infinities-compare-equal --save-heatmaps "
     "--show-heatmaps --save-error-metrics-plot --show-error-metrics-plot --index-tolerance "
     "--l2-threshold --cosine-similarity-threshold --psnr-threshold --snr-threshold "
     "--lpips-threshold"},
};

static pgy_status check_unused(const args *line, pgy_error *err)
{
    for (size_t i = 0; i < sizeof UNUSED / sizeof *UNUSED; i++) {
        const pgy_option *row = where_given(line, UNUSED[i].group, UNUSED[i].names);
        span name;
        if (!row || !option_spelling(&name, row, 0)) continue;
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument %.*s: it has no effect with --decode; leave it out",
                             (int)name.size, name.data);
    }
    return PGY_OK;
}

static pgy_status check_alone(const args *line, pgy_error *err)
{
    const pgy_option *row = where_given(line, &GROUP_DECODE, NULL);
    span name;
    if (!row || !option_spelling(&name, row, 0)) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "argument %.*s: it needs --decode, which it is for",
                         (int)name.size, name.data);
}

static pgy_status read_roles(decode_args *s, arena *a, pgy_error *err)
{
    const key_value *pairs = NULL;
    pgy_status st = values_split(&pairs, &s->role_count, &s->role_words, a, err);
    if (st) return st;
    pgy_decode_role *roles = arena_alloc_array(a, s->role_count + 1, sizeof *roles);
    if (!roles) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < s->role_count; i++) {
        if (!pairs[i].key[0])
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "argument --decode-roles: '%s' names no input; expected NAME:ROLE",
                                 pairs[i].value);
        roles[i] = (pgy_decode_role){pairs[i].key, pairs[i].value};
    }
    s->roles = roles;
    return PGY_OK;
}

static pgy_status read_times(decode_args *s, pgy_error *err)
{
    char *end = NULL;
    if (!s->times_text) return PGY_OK;
    if (!s->judge || strcmp(s->judge, "floor"))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --decode-floor-times: it needs --decode-judge floor");
    errno = 0;
    s->times = strtod(s->times_text, &end);
    if (errno || end == s->times_text || *end || !isfinite(s->times) || s->times <= 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --decode-floor-times: '%s' is no number over 0",
                             s->times_text);
    return PGY_OK;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    decode_args *s = settings;
    if (!decode_is_asked(line)) return check_alone(line, err);
    if (s->steps < 1 || s->steps > MAX_STEPS)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --decode: %lld is not allowed; expected 1 to %d",
                             (long long)s->steps, MAX_STEPS);
    if (s->prompt_length != NOT_GIVEN && (s->prompt_length < 1 || s->prompt_length > MAX_STEPS))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --prompt-length: %lld is not allowed; expected 1 to %d",
                             (long long)s->prompt_length, MAX_STEPS);
    pgy_status st = check_unused(line, err);
    if (!st) st = read_roles(s, &line->memory, err);
    return st ? st : read_times(s, err);
}

const option_group GROUP_DECODE = {
    .title = "Decoding",
    .description = "Options related to comparing a decoder token by token",
    .options = OPTIONS,
    ARGS_TYPE(decode_args),
    .defaults = defaults,
    .finish = finish,
};

pgy_status decode_options(pgy_decode_options *out, args *line, pgy_error *err)
{
    const decode_args *s = ARGS_OF(line, decode_args);
    const function_args *functions = ARGS_OF(line, function_args);
    const inference_args *inference = ARGS_OF(line, inference_args);
    pgy_decode_options o = pgy_decode_options_default();
    o.steps = (size_t)s->steps;
    o.prompt_length = s->prompt_length == NOT_GIVEN ? 0 : (size_t)s->prompt_length;
    o.caches = s->caches.items;
    o.cache_count = s->caches.count;
    o.roles = s->roles;
    o.role_count = s->role_count;
    o.free_running = s->free_running;
    o.copy_caches = s->copy_caches;
    o.judge = s->judge;
    o.floor_times = s->times;
    const pgy_text_list *stored = &ARGS_OF(line, compare_args)->load_outputs;
    if (stored->count > 1)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --load-outputs: decoding has one reference; give one file");
    o.load_outputs = stored->count ? stored->items[0] : NULL;
    o.save_inputs = inference->run.save_inputs;
    o.save_outputs = inference->run.save_outputs;
    pgy_status st = values_numbers(&o.rtol, &functions->rtol, "--rtol", &line->memory, err);
    if (!st) st = values_numbers(&o.atol, &functions->atol, "--atol", &line->memory, err);
    *out = o;
    return st;
}
