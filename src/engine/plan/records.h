/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the records in a plan's sections, and their order in a bundle. */
#ifndef ENGINE_PLAN_RECORDS_H
#define ENGINE_PLAN_RECORDS_H

#include <stddef.h>

#include "engine/plan/format.h"

/* Size of one record of the section; 1: the section holds bytes. */
size_t plan_record_bytes(uint32_t kind);
/* Orders the bytes of `count` records as a bundle has them: first bytes of all records, then second
 * bytes, and so on. Equal bytes come together so, which deflates better. */
void plan_shuffle(void *to, const void *records, size_t record_bytes, size_t count);
void plan_unshuffle(void *records, const void *from, size_t record_bytes, size_t count);

#endif
