/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command precision. */
#ifndef CLI_GROUPS_PRECISION_H
#define CLI_GROUPS_PRECISION_H

#include <polygraphy/precision.h>

#include "cli/command.h"

typedef struct precision_args {
    const char *output, *keep_list, *layer_list, *types, *criterion, *max_memory, *cost;
    const char *load_times, *save_times;
    const char *calibrator, *quantile, *smooth, *rounding, *quantization;
    bool bias_correction;
    pgy_text_list check_with, tries;
    int64_t samples;
    pgy_precision_options options;
} precision_args;

extern const option_group GROUP_PRECISION;

/* The name of a type in --types and in files of precisions: that of pgy_dtype_name for others. */
const char *precision_type_name(pgy_dtype type);

#endif
