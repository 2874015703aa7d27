/* SPDX-License-Identifier: Apache-2.0 */
/* Inference, post-processing and comparison options, and those of the
 * comparison functions. */
#ifndef CLI_GROUPS_COMPARE_H
#define CLI_GROUPS_COMPARE_H

#include <polygraphy/compare.h>

#include "cli/command.h"

/* Options that set a field of pgy_run_options or pgy_judge_options are parsed directly into `run`
 * or `judge`. */
typedef struct inference_args {
    pgy_run_options run;
    int64_t warm_up;
    const char *old_inputs, *old_outputs; /* older spellings */
} inference_args;
extern const option_group GROUP_INFERENCE;

typedef struct postprocess_args {
    pgy_text_list words, old_top_k;
    const char *script;
    const pgy_top_k *top_k;
    size_t top_k_count;
} postprocess_args;
extern const option_group GROUP_POSTPROCESS;

typedef struct compare_args {
    pgy_judge_options judge;
    bool no_shape_check, old_accuracy;
    pgy_text_list functions;
    const char *script, *script_function;
    pgy_text_list load_outputs, old_load_outputs;
    const char *save_accuracy;
    pgy_text_list reports;
} compare_args;
extern const option_group GROUP_COMPARE;       /* run */
extern const option_group GROUP_COMPARE_SAVED; /* check accuracy */

typedef struct function_args {
    pgy_text_list rtol, atol, stat, quantile, index_tolerance, l2, cosine_similarity, psnr, snr,
        lpips;
    bool infinities_equal, show_heatmaps, show_error_plots;
    const char *heatmap_dir, *error_plot_dir;
} function_args;
extern const option_group GROUP_FUNCTIONS;

/* The comparison functions that a line asks for, in order. Their arrays live as long as the line.
 */
typedef struct compare_choice {
    const char *script; /* NULL: `options` */
    pgy_compare_options options[PGY_COMPARE_CALLBACK];
    size_t count;
} compare_choice;
pgy_status compare_choose(compare_choice *out, args *line, pgy_error *err) PGY_MUST_CHECK;
/* The functions themselves. Free them with compare_list_destroy. */
typedef struct compare_list {
    pgy_compare **items;
    size_t count;
    bool explicit_request; /* --compare, a script, or an option of simple was given */
} compare_list;
pgy_status compare_list_create(compare_list *out, args *line, pgy_error *err) PGY_MUST_CHECK;
void compare_list_destroy(compare_list *list);

#endif
