/* SPDX-License-Identifier: Apache-2.0 */
/* A runner made of the runners of all ranks. It is a normal backend whose "model" is the ranks,
 * which a source owns. Each inference runs every rank in a thread of its own. They share a
 * communicator; one that has failed is of no further use, so the next inference makes another. */
#include <polygraphy/communicator.h>
#include <polygraphy/runner.h>

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/str.h"

typedef struct ranks {
    pgy_backend backend; /* that of rank 0 with the functions of this file */
    size_t count;
    pgy_runner *runners[PGY_MAX_RANKS];
    strvec parts;                   /* names of outputs that may differ */
    pgy_communicator *communicator; /* NULL: none so far, or the last one failed */
    int64_t preparation_ns;
} ranks;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status rank_error(pgy_error *err, pgy_status st, size_t rank)
{
    return pgy_error_prefix(err, st, "rank %zu: ", rank);
}

/* ---- States --------------------------------------------------------------------------------- */

static pgy_status create(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err)
{
    (void)options, (void)err;
    *out = model->user;
    return PGY_OK;
}

static void deactivate(void *runner)
{
    ranks *r = runner;
    pgy_communicator_destroy(r->communicator); /* what it keeps on devices goes before the ranks */
    r->communicator = NULL;
    for (size_t i = 0; i < r->count; i++)
        if (pgy_runner_is_active(r->runners[i])) pgy_runner_deactivate(r->runners[i]);
}

/* One after the other, so that later ranks find what the first one measured. */
static pgy_status activate(void *runner, pgy_error *err)
{
    ranks *r = runner;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < r->count; i++) {
        st = pgy_runner_activate(r->runners[i], err);
        if (st) st = rank_error(err, st, i);
    }
    if (st) deactivate(r);
    return st;
}

static pgy_status copy_metadata(pgy_metadata *out, const pgy_metadata *from, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (!from) return PGY_E_UNSUPPORTED;
    for (size_t i = 0; !st && i < pgy_metadata_count(from); i++)
        st = pgy_metadata_set(out, pgy_metadata_at(from, i), err);
    return st;
}

static pgy_status inputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    const pgy_metadata *own = NULL;
    const pgy_status st = pgy_runner_inputs(&own, ((ranks *)runner)->runners[0], err);
    return st ? st : copy_metadata(out, own, err);
}

static pgy_status outputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    const pgy_metadata *own = NULL;
    const pgy_status st = pgy_runner_outputs(&own, ((ranks *)runner)->runners[0], err);
    return st ? st : copy_metadata(out, own, err);
}

static void destroy(void *runner)
{
    (void)runner; /* the source owns it */
}

static int64_t preparation_ns(const void *runner)
{
    return ((const ranks *)runner)->preparation_ns;
}

/* ---- Outputs of ranks ----------------------------------------------------------------------- */

/* The part of the largest absolute number by which floats may differ: ranks may compute what they
 * all have by other kernels. */
static double tolerance_of(pgy_dtype dtype)
{
    if (!pgy_dtype_is_float(dtype)) return 0;
    const unsigned bits = pgy_dtype_describe(dtype)->bits;
    return bits >= 64 ? 1e-10 : bits == 32 ? 1e-4 : bits == 16 ? 0.02 : 0.2;
}

static bool is_close(const double *a, const double *b, size_t count, double tolerance)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(a[i])) most = fmax(most, fabs(a[i]));
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])) &&
            !(fabs(a[i] - b[i]) <= tolerance * most))
            return false;
    return true;
}

static pgy_status compare_values(bool *equal, pgy_tensor *a, pgy_tensor *b, pgy_error *err)
{
    pgy_tensor *wide[2] = {NULL, NULL};
    const pgy_dtype dtype = pgy_tensor_dtype(a);
    *equal = dtype != PGY_STRING &&
             !memcmp(pgy_tensor_data(a), pgy_tensor_data(b), pgy_tensor_size_bytes(a));
    const double tolerance = tolerance_of(dtype);
    if (*equal || tolerance == 0) return PGY_OK;
    pgy_status st = pgy_tensor_cast(&wide[0], pgy_tensor_view(a), PGY_F64, err);
    if (!st) st = pgy_tensor_cast(&wide[1], pgy_tensor_view(b), PGY_F64, err);
    if (!st)
        *equal = is_close(pgy_tensor_data(wide[0]), pgy_tensor_data(wide[1]),
                          pgy_tensor_count(wide[0]), tolerance);
    pgy_tensor_release(wide[0]);
    pgy_tensor_release(wide[1]);
    return st;
}

static bool same_form(const pgy_tensor *a, const pgy_tensor *b)
{
    const size_t rank = pgy_tensor_rank(a);
    return pgy_tensor_dtype(a) == pgy_tensor_dtype(b) && rank == pgy_tensor_rank(b) &&
           (!rank || !memcmp(pgy_tensor_shape(a), pgy_tensor_shape(b), rank * sizeof(int64_t)));
}

static bool is_part(const ranks *r, const char *name)
{
    for (size_t i = 0; i < r->parts.count; i++)
        if (!strcmp(r->parts.items[i], name)) return true;
    return false;
}

static pgy_status compare_rank(const ranks *r, const pgy_tensor_map *first,
                               const pgy_tensor_map *own, size_t rank, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(first); i++) {
        const char *name = pgy_tensor_map_name(first, i);
        pgy_tensor *a = pgy_tensor_map_at(first, i), *b = pgy_tensor_map_find(own, name);
        bool equal = false;
        if (is_part(r, name)) continue;
        if (a && b && same_form(a, b)) st = compare_values(&equal, a, b, err);
        if (!st && !equal && (a || b))
            st = pgy_error_set(err, PGY_E_BACKEND,
                               "output '%s' of rank %zu differs from that of rank 0, although all "
                               "ranks should have the whole of it",
                               name, rank);
    }
    return st;
}

/* ---- Inference ------------------------------------------------------------------------------ */

typedef struct job {
    ranks *r;
    size_t rank;
    const pgy_tensor_map *feed;
    pgy_tensor_map *outputs;
    pgy_status status;
    pgy_error error;
    pthread_t thread;
} job;

static void *run_rank(void *user)
{
    job *j = user;
    pgy_communicator *c = j->r->communicator;
    j->status = pgy_communicator_enter(c, (int64_t)j->rank, &j->error);
    if (!j->status)
        j->status = pgy_runner_infer(&j->outputs, j->r->runners[j->rank], j->feed, &j->error);
    if (j->status) {
        (void)rank_error(&j->error, j->status, j->rank);
        pgy_communicator_fail(c, j->error.text);
    }
    pgy_communicator_leave();
    return NULL;
}

/* Runs all ranks. Ranks whose thread cannot be started make the others fail. */
static void run_all(ranks *r, job *jobs)
{
    size_t started = 0;
    for (; started < r->count; started++)
        if (pthread_create(&jobs[started].thread, NULL, run_rank, &jobs[started])) break;
    for (size_t i = started; i < r->count; i++)
        jobs[i].status = pgy_error_set(&jobs[i].error, PGY_E_MEMORY, "a thread cannot be started");
    if (started < r->count) pgy_communicator_fail(r->communicator, "a thread cannot be started");
    for (size_t i = 0; i < started; i++) pthread_join(jobs[i].thread, NULL);
}

/* The first failure is the cause; the others follow from it. */
static pgy_status tell_failure(ranks *r, const job *jobs, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const char *why = pgy_communicator_failure(r->communicator);
    size_t which = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (!jobs[i].status) continue;
        const bool cause = why && !strcmp(why, jobs[i].error.text);
        if (!st || cause) which = i;
        st = jobs[which].status;
        if (cause) break;
    }
    if (!st) return PGY_OK;
    pgy_error_set(err, st, "%s", jobs[which].error.text);
    pgy_communicator_destroy(r->communicator);
    r->communicator = NULL;
    return cancel_check_after(st, err);
}

static pgy_status infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out,
                        int64_t *time_ns, pgy_error *err)
{
    ranks *r = runner;
    job *jobs = mem_calloc(r->count, sizeof *jobs);
    pgy_status st = jobs ? PGY_OK : no_memory(err);
    if (!st && !r->communicator)
        st = pgy_communicator_create(&r->communicator, (int64_t)r->count, err);
    if (st) goto done;
    for (size_t i = 0; i < r->count; i++) jobs[i] = (job){.r = r, .rank = i, .feed = feed};
    run_all(r, jobs);
    st = tell_failure(r, jobs, err);
    for (size_t i = 1; !st && i < r->count; i++)
        st = compare_rank(r, jobs[0].outputs, jobs[i].outputs, i, err);
    if (st) goto done;
    r->preparation_ns = 0;
    for (size_t i = 0; i < r->count; i++) {
        const int64_t time = pgy_runner_last_time_ns(r->runners[i]);
        const int64_t preparation = pgy_runner_last_preparation_ns(r->runners[i]);
        if (time > *time_ns) *time_ns = time;
        if (preparation > r->preparation_ns) r->preparation_ns = preparation;
    }
    for (size_t i = 0; !st && i < pgy_tensor_map_count(jobs[0].outputs); i++)
        st = pgy_tensor_map_set(out, pgy_tensor_map_name(jobs[0].outputs, i),
                                pgy_tensor_map_at(jobs[0].outputs, i), err);
done:
    for (size_t i = 0; jobs && i < r->count; i++) pgy_tensor_map_destroy(jobs[i].outputs);
    mem_free(jobs);
    return st;
}

/* ---- Making one ----------------------------------------------------------------------------- */

static pgy_status source_open(pgy_backend_model *out, void *user, pgy_error *err)
{
    (void)err;
    out->user = user;
    return PGY_OK;
}

static void source_destroy(void *user)
{
    ranks *r = user;
    pgy_communicator_destroy(r->communicator);
    for (size_t i = 0; i < r->count; i++) pgy_runner_destroy(r->runners[i]);
    strvec_deinit(&r->parts);
    mem_free(r);
}

static pgy_status check(pgy_runner *const *runners, size_t count, pgy_error *err)
{
    if (!count || count > PGY_MAX_RANKS)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%zu ranks; expected 1 to %d", count,
                             PGY_MAX_RANKS);
    for (size_t i = 0; i < count; i++)
        if (!pgy_backend_has(pgy_runner_backend(runners[i]), PGY_BACKEND_RUNS_RANKS))
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "runtime '%s' cannot run the ranks of a divided model",
                                 pgy_runner_backend(runners[i])->name);
    return PGY_OK;
}

/* Of the members of rank 0's backend only those that describe it stay. */
static pgy_backend backend_like(const pgy_backend *b)
{
    return (pgy_backend){.size = sizeof(pgy_backend),
                         .abi = PGY_BACKEND_ABI,
                         .name = b->name,
                         .runner_prefix = b->runner_prefix,
                         .title = b->title,
                         .create = create,
                         .activate = activate,
                         .inputs = inputs,
                         .outputs = outputs,
                         .infer = infer,
                         .deactivate = deactivate,
                         .destroy = destroy,
                         .preparation_ns = preparation_ns};
}

pgy_status pgy_runner_create_ranks(pgy_runner **out, pgy_runner *const *runners, size_t count,
                                   const char *const *parts, size_t part_count, pgy_error *err)
{
    pgy_status st = check(runners, count, err);
    ranks *r = st ? NULL : mem_calloc(1, sizeof *r);
    if (!st && !r) st = no_memory(err);
    if (st) {
        for (size_t i = 0; i < count; i++) pgy_runner_destroy(runners[i]);
        return st;
    }
    r->count = count;
    memcpy(r->runners, runners, count * sizeof *runners);
    r->backend = backend_like(pgy_runner_backend(runners[0]));
    for (size_t i = 0; !st && i < part_count; i++)
        if (!strvec_push(&r->parts, parts[i])) st = no_memory(err);
    if (st) {
        source_destroy(r);
        return st;
    }
    pgy_model_source source = {.open = source_open, .destroy = source_destroy, .user = r};
    return pgy_runner_create(out, &r->backend, &source, NULL, pgy_runner_name(runners[0]), err);
}
