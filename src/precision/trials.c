/* SPDX-License-Identifier: Apache-2.0 */
/* One trial of the search: the error and the cost of a set of narrow layers, and the table of the
 * sets that no other beats. */
#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "precision/precision.h"

static const char LOG_PATH[] = "precision/trials.c";

/* Keeps only sets that no other beats in both cost and error. */
static pgy_status add_point(pgy_precision *p, pgy_precision_point made, pgy_error *err)
{
    const double cost = cost_of_point(p, &made);
    size_t left = 0;
    if (isinf(made.error)) return PGY_OK;
    for (size_t i = 0; i < p->point_count; i++)
        if (cost_of_point(p, &p->points[i]) <= cost && p->points[i].error <= made.error)
            return PGY_OK;
    for (size_t i = 0; i < p->point_count; i++)
        if (cost_of_point(p, &p->points[i]) < cost || p->points[i].error < made.error)
            p->points[left++] = p->points[i];
    p->point_count = left;
    if (left == p->point_room) {
        const size_t room = 2 * left + 16;
        pgy_precision_point *more = mem_realloc(p->points, room * sizeof *more);
        if (!more) return search_no_memory(err);
        p->points = more;
        p->point_room = room;
    }
    size_t at = left;
    for (; at && cost_of_point(p, &p->points[at - 1]) > cost; at--)
        p->points[at] = p->points[at - 1];
    p->points[at] = made;
    p->point_count++;
    return PGY_OK;
}

static pgy_status measure_as(double *error, const pgy_precision *p, const level *set, size_t first,
                             size_t last, emulation as, bool keep, pgy_error *err)
{
    judge j = {.p = p};
    pgy_status st = PGY_OK;
    for (size_t s = first; !st && s < last; s++) {
        pgy_tensor_map *got = NULL;
        st = emulator_run(&got, p->emulator, s, set, as, keep, err);
        if (!st) st = judge_add(&j, s, got, err);
        pgy_tensor_map_destroy(got);
    }
    if (!st) st = judge_finish(error, &j, err);
    return cancel_check_after(st, err);
}

size_t trial_count_at(const pgy_precision *p, const level *set, level at)
{
    size_t count = 0;
    for (size_t i = 0; i < p->summary.layers; i++) count += set[i] == at;
    return count;
}

size_t trial_count(const pgy_precision *p, const level *set)
{
    return p->summary.layers - trial_count_at(p, set, LEVEL_WIDE);
}

/* The worse error of the two emulations. The second is left out if the first fails, and if all is
 * in 8 bits, because Q/DQ fix where every runtime rounds. */
pgy_status trial_measure(double *error, const pgy_precision *p, const level *set, size_t first,
                         size_t last, bool keep, pgy_error *err)
{
    double fused = 0;
    pgy_status st = measure_as(error, p, set, first, last, EMULATE_STORED, keep, err);
    const bool rounds = !p->quantizer || trial_count_at(p, set, LEVEL_REST);
    if (!st && rounds && (keep || *error <= p->summary.limit_error))
        st = measure_as(&fused, p, set, first, last, EMULATE_FUSED, keep, err);
    if (!st) *error = fmax(*error, fused);
    return st;
}

pgy_status trial_run(double *error, pgy_precision *p, const level *set, pgy_error *err)
{
    const pgy_status st = trial_measure(error, p, set, 0, search_count(p), false, err);
    if (st) return st;
    const pgy_precision_point made = {.bytes = layers_bytes(p, set),
                                      .error = *error,
                                      .narrow = trial_count(p, set),
                                      .ms = cost_ms(p, set),
                                      .rest = trial_count_at(p, set, LEVEL_REST)};
    p->summary.trials++;
    if (is_mix(p))
        LOG(VERBOSE, "Trial %zu: %zu layers in %s, %zu in %s, error %.3g", p->summary.trials,
            made.narrow - made.rest, pgy_dtype_name(p->options.type), made.rest,
            pgy_dtype_name(p->options.rest_type), *error);
    else
        LOG(VERBOSE, "Trial %zu: %zu layers in %s, error %.3g", p->summary.trials, made.narrow,
            pgy_dtype_name(p->options.type), *error);
    return add_point(p, made, err);
}

bool trial_passes(const pgy_precision *p, double error)
{
    return error <= p->summary.limit_error;
}
