/* SPDX-License-Identifier: Apache-2.0 */
/* Plan files: a program with the graph it came from, mapped and used in place. docs/engine.md. */
#ifndef ENGINE_PLAN_PLAN_H
#define ENGINE_PLAN_PLAN_H

#include "engine/build/profile.h"
#include "engine/plan/format.h"
#include "engine/program/program.h"

/* The contents of a plan file. */
typedef struct plan_source {
    const char *name; /* of the graph */
    const program *const *programs;
    size_t program_count;
    const uint32_t *profile_programs; /* indexed by profile: its program's index; PLAN_NO_PROGRAM:
                                         the graph is interpreted */
    const profile_set *profiles;
    const pgy_build_config *config;
    pgy_model *model;     /* the graph that the programs were built from, exported */
    packed_table *packed; /* of the programs; NULL: none */
    pgy_model *original;  /* the model before all passes; NULL: the engine cannot be refitted */
    bool whole;           /* `model` keeps all its weights, so other shapes can be built */
    bool stripped; /* leave out the weights that a refit supplies, and all data derived from them */
    const pgy_metadata *inputs, *outputs; /* types and shapes that the model declares */
    uint64_t model_hash;                  /* hash of the model's file; 0: not known */
} plan_source;

/* The same source gives the same bytes. The file appears whole or not at all. */
pgy_status plan_write(const char *path, const plan_source *s, pgy_error *err) PGY_MUST_CHECK;
/* The same bytes in memory (mem_alloc). */
pgy_status plan_serialize(void **out, size_t *size_bytes, const plan_source *s,
                          pgy_error *err) PGY_MUST_CHECK;

typedef struct plan_info {
    const char *name, *library;
    uint64_t model_hash, file_bytes;
    uint32_t needs; /* cpu_level that the kernels need; a newer library's level may be unknown
                       here */
    uint32_t flags; /* PLAN_REFITTABLE ... */
    size_t profile_count, program_count;
    uint64_t constant_bytes;
} plan_info;

typedef struct plan_file plan_file;

/* Do the bytes start like a plan? */
bool plan_is_plan(const void *data, size_t size_bytes);
bool plan_is_plan_file(const char *path);
/* Maps a plan file. Checks everything but the elements of weights, and proves that no step can
 * leave its tensors. */
pgy_status plan_open(plan_file **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* Like plan_open, for bytes at a multiple of 64 that outlive the plan. `trusted` skips the hashes,
 * but no other check. */
pgy_status plan_parse(plan_file **out, const void *data, size_t size_bytes, bool trusted,
                      pgy_error *err) PGY_MUST_CHECK;
/* Checks also the hashes of the large sections, which plan_open skips. */
pgy_status plan_verify(const plan_file *p, pgy_error *err) PGY_MUST_CHECK;
void plan_close(plan_file *p);
/* Brings the mapped weights into memory at once, so that the first run need not fault them in. */
void plan_prefetch(const plan_file *p);

const plan_info *plan_describe(const plan_file *p);
const char *plan_level_name(uint32_t level); /* name of an instruction-set level */
pgy_status plan_metadata(pgy_metadata **out, const plan_file *p, bool outputs,
                         pgy_error *err) PGY_MUST_CHECK;
/* The configuration that the plan stores, in `memory`; its texts belong to the plan. */
pgy_status plan_config(pgy_build_config **out, const plan_file *p, arena *memory,
                       pgy_error *err) PGY_MUST_CHECK;
pgy_status plan_profiles(profile_set **out, const plan_file *p, const pgy_metadata *inputs,
                         pgy_error *err) PGY_MUST_CHECK;
/* Returns the index of a profile's program; PLAN_NO_PROGRAM: the graph is interpreted for it. */
uint32_t plan_profile_program(const plan_file *p, size_t profile);

/* Makes a program over the mapped bytes; the file must outlive it. `runnable` false: the program
 * can only be inspected, and its steps have no kernels. PGY_E_UNSUPPORTED: processor or memory do
 * not suffice; PGY_E_NOT_FOUND: it needs a kernel that this library lacks. */
pgy_status plan_program_at(program **out, const plan_file *p, size_t i, bool runnable,
                           pgy_error *err) PGY_MUST_CHECK;
/* Returns the name of a step's kernel; NULL: the reference definition runs. */
const char *plan_kernel_name(const plan_file *p, size_t index, size_t step);
/* The kernel of a step; NULL: the reference definition, or a kernel that this library lacks. */
const kernel *plan_step_kernel(const plan_file *p, size_t index, size_t step);
/* Types and shapes of a program's inputs, in order. */
pgy_status plan_program_inputs(pgy_metadata **out, const program *p, pgy_error *err) PGY_MUST_CHECK;
/* The stored graph, with shapes inferred as declared. Weights that the plan has packed go into the
 * table, which may be NULL. The file must outlive both. */
pgy_status plan_graph(pgy_graph **out, const plan_file *p, packed_table *packed,
                      pgy_error *err) PGY_MUST_CHECK;
/* The model that a refit starts from; the file must outlive it. It may lack weights. *out NULL: the
 * plan stores none. */
pgy_status plan_original(pgy_model **out, const plan_file *p, pgy_error *err) PGY_MUST_CHECK;
/* Does some step need its node of the stored graph? If so, read the graph and call plan_bind. */
bool plan_needs_nodes(const program *p);
pgy_status plan_bind(program *p, const plan_file *file, size_t index, pgy_graph *g,
                     pgy_error *err) PGY_MUST_CHECK;

#endif
