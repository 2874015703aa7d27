/* SPDX-License-Identifier: Apache-2.0 */
/* Options for the source of input data. */
#include "cli/groups/data.h"

#include <string.h>

#include "base/log.h"
#include "cli/args/values.h"

static const char LOG_PATH[] = "tools/args/comparator/data_loader.py";

static const int64_t UNSET = INT64_MIN;
static const char *const BACKENDS[] = {"numpy", "torch", NULL};

#define OLD_RANGE(name, member)                           \
    PGY_OPT_TEXT(name, data_args, member, .hidden = true, \
                 .deprecated = "is an older spelling; use --val-range")

static const pgy_option OPTIONS[] = {
    PGY_OPT_INT("--seed", data_args, seed, .meta = "SEED",
                .help = "seed of the generated data; iteration i uses SEED+i; default 1"),
    PGY_OPT_LIST("--val-range", data_args, val_range, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[NAME:][LO,HI]",
                 .help = "range of the generated values, both ends included, for all inputs or for "
                         "the named one; default [0,1]"),
    PGY_OPT_INT("--iterations --iters", data_args, iterations, .meta = "NUM",
                .help = "number of generated inputs; default 1"),
    PGY_OPT_TEXT("--data-loader-backend-module", data_args, backend_module, .choices = BACKENDS,
                 .help = "generate the same random numbers as this module; default numpy"),
    PGY_OPT_LIST("--load-inputs --load-input-data", data_args, load_inputs,
                 .nargs = PGY_ONE_OR_MORE, .meta = "PATH", .exclusive = "custom data",
                 .help = "files or folders of saved inputs: JSON, npz, npy, "
                         "safetensors, or ONNX test data folders (.pb)"),
    PGY_OPT_LIST("--read-inputs", data_args, old_load_inputs, .nargs = PGY_ONE_OR_MORE,
                 .exclusive = "custom data", .hidden = true,
                 .deprecated = "is an older spelling; use --load-inputs"),
    PGY_OPT_TEXT("--data-loader-script", data_args, script, .meta = "SCRIPT[:FUNC]",
                 .exclusive = "custom data",
                 .help = "Python script with a function (default load_data) that returns or yields "
                         "dictionaries {name: array}"),
    PGY_OPT_TEXT("--data-loader-func-name", data_args, script_function, .hidden = true,
                 .deprecated = "is an older spelling; use --data-loader-script SCRIPT:FUNC"),
    OLD_RANGE("--int-min", int_min),
    OLD_RANGE("--int-max", int_max),
    OLD_RANGE("--float-min", float_min),
    OLD_RANGE("--float-max", float_max),
    PGY_OPT_END,
};

static void defaults(void *settings)
{
    data_args *s = settings;
    s->seed = UNSET;
    s->iterations = UNSET;
}

/* Reads the pair of older options for one kind of input. A missing end gets its old default. */
static pgy_status old_range(pgy_value_range *out, pgy_range_kind kind, const char *low,
                            const char *high, double low_default, double high_default, arena *a,
                            pgy_error *err)
{
    *out = (pgy_value_range){.name = "",
                             .kind = kind,
                             .low = low_default,
                             .high = high_default,
                             .is_integer = kind == PGY_RANGE_INTEGERS,
                             .low_int = (int64_t)low_default,
                             .high_int = (int64_t)high_default};
    const char *const texts[] = {low, high};
    for (size_t i = 0; i < 2; i++) {
        if (!texts[i]) continue;
        cast_value v;
        pgy_status st = value_cast(&v, texts[i], a, err);
        if (st) return st;
        if (v.kind != CAST_INT && v.kind != CAST_REAL)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "--int-min, --int-max, --float-min, --float-max: '%s' is not a number", texts[i]);
        *(i ? &out->high : &out->low) = v.number.real;
        *(i ? &out->high_int : &out->low_int) = v.number.integer;
        if (v.kind == CAST_REAL) out->is_integer = false;
    }
    return PGY_OK;
}

static pgy_status add_old_ranges(data_args *s, arena *a, pgy_error *err)
{
    bool ints = s->int_min || s->int_max, floats = s->float_min || s->float_max;
    if (!ints && !floats) return PGY_OK;
    pgy_value_range *all = arena_alloc_array(a, s->range_count + 2, sizeof *all);
    if (!all) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (s->range_count) memcpy(all, s->ranges, s->range_count * sizeof *all);
    pgy_status st = PGY_OK;
    if (ints)
        st = old_range(&all[s->range_count++], PGY_RANGE_INTEGERS, s->int_min, s->int_max, 1, 25, a,
                       err);
    if (!st && floats)
        st = old_range(&all[s->range_count++], PGY_RANGE_FLOATS, s->float_min, s->float_max, -1, 1,
                       a, err);
    s->ranges = all;
    return st;
}

static void warn_ignored(const data_args *s)
{
    const char *source = s->load_inputs.given ? "--load-inputs" : "--data-loader-script";
    if (s->seed != UNSET) LOG(WARNING, "--seed is ignored since %s was given", source);
    if (s->val_range.given) LOG(WARNING, "--val-range is ignored since %s was given", source);
    if (s->iterations != UNSET) LOG(WARNING, "--iterations is ignored since %s was given", source);
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    data_args *s = settings;
    if (!s->load_inputs.given) s->load_inputs = s->old_load_inputs;
    if (s->seed != UNSET && (s->seed < 0 || s->seed > 0xFFFFFFFFll))
        return pgy_error_set(err, PGY_E_ARGUMENT, "--seed: %lld is not between 0 and 4294967295",
                             (long long)s->seed);
    if (s->iterations != UNSET && s->iterations < 0)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--iterations: %lld is negative",
                             (long long)s->iterations);
    pgy_status st = values_ranges(&s->ranges, &s->range_count, &s->val_range, &line->memory, err);
    if (!st) st = add_old_ranges(s, &line->memory, err);
    if (s->script && s->script_function) {
        s->script = arena_printf(&line->memory, "%s:%s", s->script, s->script_function);
        if (!s->script) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    if (s->load_inputs.given || s->script) warn_ignored(s);
    return st;
}

const option_group GROUP_DATA = {
    .title = "Data Loader",
    .description = "Options related to loading or generating input data",
    .options = OPTIONS,
    ARGS_TYPE(data_args),
    .defaults = defaults,
    .finish = finish,
};

bool data_is_given(const args *line)
{
    const data_args *s = args_get(line, &GROUP_DATA);
    return s->load_inputs.given || s->script;
}

pgy_random_options data_random_options(const args *line)
{
    const data_args *s = args_get(line, &GROUP_DATA);
    pgy_random_options o = pgy_random_options_default();
    if (s->seed >= 0) o.seed = (uint32_t)s->seed;
    if (s->iterations >= 0) o.iterations = (size_t)s->iterations;
    o.ranges = s->ranges;
    o.range_count = s->range_count;
    o.torch_floats = s->backend_module && strcmp(s->backend_module, "torch") == 0;
    return o;
}

pgy_status data_loader_create(pgy_data_loader **out, const args *line, const pgy_metadata *shapes,
                              pgy_error *err)
{
    const data_args *s = ARGS_OF(line, data_args);
    if (s->load_inputs.given)
        return pgy_file_loader_create(out, s->load_inputs.items, s->load_inputs.count, err);
    if (s->script) return pgy_script_loader_create(out, s->script, err);
    pgy_random_options o = data_random_options(line);
    o.inputs = shapes;
    return pgy_random_loader_create(out, &o, err);
}
