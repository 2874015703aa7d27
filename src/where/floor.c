/* SPDX-License-Identifier: Apache-2.0 */
/* One walk computes each node exactly, then once per draw with that draw's operands and random
 * rounding errors, and compares. Nodes with subgraphs run as a whole: first exactly, keeping the
 * values inside as far as memory allows, then per draw. If the draws' values together exceed the
 * limit, the walk is repeated with fewer draws at a time; the first walk has one draw and finds the
 * number. */
#include <polygraphy/noise.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/sized.h"
#include "where/floor_run.h"

static const char LOG_PATH[] = "where/floor.c";

enum { DEFAULT_DRAWS = 16, MAX_DRAWS = 4096 };

static pgy_status run_node(pgy_node *n, const op_node *node, const op_tensor *inputs,
                           op_tensor *outputs, const bool *wanted, const op_host *host, void *user,
                           pgy_error *err)
{
    pgy_floor *f = user;
    if (f->mode != FLOOR_MODE_ALL)
        return floor_run_inner(f, n, node, inputs, outputs, wanted, host, err);
    return floor_run_all(f, n, node, inputs, outputs, wanted, host, err);
}

static pgy_status starts(pgy_node *n, void *user, pgy_error *err)
{
    pgy_floor *f = user;
    return noise_walk_starts(&f->walk, n, err);
}

static pgy_status ran(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                      pgy_error *err)
{
    pgy_floor *f = user;
    (void)n, (void)inputs, (void)outputs, (void)err;
    noise_walk_ran(&f->walk);
    return PGY_OK;
}

/* ---- The floor ------------------------------------------------------------------------------ */

pgy_status pgy_floor_create(pgy_floor **out, pgy_model *model, const pgy_floor_options *options,
                            pgy_error *err)
{
    pgy_floor_options o = {0};
    pgy_status st = SIZED_TAKE(pgy_floor_options, &o, options, err);
    if (!st) st = noise_check_type(o.assume, "floor_options.assume", err);
    if (!st) st = noise_check_type(o.sums, "floor_options.sums", err);
    if (!st && o.draws > MAX_DRAWS)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "floor_options.draws is %u; expected 0 to %d",
                           o.draws, MAX_DRAWS);
    if (st) return st;
    if (!o.draws) o.draws = DEFAULT_DRAWS;
    pgy_floor *f = mem_calloc(1, sizeof *f);
    if (!f) return graph_no_memory(err);
    f->options = o;
    st = floor_draws_init(&f->draws) ? PGY_OK : graph_no_memory(err);
    if (!st) st = noise_walk_init(&f->walk, model, err);
    f->walk.max_steps = o.max_steps;
    f->walk.limit = "floor_options.max_steps";
    if (st)
        pgy_floor_destroy(f);
    else
        *out = f;
    return st;
}

void pgy_floor_destroy(pgy_floor *f)
{
    if (!f) return;
    noise_walk_deinit(&f->walk);
    floor_draws_deinit(&f->draws);
    floor_forget_inner(f);
    mem_free(f->inner);
    strmap_deinit(&f->rows);
    arena_deinit(&f->memory);
    mem_free(f);
}

static uint32_t draws_that_fit(const pgy_floor *f, uint32_t left)
{
    const uint64_t bytes = f->draws.peak_bytes / f->count;
    const uint64_t fit = bytes ? floor_limit(f) / bytes : left;
    return fit >= left ? left : fit ? (uint32_t)fit : 1;
}

static void publish(pgy_floor *f)
{
    for (size_t i = 0; i < f->rows.count; i++) {
        floor_row *r = f->rows.entries[i].value;
        r->shown.rms = r->finite ? sqrt(r->squares / (double)r->finite) : 0;
        r->shown.value_rms = r->values ? sqrt(r->value_squares / (double)r->values) : 0;
    }
}

pgy_status pgy_floor_add(pgy_floor *f, const pgy_tensor_map *feed, pgy_error *err)
{
    const execute_operators operators = {.run = run_node, .user = f, .storage = true};
    const execute_watch watch = {.ran = ran, .user = f, .starts = starts};
    pgy_status st = PGY_OK;
    progress_begin("Sampling rounding errors", f->options.draws);
    for (f->first = 0, f->count = 1; !st && f->first < f->options.draws;) {
        f->step = 0;
        f->draws.peak_bytes = 0;
        st = noise_walk_run(&f->walk, feed, false, f->count + 1, &operators, &watch, err);
        floor_forget_inner(f);
        f->first += f->count;
        progress_advance(f->first);
        if (!st && f->first < f->options.draws) {
            f->count = draws_that_fit(f, f->options.draws - f->first);
            LOG(VERBOSE, "%u of %u draws run together", f->count, f->options.draws);
        }
    }
    progress_end();
    f->sample++;
    publish(f);
    return st;
}

size_t pgy_floor_count(const pgy_floor *f)
{
    return f->rows.count;
}

const pgy_floor_tensor *pgy_floor_at(const pgy_floor *f, size_t i)
{
    const floor_row *r = i < f->rows.count ? f->rows.entries[i].value : NULL;
    return r ? &r->shown : NULL;
}

/* Removes every "iter_12/" of a path. */
static void without_iterations(str *out, const char *path)
{
    for (const char *at = path; *at;) {
        const size_t digits = strncmp(at, "iter_", 5) ? 0 : strspn(at + 5, "0123456789");
        if ((at == path || at[-1] == '/') && digits && at[5 + digits] == '/')
            at += 6 + digits;
        else
            str_append_char(out, *at++);
    }
}

const pgy_floor_tensor *pgy_floor_find(const pgy_floor *f, const char *name)
{
    str plain = {0};
    const floor_row *r = strmap_get(&f->rows, name);
    if (!r) {
        without_iterations(&plain, name);
        r = plain.failed ? NULL : strmap_get(&f->rows, str_text(&plain));
        str_deinit(&plain);
    }
    return r ? &r->shown : NULL;
}
