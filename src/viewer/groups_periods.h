/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where a sequence repeats itself. */
#ifndef VIEWER_GROUPS_PERIODS_H
#define VIEWER_GROUPS_PERIODS_H

#include <polygraphy/base.h>

enum { GROUP_PERIODS = 16 };

/* Gives the distances at which the sequence repeats itself, that which saves most elements first.
 * @return how many; UINT32_MAX: out of memory */
uint32_t group_periods(uint32_t periods[GROUP_PERIODS], const uint64_t *sequence, uint32_t count);

#endif
