/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that search the first wrong tensor. */
#ifndef WHERE_WHERE_H
#define WHERE_WHERE_H

#include <polygraphy/where.h>

#include "base/str.h"
#include "graph/graph.h"

/* ---- judge.c --------------------------------------------------------------------------------- */

enum { WHERE_MAX_WORST = 64, WHERE_WORST = 3 };

typedef struct where_verdict {
    double error, allowed; /* in units of `scale`: the largest magnitude in the reference */
    double scale;
    double largest, difference; /* magnitude in the reference, finite; largest difference */
    double rtol, atol;          /* of `allowed` */
    bool differs;
    pgy_where_element worst[WHERE_MAX_WORST]; /* the largest difference first */
    size_t worst_count;
    size_t nans;           /* elements that are NaN on either side */
    double times;          /* of the noise floor; NaN: unknown */
    pgy_dtype floor_dtype; /* NONE: the tensor has no floor, so tolerance decided */
} where_verdict;

/* What a rule judges by, besides the values. */
typedef struct where_terms {
    const pgy_where_options *options;
    const pgy_floor *floor; /* NULL: none */
    const char *name;       /* of the tensor, in the floor */
    bool own;               /* b is what the node made of the reference's values */
    bool twins; /* own, and one runner ran the same operator for a: even the rounding is alike */
} where_terms;

/* A rule that decides whether two tensors differ. A new one is a row of JUDGES. */
typedef struct where_judge {
    const char *name;
    bool needs_floor;
    pgy_status (*judge)(where_verdict *out, const where_terms *terms, pgy_tensor *a, pgy_tensor *b,
                        pgy_error *err);
} where_judge;
const where_judge *where_judge_find(const char *name); /* NULL: no such rule */
/* Adds the verdict on a slice of a tensor, whose first element has index `first` in it, to that on
 * the slices before; of rules that need no floor. A zero *io is the verdict on nothing. */
void where_verdict_add(where_verdict *io, const where_verdict *slice, uint64_t first,
                       size_t worst_count);

/* Lists the rules: "'tolerance' or 'floor'". */
void where_judge_list(str *out);

/* ---- match.c --------------------------------------------------------------------------------- */

/* A pair of tensors, with its line in the ledger. `size_bytes` is estimated from shapes; 0:
 * unknown.
 */
typedef struct where_row {
    pgy_where_tensor line;
    pgy_value *a, *b; /* NULL: the side has no graph */
    uint64_t size_bytes;
    bool is_output;
    bool inside;            /* of the body of a node */
    bool own_differs;       /* the error that the node makes is more than allowed */
    bool too_large;         /* its values exceed the memory limit, so no segment keeps it */
    bool sliced;            /* compared alone, in slices if it is too large */
    double now;             /* error in the current sample; infinity: NaN, or different shapes */
    const char *floor_name; /* in the noise floor; NULL: other_name */
    /* Inside a body: the names with the body's instead of the iteration, so that two reports with
     * different worst iterations agree: "loop_3/body/x". NULL: line.name and line.other_name */
    const char *key, *other_key;
} where_row;

static inline pgy_value *where_row_value_of_a(const where_row *r)
{
    return r->a ? r->a : r->b;
}
static inline const pgy_node *where_row_node(const where_row *r) /* NULL: unknown */
{
    return r->b ? r->b->producer : NULL;
}

typedef struct where_rows {
    where_row *items;
    size_t count, capacity;
    strmap by_a, by_b; /* name on side A or B -> where_row index + 1 */
} where_rows;

void where_rows_deinit(where_rows *rows);
where_row *where_row_of(const where_rows *rows, const pgy_value *b); /* NULL: it has none */
where_row *where_row_of_a(const where_rows *rows, const char *name);
/* Pairs the tensors of two sorted graphs, in the order of b: by name, then by structure: nodes of
 * one operator whose inputs are paired. The list `unmatched` receives outputs of b without a
 * counterpart. `a` NULL: all tensors of b pair with equal names. */
pgy_status where_match(where_rows *out, strvec *unmatched, pgy_graph *a, pgy_graph *b,
                       arena *memory, pgy_error *err) PGY_MUST_CHECK;

/* Pairs the tensors of two stored results by name, in the order of a. */
pgy_status where_match_stored(where_rows *out, strvec *unmatched, const pgy_tensor_map *a,
                              const pgy_tensor_map *b, arena *memory,
                              pgy_error *err) PGY_MUST_CHECK;

/* ---- judge_floors.c ------------------------------------------------------------------------- */

/* The noise floors of a model, for rules that need them. */
typedef struct where_floors {
    pgy_floor *all, *own; /* of tensors, and of nodes that run alone; NULL: the rule needs none */
} where_floors;

void where_floors_destroy(where_floors *f);
/* The 16-bit type that an engine may compute in, although its model declares float32; NONE: it does
 * not. */
pgy_dtype where_floor_narrow(const pgy_build_config *c);
/* The floor over all samples, as options->floor asks; `narrow` replaces float32 if that names no
 * type. own: of nodes that run alone */
pgy_status where_floor_measure(pgy_floor **out, pgy_model *model, const pgy_where_options *options,
                               pgy_dtype narrow, bool own, pgy_tensor_map *const *feeds,
                               size_t count, pgy_error *err) PGY_MUST_CHECK;

/* ---- inline.c -------------------------------------------------------------------------------- */

/* Replaces a model by one without calls of local functions, as far as they can be inlined. */
pgy_status where_inline(pgy_model **io, pgy_error *err) PGY_MUST_CHECK;

/* ---- guard.c --------------------------------------------------------------------------------- */

/* Runs a model with loops of unknown length by the reference, within the limit of steps. A runner
 * would neither stop at a limit nor hear Ctrl-C. `side`: for errors; NULL: there is one model only.
 * PGY_E_UNSUPPORTED: the limit was reached */
pgy_status where_guard(pgy_model *model, const char *side, pgy_tensor_map *const *feeds,
                       size_t count, uint64_t max_steps, pgy_error *err) PGY_MUST_CHECK;

/* ---- The report ------------------------------------------------------------------------------ */

struct pgy_where_report {
    arena memory;
    where_rows rows;
    strvec failures;
    size_t samples, batches;
    const char *a, *b; /* names of the sides */
    bool complete;     /* false: cancelled */
    /* reports of bodies, whose texts the rows borrow */
    struct pgy_where_report **inner;
    size_t inner_count, inner_capacity;
    /* after a cancelled search; releasing many samples takes longer than a caller may wait before
     * it shows the report */
    pgy_tensor_map **feeds;
    size_t feed_count;
};
/* module.c: the module path of a node, "" if it has none; NULL: out of memory. */
const char *where_module(const pgy_node *n, arena *memory);

#endif
