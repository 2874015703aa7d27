/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fields.h"

#include <polygraphy/build_config.h>
#include <polygraphy/runner.h>

#include <ctype.h>
#include <string.h>

#include "base/pytext.h"

/* Fields of structs, and functions where the library has no field. Fields of the engine's
 * configuration and options of backends are in tables of the library. */
static const struct {
    const char *field, *option;
} FIELDS[] = {
    {"bench.budget", "--budget"},
    {"bench.duration_s", "--duration"},
    {"bench.least_effect", "--least-effect"},
    {"bench.reference", "--check-with"},
    {"bench.seed", "--seed"},
    {"bench.slices", "--slices"},
    {"bench.sweep", "--sweep"},
    {"bench.warm_up_ms", "--warm-up"},
    {"calibration.cache", "--calibration-cache"},
    {"calibration.data", "--data-loader-script or --load-inputs"},
    {"compare.no_shape_check", "--no-shape-check"},
    {"compare.stats", "--check-error-stat"},
    {"debug.artifact_dir", "--art-dir"},
    {"debug.candidate", "--iter-artifact"},
    {"debug.check_command", "--check"},
    {"debug.fail_patterns", "--fail-regex"},
    {"debug.load_replay", "--load-debug-replay"},
    {"decode.caches", "--kv"},
    {"decode.floor_times", "--decode-floor-times"},
    {"decode.ids", "--prompt-ids"},
    {"decode.judge", "--decode-judge"},
    {"decode.prompt_length", "--prompt-length"},
    {"decode.roles", "--decode-roles"},
    {"decode.steps", "--decode"},
    {"floor_options.max_steps", "--max-steps"},
    {"judge.check_average", "--check-average"},
    {"judge.compat", "--compat"},
    {"judge.fail_fast", "--fail-fast"},
    {"load.allow_outside", "--allow-external-data-outside"},
    {"load.external_data_dir", "--external-data-dir"},
    {"nan_options.max_steps", "--max-steps"},
    {"pgy_file_loader_create", "--load-inputs"},
    {"pgy_headroom_set_max_steps", "--max-steps"},
    {"pgy_operators_load", "--op-library"},
    {"pgy_precision_save_times", "--save-layer-times"},
    {"pgy_refitter_refit", "'convert PLAN --refit-from MODEL.onnx'"},
    {"pgy_runner_create_ranks", "--ranks"},
    {"pgy_script_loader_create", "--data-loader-script"},
    {"pgy_set_max_memory", "--max-memory"},
    {"pgy_shard_suggest", "'template shard-hints'"},
    {"precision.dtype", "--precision"},
    {"profile.max", "--trt-max-shapes"},
    {"profile.min", "--trt-min-shapes"},
    {"profile.opt", "--trt-opt-shapes"},
    {"random.inputs", "--input-shapes"},
    {"run.load_outputs", "--load-outputs"},
    {"run.reports", "--report"},
    {"run.save_input_blob", "--save-input-blob"},
    {"run.sequential", "--sequential-runners"},
    {"run.use_subprocess", "--use-subprocess"},
    {"run.warm_up", "--warm-up"},
    {"save.external_data_path", "--external-data-path"},
    {"trace_diff.process_a", "--process-a"},
    {"trace_diff.process_b", "--process-b"},
    {"where_options.judge", "--judge"},
    {"where_options.max_steps", "--max-steps"},
};

static const char FUNCTION[] = "pgy_";

static bool append_listed(str *out, span name)
{
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        if (!span_equals(name, FIELDS[i].field)) continue;
        str_append(out, FIELDS[i].option);
        return true;
    }
    return false;
}

static bool append_config(str *out, span name)
{
    static const char PREFIX[] = "config.";
    const size_t skip = sizeof PREFIX - 1;
    const pgy_config_field *fields;
    const size_t count = pgy_build_config_fields(&fields);
    if (name.size <= skip || memcmp(name.data, PREFIX, skip) != 0) return false;
    const span member = {name.data + skip, name.size - skip};
    for (size_t i = 0; i < count; i++) {
        if (!*fields[i].option || !span_equals(member, fields[i].name)) continue;
        str_append(out, fields[i].option);
        return true;
    }
    return false;
}

/* "--onnxrt-threads" has the field onnxrt_threads. */
static bool is_field_of(span field, const char *spelling)
{
    if (strncmp(spelling, "--", 2) != 0) return false;
    spelling += 2;
    for (size_t i = 0; i < field.size; i++)
        if (field.data[i] != (spelling[i] == '-' ? '_' : spelling[i])) return false;
    return spelling[field.size] == '\0' || spelling[field.size] == ' ';
}

static bool append_backend(str *out, span name)
{
    const char *dot = memchr(name.data, '.', name.size);
    if (!dot) return false;
    const span title = {name.data, (size_t)(dot - name.data)};
    const span field = {dot + 1, name.size - title.size - 1};
    for (size_t i = 0; i < pgy_backend_count(); i++) {
        const pgy_backend *b = pgy_backend_at(i);
        const pgy_option *row = span_equals(title, b->name) ? b->options : NULL;
        for (; row && row->kind != PGY_OPTION_END; row++) {
            if (!is_field_of(field, row->names)) continue;
            str_append_n(out, row->names, strcspn(row->names, " "));
            return true;
        }
    }
    return false;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* A field like "word.word", or a function like "pgy_word", at the start of text; size 0: neither.
 */
static span field_at(const char *text)
{
    size_t n = 0;
    while (is_word(text[n])) n++;
    if (!strncmp(text, FUNCTION, strlen(FUNCTION))) return (span){text, n};
    if (!n || text[n] != '.' || !is_word(text[n + 1])) return (span){text, 0};
    for (n++; is_word(text[n]);) n++;
    return (span){text, n};
}

bool fields_to_options(str *out, const char *text)
{
    bool quoted = false, changed = false;
    if (!strchr(text, '.') && !strstr(text, FUNCTION)) return false;
    for (size_t i = 0; text[i];) {
        const bool starts = !i || !is_word(text[i - 1]);
        if (text[i] == '\'' && (quoted || starts)) quoted = !quoted;
        const span name =
            starts && !quoted && (!i || text[i - 1] != '.') ? field_at(text + i) : (span){text, 0};
        if (name.size &&
            (append_listed(out, name) || append_config(out, name) || append_backend(out, name))) {
            changed = true;
            i += name.size;
        } else {
            str_append_char(out, text[i++]);
        }
    }
    return changed;
}
