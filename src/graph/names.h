/* SPDX-License-Identifier: Apache-2.0 */
/* Free names for what an edit adds: the wanted name, or the wanted name with a number behind it. */
#ifndef GRAPH_NAMES_H
#define GRAPH_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Does something in the graph have this name already? */
typedef bool (*name_is_taken)(const char *name, const void *user);

/* Appends "_<n>" with the first n from *next on that gives a free name, and sets *next behind it.
 */
void name_number(str *name, uint64_t *next, name_is_taken taken, const void *user);
/* The same, if the name itself is taken. */
void name_make_free(str *name, uint64_t *next, name_is_taken taken, const void *user);

#endif
