/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/fake_split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/tactics/replay.h"
#include "harness/fake_kernels.h"
#include "harness/random_network.h"
#include "harness/test_folder.h"

static const char *const NAMES[FAKE_SPLIT_DEVICES] = {"fake:0", "fake:1"};

static void demand(pgy_status st, const pgy_error *err)
{
    if (!st) return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

/* ---- Models --------------------------------------------------------------------------------- */

static void fill(byte_source *source, pgy_tensor *t)
{
    const pgy_dtype dtype = pgy_tensor_dtype(t);
    const size_t count = pgy_tensor_count(t);
    memset(pgy_tensor_data(t), 0, pgy_tensor_size_bytes(t));
    if (dtype == PGY_F32) byte_source_fill(source, t);
    for (size_t i = 0; i < count; i++) {
        const uint32_t drawn = byte_source_below(source, 1000);
        if (dtype == PGY_F64) ((double *)pgy_tensor_data(t))[i] = drawn / 500.0 - 1;
        if (dtype == PGY_I64) ((int64_t *)pgy_tensor_data(t))[i] = 1;
        if (dtype == PGY_I32) ((int32_t *)pgy_tensor_data(t))[i] = 1;
        if (dtype == PGY_BOOL) ((bool *)pgy_tensor_data(t))[i] = drawn & 1;
    }
}

static pgy_tensor_map *make_feed(const pgy_metadata *inputs, uint64_t seed)
{
    byte_source source = {.state = seed};
    pgy_tensor_map *feed = NULL;
    pgy_error err = {0};
    demand(pgy_tensor_map_create(&feed, &err), &err);
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        int64_t shape[PGY_MAX_RANK];
        pgy_tensor *t = NULL;
        for (int32_t d = 0; d < info->rank; d++)
            shape[d] = info->shape[d] >= 0 ? info->shape[d] : d ? 3 : 2;
        demand(pgy_tensor_create(&t, info->dtype, (size_t)info->rank, shape, &err), &err);
        fill(&source, t);
        demand(pgy_tensor_map_adopt(feed, info->name, t, &err), &err);
    }
    return feed;
}

bool fake_split_open(fake_split_model *out, pgy_model *model)
{
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .has_optimization_level = true,
                                     .optimization_level = 0};
    context *c = NULL;
    pgy_error err = {0};
    *out = (fake_split_model){.model = model};
    demand(engine_build(&out->host, model, &config, &err), &err);
    out->feed = make_feed(engine_inputs(out->host), 1);
    out->before = make_feed(engine_inputs(out->host), 2);
    demand(pgy_tensor_map_create(&out->wanted, &err), &err);
    demand(context_create(&c, out->host, 1, &err), &err);
    demand(context_run(c, out->feed, out->wanted, NULL, &err), &err);
    if (context_program(c)) out->program = program_retain((program *)context_program(c));
    context_destroy(c);
    return out->program != NULL;
}

void fake_split_close(fake_split_model *m)
{
    program_release(m->program);
    engine_release(m->host);
    pgy_tensor_map_destroy(m->feed);
    pgy_tensor_map_destroy(m->before);
    pgy_tensor_map_destroy(m->wanted);
    pgy_model_destroy(m->model);
}

/* ---- Splits --------------------------------------------------------------------------------- */

fake_split fake_split_draw(uint64_t seed)
{
    static const uint32_t SHARES[] = {20, 50, 80, 100};
    byte_source source = {.state = seed};
    fake_split s = {.seed = seed};
    s.share = SHARES[byte_source_below(&source, 4)];
    s.devices = 1 + byte_source_below(&source, FAKE_SPLIT_DEVICES);
    s.schedule = byte_source_below(&source, 2) ? FAKE_MIXED : FAKE_LATE;
    return s;
}

static uint64_t draw_for(const fake_split *s, const char *label, uint64_t what)
{
    return hash_xxh64(label, strlen(label), hash_xxh64(&what, sizeof what, s->seed));
}

/* A random cost per node and device, so that with two devices both get nodes. */
static double cost_of(const kernel_problem *u, void *user)
{
    return 1 + (double)(draw_for(user, u->node->name, 1 + u->space) % 1000);
}

static bool is_label_of_others(const program *p, size_t step)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (i != step && strcmp(p->steps[i].label, p->steps[step].label) == 0) return true;
    return false;
}

/* Writes a tactic replay with the host program's kernels, some of them replaced by their fake
 * counterparts. */
static void save_tactics(const fake_split *s, const fake_split_model *m, const char *path)
{
    program other = *m->program;
    pgy_error err = {0};
    other.steps = mem_alloc(other.step_count * sizeof *other.steps);
    if (!other.steps) abort();
    memcpy(other.steps, m->program->steps, other.step_count * sizeof *other.steps);
    for (size_t i = 0; i < other.step_count; i++) {
        program_step *step = &other.steps[i];
        const kernel *k = step->kernel ? fake_kernel_of(step->kernel) : NULL;
        if (k && draw_for(s, step->label, 0) % 100 < s->share && !is_label_of_others(&other, i))
            step->kernel = k;
    }
    demand(tactics_save(path, &other, NULL, &err), &err);
    mem_free(other.steps);
}

program *fake_split_program(const fake_split *s, const fake_split_model *m)
{
    program *p = NULL;
    pgy_metadata *shapes = NULL;
    bool made;
    pgy_error err = {0};
    demand(pgy_metadata_from_map(&shapes, m->feed, &err), &err);
    demand(engine_program(&p, &made, s->engine, shapes, &err), &err);
    pgy_metadata_destroy(shapes);
    return p;
}

void fake_split_build(fake_split *s, const fake_split_model *m)
{
    char path[TEST_PATH_SIZE];
    pgy_error err = {0};
    test_path(path, "fake_split_XXXXXX");
    const int file = mkstemp(path);
    if (file < 0) abort();
    close(file);
    for (size_t i = 0; i < s->devices; i++) {
        s->made[i] = fake_device_create(NAMES[i], s->schedule, s->seed);
        demand(device_register(s->made[i], &err), &err);
    }
    fake_kernels_offer(cost_of, s);
    save_tactics(s, m, path);
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = 1,
                                     .has_optimization_level = true,
                                     .optimization_level = 0,
                                     .load_tactics = path,
                                     .devices = {.items = NAMES, .count = s->devices}};
    demand(engine_build(&s->engine, m->model, &config, &err), &err);
    program_release(fake_split_program(s, m));
    remove(path);
}

void fake_split_describe(char *out, size_t size, const fake_split *s, const fake_split_model *m)
{
    int at = snprintf(out, size, "draw %d: %zu devices, %d of 100 nodes there, work runs %s\n",
                      (int)s->seed, s->devices, (int)s->share,
                      s->schedule == FAKE_LATE ? "late" : "ahead now and then");
    program *p = s->engine ? fake_split_program(s, m) : NULL;
    for (size_t i = 0; p && i < p->step_count && (size_t)at < size; i++) {
        const program_step *step = &p->steps[i];
        if (step->act != PROGRAM_RUN) continue;
        at += snprintf(out + at, size - (size_t)at, "    %s '%s': %s on %s\n", step->op_type,
                       step->label, step->kernel ? step->kernel->name : "definition",
                       p->spaces[step->space].name);
    }
    program_release(p);
}

void fake_split_destroy(fake_split *s)
{
    engine_release(s->engine);
    fake_kernels_withdraw();
    for (size_t i = 0; i < s->devices; i++) {
        device_withdraw(s->made[i]);
        fake_device_destroy(s->made[i]);
    }
}

static const char *find_difference(const pgy_tensor_map *a, const pgy_tensor_map *b)
{
    for (size_t i = 0; i < pgy_tensor_map_count(b); i++) {
        const pgy_tensor *x = pgy_tensor_map_at(a, i), *y = pgy_tensor_map_at(b, i);
        if (pgy_tensor_size_bytes(x) != pgy_tensor_size_bytes(y) ||
            memcmp(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(y)))
            return pgy_tensor_map_name(b, i);
    }
    return NULL;
}

/* Poisons the outputs before freeing them, so that a later run cannot find correct results in
 * reused memory. */
static void discard(pgy_tensor_map *out)
{
    for (size_t i = 0; i < pgy_tensor_map_count(out); i++) {
        pgy_tensor *t = pgy_tensor_map_at(out, i);
        fake_poison(pgy_tensor_data(t), pgy_tensor_size_bytes(t));
    }
    pgy_tensor_map_destroy(out);
}

const char *fake_split_run_before(const fake_split_model *m, context *c)
{
    static pgy_error err;
    pgy_tensor_map *out = NULL;
    demand(pgy_tensor_map_create(&out, &err), &err);
    const pgy_status st = context_run(c, m->before, out, NULL, &err);
    discard(out);
    return st ? err.text : NULL;
}

const char *fake_split_differs(const fake_split_model *m, context *c)
{
    static pgy_error err;
    pgy_tensor_map *out = NULL;
    const char *found = fake_split_run_before(m, c);
    if (found) return found;
    demand(pgy_tensor_map_create(&out, &err), &err);
    found = context_run(c, m->feed, out, NULL, &err) ? err.text : find_difference(out, m->wanted);
    discard(out);
    return found;
}

size_t fake_split_steps(const program *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->step_count; i++)
        count += p->steps[i].act == PROGRAM_RUN && p->steps[i].space;
    return count;
}
