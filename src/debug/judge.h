/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEBUG_JUDGE_H
#define DEBUG_JUDGE_H

#include <polygraphy/debug_minimise.h>

typedef struct judge_samples {
    const pgy_tensor_map *const *feeds;
    size_t count;
} judge_samples;

/* Golden results hold for the model's own values only, so nothing but nodes can be changed. */
bool judge_has_golden(const pgy_debug_judge *j);

#endif
