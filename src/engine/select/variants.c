/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the ways to run a node: asks every kernel of its operator for each layout that the inputs
 * may have. Answers with the same layouts are one form. A tactic replay keeps only what it names.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "engine/select/select.h"

static const char LOG_PATH[] = "backend/trt/algorithm_selector.py";

static const double REFERENCE_NS = 20; /* per element: so slow that every kernel wins */

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
                         const kernel_problem *use)
{
    const pgy_build_config *config = s->b->options->config;
    const size_t threads = s->b->options->threads ? s->b->options->threads : cpu_count();
    pgy_timing_key key;
    str name = {0};
    if (!config->has_workspace_limit) return false;
    const timing nowhere = {.threads = threads};
    if (!timing_key(&key, s->timing ? s->timing : &nowhere, use, select_domain(n->n),
                    n->n->node->op_type, n->kernels))
        return false;
    for (size_t i = 0; i < sizeof key.bytes; i++) str_printf(&name, "%02x", key.bytes[i]);
    str_printf(&name, "%s", k->name);
    const char *known = strmap_get(&s->limited, str_text(&name));
    if (!known) {
        kernel_plan plan = {0};
        known = "fits";
        if (!k->prepare(&plan, use, NULL)) {
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

static void offer(kernel_problem *use, const kernel_problem *linear, kernel_layout layout)
{
    *use = *linear;
    for (size_t i = 0; i < use->input_count; i++)
        if (select_can_reorder(&use->inputs[i])) use->inputs[i].layout = layout;
}

bool select_use(kernel_problem *out, const select_node *n, const select_variant *v)
{
    double cost;
    offer(out, &n->n->use, v->offered);
    out->space = v->space;
    return kernel_accept(v->kernel, out, &cost);
}

static uint8_t place_of(const kernel_tensor *t)
{
    return select_place(t->layout, t->space);
}

static bool has_places(const select_form *f, const kernel_problem *use)
{
    for (size_t i = 0; i < use->input_count; i++)
        if (f->places[i] != place_of(&use->inputs[i])) return false;
    for (size_t i = 0; i < use->output_count; i++)
        if (f->places[use->input_count + i] != place_of(&use->outputs[i])) return false;
    return true;
}

/* The form with these layouts; makes it if needed. NULL: out of memory. */
static select_form *form_of(selection *s, select_node *n, const kernel_problem *use)
{
    for (size_t i = 0; i < n->form_count; i++)
        if (has_places(&n->forms[i], use)) return &n->forms[i];
    uint8_t *places = arena_alloc_array(s->memory, use->input_count + use->output_count + 1, 1);
    if (!places) return NULL;
    for (size_t i = 0; i < use->input_count; i++) places[i] = place_of(&use->inputs[i]);
    for (size_t i = 0; i < use->output_count; i++)
        places[use->input_count + i] = place_of(&use->outputs[i]);
    select_form *f = &n->forms[n->form_count++];
    *f = (select_form){.places = places, .variant = SELECT_NONE};
    return f;
}

static bool is_there(const select_node *n, const kernel *k, uint32_t form, uint32_t space)
{
    for (size_t i = 0; i < n->variant_count; i++)
        if (n->variants[i].kernel == k && n->variants[i].form == form &&
            n->variants[i].space == space)
            return true;
    return false;
}

/* False: out of memory. */
static bool ask(selection *s, select_node *n, const kernel *k, kernel_layout offered,
                uint32_t space)
{
    kernel_problem use;
    double cost = 0;
    offer(&use, &n->n->use, offered);
    use.space = space;
    if (!kernel_accept(k, &use, &cost) || !is_possible(&use) || is_too_large(s, n, k, &use))
        return true;
    const select_form *f = form_of(s, n, &use);
    if (!f) return false;
    const uint32_t form = (uint32_t)(f - n->forms);
    if (is_there(n, k, form, space)) return true;
    n->variants[n->variant_count++] = (select_variant){.kernel = k,
                                                       .offered = offered,
                                                       .space = space,
                                                       .form = form,
                                                       .estimate_ns = cost,
                                                       .time_ns = -1};
    return true;
}

/* The layouts in which inputs may be offered. */
static uint8_t offered_layouts(const selection *s, const build_node *n)
{
    uint8_t mask = 1 << KERNEL_LINEAR;
    for (size_t i = 0; i < n->use.input_count; i++)
        if (select_can_reorder(&n->use.inputs[i])) mask |= s->masks[n->tensors[i]];
    return mask;
}

static bool ask_all(selection *s, select_node *n, const kernel_list *list)
{
    const uint8_t mask = offered_layouts(s, n->n);
    const uint32_t spaces = s->b->p->space_count;
    for (unsigned place = 0; place < SELECT_LAYOUTS * spaces; place++) {
        const uint32_t space = select_space_of(place);
        const kernel_layout layout = select_layout_of(place);
        for (size_t i = 0; (mask >> layout & 1) && i < list->count; i++)
            if (is_on(s, list->items[i], space) && !ask(s, n, list->items[i], layout, space))
                return false;
    }
    return true;
}

/* ---- Replays -------------------------------------------------------------------------------- */

/* Block sizes as a replay lists them: of tensors that are not constants. */
static size_t blocks_of(uint32_t *out, const select_node *n, const select_variant *v, bool outputs)
{
    const kernel_problem *use = &n->n->use;
    const uint8_t *places = n->forms[v->form].places + (outputs ? use->input_count : 0);
    const kernel_tensor *tensors = outputs ? use->outputs : use->inputs;
    const size_t count = outputs ? use->output_count : use->input_count;
    size_t listed = 0;
    for (size_t i = 0; i < count; i++)
        if (tensors[i].dtype && !tensors[i].data)
            out[listed++] = (uint32_t)kernel_block(select_layout_of(places[i]));
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

/* Drops forms without variants. */
static void drop_empty_forms(select_node *n)
{
    size_t kept = 0;
    for (uint32_t f = 0; f < n->form_count; f++) {
        bool used = false;
        for (size_t i = 0; i < n->variant_count; i++) used |= n->variants[i].form == f;
        if (!used) continue;
        for (size_t i = 0; i < n->variant_count; i++)
            if (n->variants[i].form == f) n->variants[i].form = (uint32_t)kept;
        n->forms[kept++] = n->forms[f];
    }
    n->form_count = kept;
}

static pgy_status obey(selection *s, select_node *n, pgy_error *err)
{
    const tactics *replay = s->b->options->replay;
    const tactic *t = replay ? tactics_find(replay, node_label(n->n->node)) : NULL;
    if (replay && !t)
        LOG_ONCE(WARNING, "The tactic replay does not name '%s'; its kernel is chosen freely",
                 node_label(n->n->node));
    if (!t) return PGY_OK;
    if (tactic_is(t, NULL)) {
        n->variant_count = n->form_count = 0;
        return PGY_OK;
    }
    if (!keep_if(n, t, true) && !keep_if(n, t, false))
        return node_error(n->n->node, err, PGY_E_NOT_FOUND,
                          "the tactic replay wants '%s', which is no choice for this node here",
                          tactic_name(t));
    drop_empty_forms(n);
    return PGY_OK;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* Adds the form of nodes that run by reference: linear, on the host. A view is possible in any
 * space, and an Identity in any layout, too. */
static bool add_plain_forms(selection *s, select_node *n)
{
    const kernel_problem *use = &n->n->use;
    const bool any = n->n->is_view && node_is(n->n->node, "Identity");
    const uint8_t mask = any ? offered_layouts(s, n->n) : 1 << KERNEL_LINEAR;
    double count = 0;
    for (size_t i = 0; !n->n->is_view && i < use->output_count; i++)
        if (use->outputs[i].dtype) count += (double)kernel_count(&use->outputs[i]);
    const uint32_t spaces = n->n->is_view && !use->inputs[0].data ? s->b->p->space_count : 1;
    for (unsigned place = 0; place < SELECT_LAYOUTS * spaces; place++) {
        const kernel_layout layout = select_layout_of(place);
        kernel_problem given = *use;
        if (!(mask >> layout & 1)) continue;
        if (any) given.inputs[0].layout = given.outputs[0].layout = layout;
        if (n->n->is_view) given.inputs[0].space = given.outputs[0].space = select_space_of(place);
        select_form *f = form_of(s, n, &given);
        if (!f) return false;
        f->cost_ns = count * REFERENCE_NS;
    }
    return true;
}

static void note_outputs(selection *s, const select_node *n)
{
    const kernel_problem *use = &n->n->use;
    const uint32_t *tensors = n->n->tensors + n->n->input_count + n->n->captured_count;
    for (size_t o = 0; o < use->output_count; o++) {
        if (tensors[o] == PROGRAM_NO_TENSOR) continue;
        s->masks[tensors[o]] = 0;
        for (size_t f = 0; f < n->form_count; f++)
            s->masks[tensors[o]] |=
                (uint8_t)(1 << select_layout_of(n->forms[f].places[use->input_count + o]));
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
    n->forms = arena_alloc_array(s->memory, most, sizeof *n->forms);
    if (!n->variants || !n->forms || !ask_all(s, n, list)) return no_memory(err);
    const bool plain = !n->form_count;
    if (!plain) note_outputs(s, n); /* before the replay filters */
    const pgy_status st = n->n->free ? obey(s, n, err) : PGY_OK;
    if (st) return st;
    if (!n->form_count && !add_plain_forms(s, n)) return no_memory(err);
    if (plain) note_outputs(s, n);
    return PGY_OK;
}
