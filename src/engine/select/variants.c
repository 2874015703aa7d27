/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the ways to run a node: asks every kernel of its operator for each layout that the inputs
 * may have. Answers with the same layouts are one choice of formats. A tactic replay keeps only
 * what it names.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "engine/select/select.h"

static const char LOG_PATH[] = "engine/select/variants.c";

static const double REFERENCE_NS = 20; /* ns per element: so slow that every kernel wins */

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while kernels are chosen");
}

const char *select_domain(const build_node *n)
{
    return domain_is_default(n->node->domain) ? "" : n->node->domain;
}

bool select_can_reorder(const kernel_tensor *t)
{
    return t->dtype && !t->data && t->rank >= 2 && pgy_dtype_describe(t->dtype)->bits % 8 == 0;
}

/* ---- Kernels of an operator ----------------------------------------------------------------- */

typedef struct kernel_list {
    const kernel **items;
    size_t count;
    uint64_t hash;
} kernel_list;

static bool is_on(const selection *s, const kernel *k, uint32_t space)
{
    const program_space *at = &s->b->p->spaces[space];
    return space ? k->device && strcmp(k->device, at->device->kind) == 0 : !k->device;
}

static bool has_device(const selection *s, const kernel *k)
{
    for (uint32_t space = 0; space < s->b->p->space_count; space++)
        if (is_on(s, k, space)) return true;
    return false;
}

static bool fill_list(kernel_list *list, selection *s, const char *domain, const char *op)
{
    const kernel *k;
    size_t all = 0;
    while (kernel_for(domain, op, all)) all++;
    list->items = arena_alloc_array(s->memory, all + 1, sizeof *list->items);
    if (!list->items) return false;
    for (size_t i = 0; (k = kernel_for(domain, op, i)); i++) {
        const uint64_t hashed = timing_tactic_of(k);
        if (k->needs > s->level || !has_device(s, k)) continue;
        list->items[list->count++] = k;
        list->hash = hash_xxh64(&hashed, sizeof hashed, list->hash);
        for (uint32_t space = 1; space < s->b->p->space_count; space++) {
            const char *mark = s->b->p->spaces[space].fingerprint;
            if (is_on(s, k, space)) list->hash = hash_xxh64(mark, strlen(mark), list->hash);
        }
    }
    return true;
}

/* The table is searched once per operator. */
static const kernel_list *kernels_of(selection *s, const build_node *n)
{
    const char *domain = select_domain(n), *op = n->node->op_type;
    str key = {0};
    str_printf(&key, "%s:%s", domain, op);
    kernel_list *list = key.failed ? NULL : strmap_get(&s->kernels, str_text(&key));
    if (!list && !key.failed) {
        list = arena_alloc(s->memory, sizeof *list);
        if (list &&
            (!fill_list(list, s, domain, op) || !strmap_put(&s->kernels, str_text(&key), list)))
            list = NULL;
    }
    str_deinit(&key);
    return list;
}

/* ---- Limits --------------------------------------------------------------------------------- */

/* Does the kernel need more memory than allowed? Only preparing tells, so the answer is cached. */
static bool is_too_large(selection *s, const select_node *n, const kernel *k,
                         const kernel_problem *problem)
{
    const pgy_build_config *config = s->b->options->config;
    const size_t threads = s->b->options->threads ? s->b->options->threads : cpu_count();
    pgy_timing_key key;
    str name = {0};
    if (!config->has_workspace_limit) return false;
    const timing nowhere = {.threads = threads};
    if (!timing_key(&key, s->timing ? s->timing : &nowhere, problem, select_domain(n->n),
                    n->n->node->op_type, n->kernels))
        return false;
    for (size_t i = 0; i < sizeof key.bytes; i++) str_printf(&name, "%02x", key.bytes[i]);
    str_printf(&name, "%s", k->name);
    const char *known = strmap_get(&s->limited, str_text(&name));
    if (!known) {
        kernel_plan plan = {0};
        known = "fits";
        if (!kernel_prepare(&plan, k, problem, NULL)) {
            if (plan.workspace_bytes + plan.scratch_bytes * threads > config->workspace_bytes)
                known = "too large";
            kernel_plan_deinit(&plan);
        }
        if (!strmap_put(&s->limited, str_text(&name), (void *)known)) known = "fits";
    }
    str_deinit(&name);
    return known[0] == 't';
}

/* ---- Variants ------------------------------------------------------------------------------- */

/* Constants must stay linear, and so must tensors that cannot be reordered. */
static bool is_possible(const kernel_problem *wanted)
{
    for (size_t i = 0; i < wanted->input_count; i++)
        if (wanted->inputs[i].layout != KERNEL_LINEAR && !select_can_reorder(&wanted->inputs[i]))
            return false;
    return true;
}

static void offer(kernel_problem *problem, const kernel_problem *linear, kernel_layout layout)
{
    *problem = *linear;
    for (size_t i = 0; i < problem->input_count; i++)
        if (select_can_reorder(&problem->inputs[i])) problem->inputs[i].layout = layout;
}

bool select_problem(kernel_problem *out, const select_node *n, const select_variant *v)
{
    double cost;
    offer(out, &n->n->problem, v->offered);
    out->space = v->space;
    return kernel_accept(v->kernel, out, &cost);
}

static uint8_t place_of(const kernel_tensor *t)
{
    return select_place(t->layout, t->space);
}

static bool has_places(const select_choice *f, const kernel_problem *problem)
{
    for (size_t i = 0; i < problem->input_count; i++)
        if (f->places[i] != place_of(&problem->inputs[i])) return false;
    for (size_t i = 0; i < problem->output_count; i++)
        if (f->places[problem->input_count + i] != place_of(&problem->outputs[i])) return false;
    return true;
}

/* Finds the node's choice with these layouts, or makes it. NULL: out of memory. */
static select_choice *choice_of(selection *s, select_node *n, const kernel_problem *problem)
{
    for (size_t i = 0; i < n->choice_count; i++)
        if (has_places(&n->choices[i], problem)) return &n->choices[i];
    uint8_t *places =
        arena_alloc_array(s->memory, problem->input_count + problem->output_count + 1, 1);
    if (!places) return NULL;
    for (size_t i = 0; i < problem->input_count; i++) places[i] = place_of(&problem->inputs[i]);
    for (size_t i = 0; i < problem->output_count; i++)
        places[problem->input_count + i] = place_of(&problem->outputs[i]);
    select_choice *f = &n->choices[n->choice_count++];
    *f = (select_choice){.places = places, .variant = SELECT_NONE};
    return f;
}

static bool is_there(const select_node *n, const kernel *k, uint32_t choice, uint32_t space)
{
    for (size_t i = 0; i < n->variant_count; i++)
        if (n->variants[i].kernel == k && n->variants[i].choice == choice &&
            n->variants[i].space == space)
            return true;
    return false;
}

/* Asks kernel k for a variant whose inputs have the offered layout. False: out of memory. */
static bool ask(selection *s, select_node *n, const kernel *k, kernel_layout offered,
                uint32_t space)
{
    kernel_problem problem;
    double cost = 0;
    offer(&problem, &n->n->problem, offered);
    problem.space = space;
    if (!kernel_accept(k, &problem, &cost) || !is_possible(&problem) ||
        is_too_large(s, n, k, &problem))
        return true;
    const select_choice *f = choice_of(s, n, &problem);
    if (!f) return false;
    const uint32_t choice = (uint32_t)(f - n->choices);
    if (is_there(n, k, choice, space)) return true;
    n->variants[n->variant_count++] = (select_variant){.kernel = k,
                                                       .offered = offered,
                                                       .space = space,
                                                       .choice = choice,
                                                       .estimate_ns = cost,
                                                       .time_ns = -1};
    return true;
}

/* The set of layouts in which the node's inputs may be offered to kernels. */
static uint8_t offered_layouts(const selection *s, const build_node *n)
{
    uint8_t mask = 1 << KERNEL_LINEAR;
    for (size_t i = 0; i < n->problem.input_count; i++)
        if (select_can_reorder(&n->problem.inputs[i])) mask |= s->masks[n->tensors[i]];
    return mask;
}

static bool ask_all(selection *s, select_node *n, const kernel_list *list)
{
    const uint8_t mask = offered_layouts(s, n->n);
    const uint32_t spaces = s->b->p->space_count;
    for (unsigned place = 0; place < SELECT_LAYOUTS * spaces; place++) {
        const uint32_t space = select_space_of(place);
        const kernel_layout layout = select_layout_of(place);
        if (!space && layout == KERNEL_CHANNELS_LAST) continue; /* kernels of devices only */
        for (size_t i = 0; (mask >> layout & 1) && i < list->count; i++)
            if (is_on(s, list->items[i], space) && !ask(s, n, list->items[i], layout, space))
                return false;
    }
    return true;
}

/* ---- Replays -------------------------------------------------------------------------------- */

/* Lists block sizes as a replay does, of all tensors that are not constants. */
static size_t blocks_of(uint32_t *out, const select_node *n, const select_variant *v, bool outputs)
{
    const kernel_problem *problem = &n->n->problem;
    const uint8_t *places = n->choices[v->choice].places + (outputs ? problem->input_count : 0);
    const kernel_tensor *tensors = outputs ? problem->outputs : problem->inputs;
    const size_t count = outputs ? problem->output_count : problem->input_count;
    size_t listed = 0;
    for (size_t i = 0; i < count; i++)
        if (tensors[i].dtype && !tensors[i].data)
            out[listed++] = (uint32_t)kernel_lanes_of(select_layout_of(places[i]), tensors[i].rank,
                                                      tensors[i].shape);
    return listed;
}

static bool has_recorded_layouts(const select_node *n, const select_variant *v, const tactic *t)
{
    uint32_t in[KERNEL_MAX_INPUTS], out[KERNEL_MAX_OUTPUTS];
    const size_t in_count = blocks_of(in, n, v, false), out_count = blocks_of(out, n, v, true);
    return tactic_has_blocks(t, in, in_count, out, out_count);
}

/* Keeps only the variants that match the tactic, if any do. */
static bool keep_if(select_node *n, const tactic *t, bool layouts_too)
{
    size_t kept = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t at = 0;
        for (size_t i = 0; i < n->variant_count; i++) {
            const select_variant *v = &n->variants[i];
            if (!tactic_is(t, v->kernel) || (layouts_too && !has_recorded_layouts(n, v, t)))
                continue;
            if (pass) n->variants[at] = *v;
            at++;
        }
        kept = at;
        if (!kept) return false;
    }
    n->variant_count = kept;
    return true;
}

/* Drops choices without variants. */
static void drop_empty_choices(select_node *n)
{
    size_t kept = 0;
    for (uint32_t f = 0; f < n->choice_count; f++) {
        bool used = false;
        for (size_t i = 0; i < n->variant_count; i++) used |= n->variants[i].choice == f;
        if (!used) continue;
        for (size_t i = 0; i < n->variant_count; i++)
            if (n->variants[i].choice == f) n->variants[i].choice = (uint32_t)kept;
        n->choices[kept++] = n->choices[f];
    }
    n->choice_count = kept;
}

/* Keeps only the variants that `wanted` accepts, if it accepts any. */
static void keep_those(select_node *n, bool (*wanted)(const select_variant *v))
{
    size_t kept = 0;
    for (size_t i = 0; i < n->variant_count; i++)
        if (wanted(&n->variants[i])) n->variants[kept++] = n->variants[i];
    if (!kept) return;
    n->variant_count = kept;
    drop_empty_choices(n);
}

static bool is_on_device(const select_variant *v)
{
    return v->space != 0;
}

static bool may_read_narrow_weights(const select_variant *v)
{
    return v->space || v->kernel->flags & KERNEL_NARROWS_WEIGHTS;
}

/* Should a product on the host read its weight in 16 bits, though another kernel may take less time
 * when it is measured? Products of few rows wait for weights, which lie in the cache when kernels
 * are measured. And if sizes vary, products of few rows and of many would hold a weight twice. */
static bool wants_narrow_weights(const selection *s, const select_node *n)
{
    enum { FEW_ROWS = 8 };
    const kernel_problem *u = &n->n->problem;
    if (u->input_count < 2 || !u->inputs[1].narrow) return false;
    const kernel_tensor *c = &u->outputs[0];
    const int64_t columns = c->rank ? c->shape[c->rank - 1] : 1;
    return s->b->options->sizes_vary || (int64_t)kernel_count(c) <= columns * FEW_ROWS;
}

static pgy_status obey(selection *s, select_node *n, pgy_error *err)
{
    const tactics *replay = s->b->options->replay;
    const tactic *t = replay ? tactics_find(replay, node_label(n->n->node)) : NULL;
    if (replay && !t && s->b->options->replay_given)
        LOG_ONCE(WARNING,
                 "The tactic replay has no entry for node '%s'; the engine chooses its kernel",
                 node_label(n->n->node));
    if (!t && s->b->options->config->devices_first) keep_those(n, is_on_device);
    if (!t && wants_narrow_weights(s, n)) keep_those(n, may_read_narrow_weights);
    if (!t) return PGY_OK;
    if (tactic_is(t, NULL)) {
        n->variant_count = n->choice_count = 0;
        return PGY_OK;
    }
    const bool kept = keep_if(n, t, true) || keep_if(n, t, false);
    if (!kept && s->b->options->replay_given)
        return node_error(n->n->node, err, PGY_E_NOT_FOUND,
                          "the tactic replay names kernel '%s', which is not a candidate for this "
                          "node on this machine",
                          tactic_name(t));
    /* New weights of a refit may not fit a kernel that depended on the old ones. */
    if (kept) drop_empty_choices(n);
    return PGY_OK;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* Adds the choice of nodes that run by reference: linear, on the host. A view is possible in any
 * space, and an Identity in any layout, too. */
static bool add_plain_choices(selection *s, select_node *n)
{
    const kernel_problem *problem = &n->n->problem;
    const bool any = n->n->is_view && node_is(n->n->node, "Identity");
    const uint8_t mask = any ? offered_layouts(s, n->n) : 1 << KERNEL_LINEAR;
    double count = 0;
    for (size_t i = 0; !n->n->is_view && i < problem->output_count; i++)
        if (problem->outputs[i].dtype) count += (double)kernel_count(&problem->outputs[i]);
    const uint32_t spaces = n->n->is_view && !problem->inputs[0].data ? s->b->p->space_count : 1;
    for (unsigned place = 0; place < SELECT_LAYOUTS * spaces; place++) {
        const kernel_layout layout = select_layout_of(place);
        kernel_problem given = *problem;
        if (!(mask >> layout & 1)) continue;
        if (any) given.inputs[0].layout = given.outputs[0].layout = layout;
        if (n->n->is_view) given.inputs[0].space = given.outputs[0].space = select_space_of(place);
        select_choice *f = choice_of(s, n, &given);
        if (!f) return false;
        f->cost_ns = count * REFERENCE_NS;
    }
    return true;
}

static void note_outputs(selection *s, const select_node *n)
{
    const kernel_problem *problem = &n->n->problem;
    const uint32_t *tensors = n->n->tensors + n->n->input_count + n->n->captured_count;
    for (size_t o = 0; o < problem->output_count; o++) {
        if (tensors[o] == PROGRAM_NO_TENSOR) continue;
        s->masks[tensors[o]] = 0;
        for (size_t f = 0; f < n->choice_count; f++)
            s->masks[tensors[o]] |=
                (uint8_t)(1 << select_layout_of(n->choices[f].places[problem->input_count + o]));
    }
}

pgy_status select_gather(selection *s, select_node *n, pgy_error *err)
{
    static const kernel_list NONE = {0};
    const kernel_list *list = n->n->free ? kernels_of(s, n->n) : &NONE;
    if (!list) return no_memory(err);
    const size_t most = (list->count + 1) * kernel_format_count() * s->b->p->space_count;
    n->usual = SELECT_NONE;
    n->kernels = list->hash;
    n->variants = arena_alloc_array(s->memory, most, sizeof *n->variants);
    n->choices = arena_alloc_array(s->memory, most, sizeof *n->choices);
    if (!n->variants || !n->choices || !ask_all(s, n, list)) return no_memory(err);
    const bool plain = !n->choice_count;
    if (!plain) note_outputs(s, n); /* a replay must not hide layouts from readers */
    const pgy_status st = n->n->free ? obey(s, n, err) : PGY_OK;
    if (st) return st;
    if (!n->choice_count && !add_plain_choices(s, n)) return no_memory(err);
    if (plain) note_outputs(s, n);
    return PGY_OK;
}
