/* SPDX-License-Identifier: Apache-2.0 */
/* An open plan, for the files that read one. plan_open has checked everything in it. */
#ifndef ENGINE_PLAN_FILE_H
#define ENGINE_PLAN_FILE_H

#include "base/file.h"
#include "engine/plan/areas.h"
#include "engine/plan/plan.h"

struct plan_file {
    file_map map; /* the mapped file, if the plan was opened by path */
    void *copy;   /* an aligned copy, if the caller's bytes were not aligned */
    bool trusted; /* hashes are not checked */
    const unsigned char *data;
    size_t size;
    const plan_header *header;
    const plan_section *sections[PLAN_KIND_END];    /* indexed by kind; for PLAN_CONSTANTS: the
                                                       host's section; NULL: in the bundle */
    const plan_section *constants[PLAN_MAX_SPACES]; /* indexed by space: PLAN_CONSTANTS of devices;
                                                       entry 0 is not used */
    area_bytes host;                                /* the host's constants, widened */
    void *owned[PLAN_KIND_END];     /* indexed by kind: memory of inflated sections */
    const void *at[PLAN_KIND_END];  /* indexed by kind: the section's first record, inflated */
    uint64_t counts[PLAN_KIND_END]; /* indexed by kind: number of records, or of bytes if the
                                       section has no records */
    const plan_info_record *info;
    plan_info public;
};

/* ---- sections.c ------------------------------------------------------------------------------ */

/* Checks the header and the section table, and finds the records of all sections. */
pgy_status plan_take_sections(plan_file *p, pgy_error *err) PGY_MUST_CHECK;
pgy_status plan_damaged(pgy_error *err, const char *what);

/* ---- Records --------------------------------------------------------------------------------- */

static inline const char *plan_text(const plan_file *p, uint32_t text)
{
    return (const char *)p->at[PLAN_STRINGS] + text;
}

static inline const plan_space *plan_space_at(const plan_file *p, uint32_t space)
{
    return (const plan_space *)p->at[PLAN_SPACES] + space;
}

/* The record of program `i`, and the first step of program `index`. */
static inline const plan_program *plan_record_of(const plan_file *p, size_t i)
{
    return (const plan_program *)p->at[PLAN_PROGRAMS] + i;
}

static inline const plan_step *plan_steps_of(const plan_file *p, size_t index)
{
    return (const plan_step *)p->at[PLAN_STEPS] + plan_record_of(p, index)->steps;
}

/* NULL for PLAN_NO_TEXT. */
static inline const char *plan_text_or_null(const plan_file *p, uint32_t text)
{
    return text == PLAN_NO_TEXT ? NULL : plan_text(p, text);
}

/* A program with what its records point to. */
typedef struct program_view {
    const plan_file *p;
    const plan_program *r;
    const plan_arena *arenas; /* indexed by space */
    const plan_tensor *tensors;
    const plan_step *steps;
    const uint32_t *refs; /* the whole PLAN_REFS section */
} program_view;

/* `r` must lie within the file, with all its records. */
static inline program_view plan_view(const plan_file *p, const plan_program *r)
{
    return (program_view){.p = p,
                          .r = r,
                          .arenas = (const plan_arena *)p->at[PLAN_ARENAS] + r->arenas,
                          .tensors = (const plan_tensor *)p->at[PLAN_TENSORS] + r->tensors,
                          .steps = (const plan_step *)p->at[PLAN_STEPS] + r->steps,
                          .refs = p->at[PLAN_REFS]};
}

#endif
