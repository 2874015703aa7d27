/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_GROUPS_DATA_H
#define CLI_GROUPS_DATA_H

#include <polygraphy/data.h>

#include "cli/command.h"

typedef struct data_args {
    int64_t seed, iterations;
    pgy_text_list val_range;
    const char *backend_module;
    pgy_text_list load_inputs, old_load_inputs;
    const char *script, *script_function;
    const char *int_min, *int_max, *float_min, *float_max; /* older spellings */
    const pgy_value_range *ranges;
    size_t range_count;
    bool needed; /* set by a finish: the command reads data even if nothing is calibrated */
} data_args;
extern const option_group GROUP_DATA;

/* Does the line give data, in files or by a script? Otherwise data are generated. */
bool data_is_given(const args *line);
/* The options of generated data, without shapes. */
pgy_random_options data_random_options(const args *line);
/* Creates the loader that these options describe. shapes (may be NULL) come from --input-shapes. */
pgy_status data_loader_create(pgy_data_loader **out, const args *line, const pgy_metadata *shapes,
                              pgy_error *err) PGY_MUST_CHECK;

#endif
