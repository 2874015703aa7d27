/* SPDX-License-Identifier: Apache-2.0 */
/* The options of trtexec, from TensorRT 8.2 to 11.1, as one list of tables. The member that a row
 * stores its value in tells what becomes of the option: `noted` for options without effect here,
 * `refused` for those that belong to TensorRT, and a member of its own for all others. */
#ifndef CLI_TRTEXEC_OPTIONS_H
#define CLI_TRTEXEC_OPTIONS_H

#include "cli/args/parser.h"

/* An option as it stands on the command line; several options count by their order. */
typedef struct trtexec_word {
    const pgy_option *row;
    const char *name, *value; /* value: NULL for flags */
} trtexec_word;

typedef struct trtexec_args {
    const char *onnx, *load_engine, *save_engine;
    /* Build */
    pgy_text_list shapes; /* all five options of shapes; `words` tells them apart */
    const char *memory, *workspace, *constraints, *layer_types, *calibration, *sparsity;
    const char *timing_cache, *verbosity, *mark_debug;
    const char *input_formats, *output_formats, *output_types;
    bool fp16, bf16, int8, fp8, best, no_tf32, refit, strip, refit_from_onnx, debug_unfused;
    bool no_builder_cache, cache_miss_is_error, plan_version_only, monitor_memory;
    int64_t level, device;
    /* Inference */
    const char *pin, *load_inputs, *warm_up, *duration, *sleep, *idle, *debug_files, *all_debug;
    int64_t iterations, streams, op_threads, seed, use_profile;
    bool no_copies, copies, time_deserialize, time_refit, skip_inference;
    /* Accuracy */
    pgy_text_list references; /* --loadRefOutputs and --refPair */
    const char *algorithm, *atol, *rtol, *threshold;
    bool compat;
    /* Reporting */
    const char *percentiles, *export_times, *export_output, *export_profile, *export_layers;
    const char *export_trace, *trace_runs, *report, *compare, *fail_on_regression;
    int64_t average_runs;
    bool json, verbose, dump_refit, dump_output, dump_raw, dump_profile, dump_layers, dump_profiles;
    /* Build routes */
    const char *route, *routes, *routes_file, *strategy, *results, *time_limit;
    const char *answer, *help_route;
    bool keep_all_plans, dry_run, resume;
    pgy_text_list noted, refused;

    trtexec_word *words; /* in the order of the command line */
    size_t word_count;
} trtexec_args;

typedef enum trtexec_verdict { TRTEXEC_KEPT, TRTEXEC_NOTED, TRTEXEC_REFUSED } trtexec_verdict;
trtexec_verdict trtexec_verdict_of(const pgy_option *row);
extern const option_group *const TRTEXEC_GROUPS[];

/* Reads the words after the program's name. On PGY_E_ARGUMENT `err` has the text; *unknown is then
 * true if a word is no option. Warnings are logged. */
pgy_status trtexec_read(trtexec_args *out, bool *help, bool *unknown, args *line, int argc,
                        const char *const *argv, pgy_error *err) PGY_MUST_CHECK;
bool trtexec_given(const trtexec_args *a, const char *name);

/* ---- Values ---- */
pgy_status trtexec_real(double *out, const char *text, const char *option, double least,
                        pgy_error *err) PGY_MUST_CHECK;
/* "name:rest" items of a comma-separated list, split at each item's last colon; a name may be in
 * single quotes. Memory of the arena. */
typedef struct trtexec_pair {
    const char *name, *value;
} trtexec_pair;
pgy_status trtexec_pairs(trtexec_pair **out, size_t *count, const char *text, const char *option,
                         arena *a, pgy_error *err) PGY_MUST_CHECK;
/* "4x1x28x28"; "scalar" or "" for rank 0 */
pgy_status trtexec_dims(int64_t **out, size_t *rank, const char *text, const char *option, arena *a,
                        pgy_error *err) PGY_MUST_CHECK;
/* Number with optional B, K, M or G; `unit` for none. */
pgy_status trtexec_bytes(uint64_t *out, const char *text, const char *option, double unit,
                         pgy_error *err) PGY_MUST_CHECK;
/* The path with ~ replaced by the home folder. */
pgy_status trtexec_path(const char **out, const char *path, arena *a,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
