/* SPDX-License-Identifier: Apache-2.0 */
/* Selection: chooses a kernel for each node and a layout for each value, for all of them together.
 */
#ifndef ENGINE_SELECT_SELECT_H
#define ENGINE_SELECT_SELECT_H

#include "engine/program/build.h"
#include "engine/tactics/timing.h"

/* A place is a layout in a space, as one number; a place on the host equals its layout. Sets of
 * places are bit masks. */
enum { SELECT_LAYOUTS = KERNEL_MAX_FORMATS, SELECT_PLACES = SELECT_LAYOUTS * PROGRAM_MAX_SPACES };
_Static_assert(SELECT_PLACES <= 32, "a set of places is an unsigned of 32 bits");

static inline uint8_t select_place(kernel_layout layout, uint32_t space)
{
    return (uint8_t)(space * SELECT_LAYOUTS + layout);
}

static inline kernel_layout select_layout_of(unsigned place)
{
    return (kernel_layout)(place % SELECT_LAYOUTS);
}

static inline uint32_t select_space_of(unsigned place)
{
    return place / SELECT_LAYOUTS;
}

/* A kernel that accepts a node when its inputs are offered in this layout. */
typedef struct select_variant {
    const kernel *kernel;
    kernel_layout offered;
    uint32_t space;
    uint32_t choice;
    double estimate_ns;
    double time_ns; /* negative: not measured */
} select_variant;

/* A choice of formats: layouts and spaces of all inputs and outputs that a node can run with, and
 * the best kernel for them. */
typedef struct select_choice {
    const uint8_t *places; /* place of each input, then of each output (select_place) */
    size_t variant;        /* index of the best variant; SELECT_NONE: the reference definition, or a
                              view */
    double cost_ns;
    bool timed; /* the cost is a measured time */
    pgy_timing_key key;
} select_choice;

#define SELECT_NONE SIZE_MAX

/* What selection knows of a node, which has at least one choice of formats. */
typedef struct select_node {
    build_node *n;
    select_variant *variants;
    select_choice *choices;
    size_t variant_count, choice_count;
    uint64_t kernels;  /* hash of all kernels considered, for keys of the timing cache */
    size_t usual;      /* the variant with the lowest estimate; SELECT_NONE: no variant exists */
    uint32_t variable; /* its variable in the PBQP of layouts */
} select_node;

typedef struct selection {
    builder *b;
    arena *memory;
    select_node *nodes;
    size_t count;
    timing *timing; /* NULL: estimates only */
    cpu_level level;
    bool measured;  /* costs are measured times, of all threads together */
    double scale;   /* factor from estimated to measured times */
    strmap kernels; /* maps an operator to its kernels */
    strmap limited; /* memory that kernels need by problem, if the configuration limits it */
    uint8_t *masks; /* indexed by tensor: bit mask of the layouts in which some choice produces
                       it */
} selection;

/* Chooses kernels and layouts for all nodes, and stores kernel, problem and layouts in them. */
pgy_status select_kernels(builder *b, build_node *nodes, size_t count, arena *memory,
                          pgy_error *err) PGY_MUST_CHECK;

/* ---- variants.c ---- */
/* Fills variants and choices of a node. */
pgy_status select_gather(selection *s, select_node *n, pgy_error *err) PGY_MUST_CHECK;
/* The problem as the variant's kernel accepts it; false: it does not. */
bool select_problem(kernel_problem *out, const select_node *n, const select_variant *v);
const char *select_domain(const build_node *n); /* "" for ONNX's */
bool select_can_reorder(const kernel_tensor *t);

/* ---- times.c ---- */
/* Sets best variant and cost of every choice by estimates. */
void select_estimate(selection *s);
/* Sets them by times, from the cache or measured as the optimisation level allows. */
pgy_status select_measure(selection *s, pgy_error *err) PGY_MUST_CHECK;
/* Estimated time to move a tensor from one place to another. */
double select_reorder_ns(const selection *s, uint32_t tensor, unsigned from, unsigned to);

/* ---- layouts.c ---- */
/* Lists the sets of places that a value with several readers may have at once. `in_play` holds the
 * places in which some choice produces or reads the value. Each set is a state of the PBQP, so
 * their number is bounded: up to four places give all sets, up to eight those of at most three
 * places, more those of at most two. `needed`, the set of the first guess, is always included. This
 * gives at most 15, 93 and 529 sets. Returns the number. */
enum { SELECT_MAX_SETS = 529 };
size_t select_sets(uint32_t sets[SELECT_MAX_SETS], uint32_t in_play, uint32_t needed);
/* Finds the choices that are cheapest together, reorders included. If `guess`, `choices` holds a
 * first guess; else it is all 0. */
pgy_status select_layouts(selection *s, uint32_t *choices, bool guess,
                          pgy_error *err) PGY_MUST_CHECK;

#endif
