/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command bench. */
#ifndef CLI_BENCH_OPTIONS_H
#define CLI_BENCH_OPTIONS_H

#include <polygraphy/bench_budget.h>

#include "cli/command.h"

typedef struct bench_args {
    pgy_text_list models, shape_words, load_inputs, sweep_words;
    const char *duration, *warm_up, *least_effect, *output, *csv, *junit, *svg, *load, *compare,
        *fail, *budget_text, *check_with;
    pgy_text_list rtol, atol, stat, quantile; /* tolerances of --check-with */
    bool infinities_equal;
    int64_t slices, seed;
    pgy_metadata *shapes;
    pgy_bench_axes *axes;     /* NULL: no sweep */
    pgy_bench_budget *budget; /* NULL: none */
    pgy_bench_options options;
    pgy_compare_options tolerances;
    double limit; /* of a regression; negative: none */
} bench_args;
extern const option_group GROUP_BENCH;

/* Does the line set a tolerance? */
bool bench_has_tolerances(const bench_args *s);

#endif
