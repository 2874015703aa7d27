/* SPDX-License-Identifier: Apache-2.0 */
/* Operators from shared objects, and the limit on memory for tensors. */
#include "cli/groups/operators.h"

#include <polygraphy/operator.h>

#include "base/log.h"
#include "cli/args/values.h"

static const char LOG_PATH[] = "cli/groups/operators.c";

#define LIBRARIES                                                                                 \
    PGY_OPT_APPEND("--op-library --plugins", operator_args, libraries, .nargs = PGY_ONE_OR_MORE,  \
                   .meta = "PATH",                                                                \
                   .help = "load shared objects with custom operators and their kernels for the " \
                           "engine (polygraphy/operator.h)")

static const pgy_option OPTIONS[] = {
    LIBRARIES,
    PGY_OPT_TEXT("--max-memory", operator_args, max_memory, .meta = "BYTES",
                 .help = "memory limit for all tensors together, and for all other blocks of 1 MiB "
                         "and more; K, M and G may follow the number; default: 15/16 of the memory "
                         "that is free in the machine and its control groups"),
    PGY_OPT_END,
};

static const pgy_option LIBRARY_OPTIONS[] = {LIBRARIES, PGY_OPT_END};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    const operator_args *s = settings;
    uint64_t limit = 0;
    pgy_status st =
        s->max_memory ? value_bytes(&limit, s->max_memory, "--max-memory", err) : PGY_OK;
    if (!st && s->max_memory && !limit)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "--max-memory: 0 is not allowed; give a positive number of bytes");
    if (!st && limit) pgy_set_max_memory(limit);
    if (line->writes_script) return st; /* the script loads the libraries */
    for (size_t i = 0; !st && i < s->libraries.count; i++) {
        if (!s->libraries.items[i]) continue; /* NULL ends the words of one use of the option */
        LOG(INFO, "Loading plugin library: %s", s->libraries.items[i]);
        st = pgy_operators_load(s->libraries.items[i], err);
    }
    return st;
}

const option_group GROUP_OPERATORS = {
    .title = "Operators",
    .description = "Options related to custom operators and memory",
    .options = OPTIONS,
    ARGS_TYPE(operator_args),
    .finish = finish,
};

const option_group GROUP_OPERATOR_LIBRARIES = {
    .title = "Operators",
    .description = "Options related to custom operators",
    .options = LIBRARY_OPTIONS,
    ARGS_TYPE(operator_args),
    .finish = finish,
};
