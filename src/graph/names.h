/* SPDX-License-Identifier: Apache-2.0 */
/* Free names for new values and nodes: the wanted name, or the wanted name with a number appended.
 */
#ifndef GRAPH_NAMES_H
#define GRAPH_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Tells whether a name is in use already. `user` is the caller's data. */
typedef bool (*name_is_taken)(const char *name, const void *user);

/* Appends "_<n>" with the first n >= *next that gives a free name, and sets *next to n + 1. */
void name_number(str *name, uint64_t *next, name_is_taken taken, const void *user);
/* Leaves a free name as it is; appends a number, as name_number does, only if it is taken. */
void name_make_free(str *name, uint64_t *next, name_is_taken taken, const void *user);

#endif
