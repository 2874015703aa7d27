/* SPDX-License-Identifier: Apache-2.0 */
/* Options that say how a model is divided among devices. */
#ifndef CLI_GROUPS_SHARD_H
#define CLI_GROUPS_SHARD_H

#include <polygraphy/shard.h>

#include "cli/command.h"

typedef struct shard_args {
    const char *parallelism, *cp_type, *reduce_op, *old_reduce_op, *pattern;
    const char *input_rank, *output_rank, *kv_rank; /* NULL: not given */
    pgy_text_list groups, q, k, v;
    pgy_shard_options options; /* the options above, converted */
} shard_args;
extern const option_group GROUP_SHARD;

#endif
