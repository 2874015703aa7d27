/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the first wrong tensor: takes the sides and samples, walks them, and fills the ledger. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/sized.h"
#include "evaluate/interface.h"
#include "where/inside.h"
#include "where/stored.h"
#include "where/walk.h"

static const char LOG_PATH[] = "where/where.c";

pgy_where_options pgy_where_options_default(void)
{
    return (pgy_where_options){
        .size = sizeof(pgy_where_options), .rtol = NAN, .atol = NAN, .floor_times = NAN};
}

/* ---- Sides ----------------------------------------------------------------------------------- */

static pgy_status check_side(const pgy_where_side *s, const char *name, pgy_error *err)
{
    if (s->results && s->backend)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "side %s has a runner and stored results; give one of them", name);
    if (!s->backend && !s->results)
        return pgy_error_set(err, PGY_E_ARGUMENT, "side %s needs a runner or stored results", name);
    if (s->backend && !s->model && !s->plan)
        return pgy_error_set(err, PGY_E_ARGUMENT, "side %s needs a model", name);
    if (s->plan && !pgy_backend_has(s->backend, PGY_BACKEND_RUNS_PLANS))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "side %s: '%s' is a plan, which runner '%s' cannot run", name, s->plan,
                             s->backend->name);
    return PGY_OK;
}

static pgy_status import(pgy_graph **out, pgy_model *model, const pgy_tensor_map *feed,
                         pgy_error *err)
{
    const pgy_infer_options o = {.size = sizeof o, .values = feed};
    pgy_error why = {0};
    pgy_status st = pgy_graph_import(out, model, err);
    if (!st) st = pgy_graph_sort(*out, err);
    if (st) return st;
    st = pgy_graph_infer_shapes(*out, &o, &why);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) LOG(WARNING, "Shapes cannot be inferred, so memory is estimated: %s", why.text);
    return PGY_OK;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static pgy_status take_feeds(where_search *s, pgy_data_loader *data, pgy_error *err)
{
    size_t capacity = 0;
    for (;;) {
        pgy_tensor_map *feed = NULL;
        pgy_status st = pgy_data_loader_next(&feed, data, err);
        if (st || !feed) return st;
        if (!mem_grow((void **)&s->feeds, &capacity, s->feed_count + 1, sizeof *s->feeds)) {
            pgy_tensor_map_destroy(feed);
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        }
        s->feeds[s->feed_count++] = feed;
    }
}

static pgy_status load_feeds(where_search *s, pgy_model *model, pgy_error *err)
{
    pgy_random_options random = pgy_random_options_default();
    pgy_data_loader *made = NULL, *data = s->options.data;
    pgy_metadata *inputs = NULL;
    pgy_graph *g = NULL;
    random.inputs = s->options.shapes;
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st) st = interface_describe_tensors(&inputs, g, err);
    if (!st && !data) st = pgy_random_loader_create(&made, &random, err);
    if (!data) data = made;
    if (!st) st = pgy_data_loader_set_metadata(data, inputs, err);
    if (!st) st = take_feeds(s, data, err);
    if (!st && !s->feed_count)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "the data loader has no input data");
    pgy_metadata_destroy(inputs);
    pgy_data_loader_destroy(made);
    pgy_graph_destroy(g);
    return st;
}

/* ---- The ledger ------------------------------------------------------------------------------ */

/* The largest error that reaches a node. Tensors that were not compared are looked through: one
 * kernel computes a fused group. */
typedef struct reach {
    double error;
    bool differ;
} reach;

static reach find_reach(const where_rows *rows, const reach *all, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    reach r = {0};
    for (size_t i = 0; i < n->input_count + box->captured_count; i++) {
        const pgy_value *v = i < n->input_count ? n->inputs[i] : box->captured[i - n->input_count];
        const where_row *in = where_row_of(rows, v);
        reach one = {0};
        if (in && in->line.compared)
            one = (reach){in->line.error, in->line.differs};
        else if (v && v->producer && v->producer->graph == n->graph)
            one = all[v->producer->index];
        if (one.error > r.error) r.error = one.error;
        r.differ |= one.differ;
    }
    return r;
}

static void finish_row(where_row *row, const reach *in)
{
    pgy_where_tensor *t = &row->line;
    if (!t->compared) return;
    t->handed = in->error;
    t->amplification = in->error > 0 ? t->error / in->error : NAN;
    /* NaN out of NaN is passed on, also by a node that runs alone */
    if (isnan(t->made) || (isinf(t->made) && isinf(in->error)))
        t->starts = t->differs && !in->differ;
    else
        t->starts = row->own_differs;
}

static pgy_status finish_rows(where_rows *rows, const pgy_graph *g, pgy_error *err)
{
    reach *all = mem_calloc(g->node_count + 1, sizeof *all);
    if (!all) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < g->node_count; i++) all[i] = find_reach(rows, all, g->nodes[i]);
    for (size_t i = 0; i < rows->count; i++)
        finish_row(&rows->items[i], &all[rows->items[i].b->producer->index]);
    mem_free(all);
    return PGY_OK;
}

static pgy_status fail(pgy_where_report *r, pgy_error *err, const char *format, const char *name)
{
    str text = {0};
    str_printf(&text, format, name);
    const bool kept = !text.failed && strvec_push(&r->failures, str_text(&text));
    str_deinit(&text);
    return kept ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status note_failures(pgy_where_report *r, const strvec *unmatched, pgy_error *err)
{
    size_t compared = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < unmatched->count; i++)
        st =
            fail(r, err, "output '%s' of side B has no counterpart on side A", unmatched->items[i]);
    for (size_t i = 0; !st && i < r->rows.count; i++) {
        const where_row *row = &r->rows.items[i];
        compared += row->line.compared;
        if (row->is_output && !row->line.compared)
            st = fail(r, err, "output '%s' was not compared", row->line.name);
    }
    if (!st && !compared) st = fail(r, err, "nothing was compared%s", "");
    if (!st && !r->complete) st = fail(r, err, "the search was interrupted%s", "");
    return st;
}

/* ---- The search ------------------------------------------------------------------------------ */

static pgy_status guard(const where_search *s, const char *side, pgy_model *model, pgy_error *err)
{
    return where_guard(model, side, s->feeds, s->feed_count, s->options.max_steps, err);
}

static pgy_status prepare(where_search *s, strvec *unmatched, pgy_error *err)
{
    pgy_model *ma = s->a.source.side->model, *own = s->b.source.side->model;
    pgy_model *mb = own ? own : ma;
    const bool stored = where_is_stored(s);
    if (stored && !mb) return where_stored_match(s, unmatched, err);
    if (!mb)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "one side needs an ONNX model: a plan or stored "
                             "results do not tell the order of tensors");
    s->model = s->b.source.side->backend ? own : NULL;
    pgy_status st = stored ? where_stored_count(s, err) : load_feeds(s, mb, err);
    if (!st && !stored) st = guard(s, own ? "B" : "A", mb, err);
    if (!st && !stored && ma && ma != mb) st = guard(s, "A", ma, err);
    if (!st) st = where_floors_prepare(s, mb, err);
    if (!st) st = import(&s->graph_b, mb, s->feeds[0], err);
    if (!st && ma && ma != mb) st = import(&s->graph_a, ma, s->feeds[0], err);
    if (!st)
        st = where_match(&s->report->rows, unmatched, s->graph_a, s->graph_b, &s->report->memory,
                         err);
    for (size_t i = 0; !st && s->graph_a && i < s->graph_a->output_count; i++) {
        bool found = false;
        for (size_t k = 0; !found && k < s->report->rows.count; k++)
            found = s->report->rows.items[k].a == s->graph_a->outputs[i];
        if (!found && s->graph_a->outputs[i]->producer)
            st = fail(s->report, err, "output '%s' of side A has no counterpart on side B",
                      s->graph_a->outputs[i]->name);
    }
    return st;
}

/* An engine shows all tensors in one run, so batches do not make its share smaller. */
static pgy_status check_memory(const where_search *s, pgy_error *err)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->report->rows.count; i++) sum += s->report->rows.items[i].size_bytes;
    const where_source *sides[] = {&s->a.source, &s->b.source};
    for (size_t i = 0; i < 2; i++) {
        const pgy_where_side *side = sides[i]->side;
        if (pgy_backend_has(side->backend, PGY_BACKEND_BUILDS_PLANS) && !side->plan &&
            sum > s->budget)
            return pgy_error_set(err, PGY_E_MEMORY,
                                 "%s shows its tensors in one run, which takes %llu bytes, more "
                                 "than the limit of %llu; raise the limit (max_memory)",
                                 side->backend->name, (unsigned long long)sum,
                                 (unsigned long long)s->budget);
    }
    return PGY_OK;
}

/* Says the first wrong tensor as soon as it is known: segments follow the topological order, and a
 * runtime that does not hear Ctrl-C leaves no time for a report. */
static void say_first(const where_search *s, bool *said)
{
    const where_rows *rows = &s->report->rows;
    for (size_t i = 0; !*said && i < s->done && s->done < rows->count; i++) {
        const where_row *row = &rows->items[i];
        if (!row->line.differs && !row->own_differs) continue;
        LOG(INFO, "First wrong tensor: %s, of node %s (%s); the search goes on, %zu of %zu tensors",
            row->line.name, row->line.node, row->line.op_type, s->done, rows->count);
        *said = true;
    }
}

static pgy_status search(where_search *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool said = false;
    progress_begin("Comparing tensors", s->report->rows.count);
    while (!st) {
        bool any = false;
        st = where_walk_next(&any, s, err);
        if (!any) break;
        s->report->batches++;
        progress_advance(s->done);
        say_first(s, &said);
    }
    progress_end();
    return st;
}

static void deinit(where_search *s)
{
    for (size_t i = 0; i < s->feed_count; i++) pgy_tensor_map_destroy(s->feeds[i]);
    mem_free(s->feeds);
    where_walk_deinit(s);
    where_floors_destroy(&s->floors);
    /* the ledger keeps no pointers into graphs */
    for (size_t i = 0; s->report && i < s->report->rows.count; i++)
        s->report->rows.items[i].a = s->report->rows.items[i].b = NULL;
    pgy_graph_destroy(s->graph_a);
    pgy_graph_destroy(s->graph_b);
}

static pgy_status take(where_search *s, pgy_where_side *sides, const pgy_where_side *a,
                       const pgy_where_side *b, const pgy_where_options *options, pgy_error *err)
{
    s->options = pgy_where_options_default();
    pgy_status st = SIZED_TAKE(pgy_where_options, &s->options, options, err);
    if (!st) st = SIZED_TAKE(pgy_where_side, &sides[0], a, err);
    if (!st) st = SIZED_TAKE(pgy_where_side, &sides[1], b, err);
    if (!st) st = check_side(&sides[0], "A", err);
    if (!st) st = check_side(&sides[1], "B", err);
    str rules = {0};
    where_judge_list(&rules);
    s->judge = where_judge_find(s->options.judge);
    if (!st && !s->judge)
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "there is no rule '%s' to judge by; expected %s",
                           s->options.judge, str_text(&rules));
    if (!st && s->options.worst_count > WHERE_MAX_WORST)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "where_options.worst_count is %zu; expected at most %d",
                           s->options.worst_count, WHERE_MAX_WORST);
    if (!st && s->options.floor_times < 0)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "where_options.floor_times is %g; expected at least 0",
                           s->options.floor_times);
    str_deinit(&rules);
    s->budget = s->options.max_memory ? s->options.max_memory : memory_limit_bytes() / 4;
    s->a.source.side = &sides[0];
    s->b.source.side = &sides[1];
    return st;
}

static pgy_status make_report(pgy_where_report **out, const where_search *s, pgy_error *err)
{
    pgy_where_report *r = mem_calloc(1, sizeof *r);
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const pgy_where_side *a = s->a.source.side, *b = s->b.source.side;
    r->a = arena_strdup(&r->memory, a->backend ? a->backend->name : a->results);
    r->b = arena_strdup(&r->memory, b->backend ? b->backend->name : b->results);
    *out = r;
    return r->a && r->b ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* owned: the models that the sides get, to be destroyed by the caller. */
static pgy_status inline_sides(pgy_where_side *sides, pgy_model **owned, pgy_error *err)
{
    const bool shared = sides[0].model == sides[1].model;
    for (size_t i = 0; i < 2; i++) {
        if (!sides[i].model) continue;
        owned[i] = pgy_model_retain(shared && i ? owned[0] : sides[i].model);
        const pgy_status st = shared && i ? PGY_OK : where_inline(&owned[i], err);
        if (st) return st;
        sides[i].model = owned[i];
    }
    return PGY_OK;
}

/* Tells a program that the request was heard: freeing many samples takes longer than it waits for a
 * runtime that does not hear, and the report comes afterwards. */
static void say_heard(void)
{
    cancel_hold();
    cancel_release();
}

/* The ledger of what was compared, and of the bodies of its nodes. st: of the search */
static pgy_status finish(where_search *s, const pgy_where_side *sides, const strvec *unmatched,
                         pgy_status st, pgy_error *err)
{
    const inside_search inside = {.report = s->report,
                                  .a = &sides[0],
                                  .b = &sides[1],
                                  .options = &s->options,
                                  .feeds = s->feeds,
                                  .feed_count = s->feed_count,
                                  .budget = s->budget,
                                  .compare = pgy_where};
    s->report->samples = s->feed_count;
    pgy_status finished =
        s->graph_b ? finish_rows(&s->report->rows, s->graph_b, st ? NULL : err) : PGY_OK;
    if (!st && !finished && !s->options.skip_inside) finished = where_inside(&inside, err);
    if (!st) st = finished;
    s->report->complete = !st;
    if (st && st != PGY_E_CANCELLED) return st;
    const pgy_status noted = note_failures(s->report, unmatched, st ? NULL : err);
    return st ? st : noted;
}

pgy_status pgy_where(pgy_where_report **out, const pgy_where_side *a, const pgy_where_side *b,
                     const pgy_where_options *options, pgy_error *err)
{
    pgy_where_side sides[2] = {{.size = sizeof *sides}, {.size = sizeof *sides}};
    where_search s = {0};
    strvec unmatched = {0};
    pgy_model *owned[2] = {NULL};
    if (!out || !a || !b)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and both sides must not be NULL");
    pgy_status st = take(&s, sides, a, b, options, err);
    if (!st) st = inline_sides(sides, owned, err);
    if (!st) st = make_report(&s.report, &s, err);
    if (!st) st = prepare(&s, &unmatched, err);
    if (!st) st = check_memory(&s, err);
    const bool walks = s.graph_b != NULL;
    if (!st && walks) st = where_walk_start(&s, err);
    const bool began = !st;
    if (!st) st = walks ? search(&s, err) : where_stored_compare(&s, err);
    if (st == PGY_E_CANCELLED) say_heard();
    if (began && (!st || st == PGY_E_CANCELLED)) st = finish(&s, sides, &unmatched, st, err);
    if (began && st == PGY_E_CANCELLED) {
        s.report->feeds = s.feeds;
        s.report->feed_count = s.feed_count;
        s.feeds = NULL;
        s.feed_count = 0;
    }
    deinit(&s);
    pgy_model_destroy(owned[0]);
    pgy_model_destroy(owned[1]);
    strvec_deinit(&unmatched);
    if (began && (!st || st == PGY_E_CANCELLED))
        *out = s.report;
    else
        pgy_where_report_destroy(s.report);
    return st;
}
