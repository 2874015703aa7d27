/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `run` that decode token by token. */
#ifndef CLI_GROUPS_DECODE_H
#define CLI_GROUPS_DECODE_H

#include <polygraphy/decode.h>

#include "cli/command.h"

typedef struct decode_args {
    int64_t steps; /* NOT_GIVEN: no decoding */
    const char *prompt_path;
    int64_t prompt_length;
    pgy_text_list caches, role_words;
    bool free_running, all_steps, copy_caches;
    const char *judge, *times_text;
    double times;
    const pgy_decode_role *roles;
    size_t role_count;
} decode_args;
extern const option_group GROUP_DECODE;

bool decode_is_asked(const args *line);
/* The options of the line; loaders, ids and the model are the caller's. */
pgy_status decode_options(pgy_decode_options *out, args *line, pgy_error *err) PGY_MUST_CHECK;

#endif
