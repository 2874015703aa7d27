/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that is being written: write.c gathers its sections, write_file.c lays them out. */
#ifndef ENGINE_PLAN_WRITE_H
#define ENGINE_PLAN_WRITE_H

#include "engine/plan/areas.h"
#include "engine/plan/plan.h"

typedef struct plan_writer {
    const plan_source *source;
    str small[PLAN_KIND_END];  /* indexed by kind: sections made in memory */
    area_pools host;           /* PLAN_CONSTANTS, PLAN_CONSTANTS_F16 and PLAN_CONSTANTS_BF16 */
    plan_pool weights, params; /* PLAN_WEIGHTS, PLAN_PARAMS */
    plan_pool constants[PLAN_MAX_SPACES]; /* indexed by space: constants of devices; entry 0 is not
                                             used */
    uint32_t space_count;
    plan_piece models[2]; /* PLAN_MODEL and PLAN_SOURCE: bytes that the writer owns */
    pgy_model *bare[2];   /* models whose weights the pieces borrow */
    uint64_t deflated;    /* bit of each kind whose section in `small` is deflated */
    uint64_t bundled;     /* bit of each kind whose section is in small[PLAN_BUNDLE] */
    strmap texts;         /* maps a text to its offset in PLAN_STRINGS + 1 */
    plan_info_record info;
    cpu_level needs;
    bool failed;
} plan_writer;

/* Writes the gathered sections to a file, or (path NULL) into new memory. Small sections are
 * deflated, which changes `small`. */
pgy_status plan_write_file(const char *path, void **data, size_t *size, plan_writer *w,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
