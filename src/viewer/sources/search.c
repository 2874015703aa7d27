/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of searches: replays of the debug tools (--save-debug-replay), and the reports of `where
 * --bisect-passes` and `--bisect-ort`. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "data/array_json.h"
#include "debug/replay.h"
#include "viewer/sources/search_nodes.h"

static const json_value *list_of(const json_value *root, const char *key)
{
    const json_value *v = json_get(root, key);
    return v && v->type == JSON_ARRAY ? v : NULL;
}

static bool is_bisection(const json_value *json)
{
    return json_get(json, "searched") && list_of(json, "culprits");
}

static bool is_replay(const json_value *json)
{
    const json_value *first = json && json->type == JSON_OBJECT ? json->first : NULL;
    return first && first->key.size > 2 && !memcmp(first->key.data, "_N", 2) &&
           json_get(first, "success") && json_get(first, "iteration_info");
}

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    return is_bisection(json) || is_replay(json);
}

static pgy_status set_texts(result_file *f, const char *title, const char *found, pgy_error *err)
{
    f->results->search_title = view_text(f->results, title);
    f->results->search_found = view_text(f->results, found);
    if (f->results->search_title && f->results->search_found)
        return result_summary(f, "Search", title, err, "%s", found);
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the steps of a search");
}

/* Steps as a table, for those who read no pictures. */
static pgy_status put_table(result_file *f, pgy_error *err)
{
    static const view_column COLUMNS[] = {{"step", VIEW_COLUMN_TEXT},
                                          {"verdict", VIEW_COLUMN_VERDICT},
                                          {"detail", VIEW_COLUMN_TEXT},
                                          {"nodes", VIEW_COLUMN_NUMBER}};
    view_table *t = NULL;
    pgy_status st = result_table(&t, f, "search", "Steps of the search", COLUMNS, 4, err);
    if (!st) t->row_count = 0;
    for (size_t i = 0; i < f->results->step_count && !st; i++) {
        const view_step *s = &f->results->steps[i];
        const view_cell cells[] = {cell_text(s->title),
                                   cell_verdict(s->verdict == VIEW_PASS),
                                   cell_text(s->detail),
                                   {.number = s->node_count, .is_empty = !s->node_count}};
        st = view_table_row(f->results, t, cells, err);
    }
    return st;
}

/* ---- Replays -------------------------------------------------------------------------------- */

typedef struct replay_run {
    result_file file;
    debug_replay replay;
    main_nodes nodes;
    node_set smallest; /* the smallest candidate that failed; NULL: none, or it is not known */
    bool *smallest_room;
    size_t listed; /* nodes of all steps so far */
} replay_run;

/* Steps of a linear search of a large model would list more nodes than anyone looks at. */
enum { MOST_LISTED = 500000 };

static int64_t number_of(const pgy_debug_trial *t, const char *name)
{
    for (size_t i = 0; i < t->state_count; i++)
        if (strcmp(t->state[i].name, name) == 0) return t->state[i].value;
    return -1;
}

/* "outputs" of "_N3_outputs"; "" without a phase. */
static const char *phase_of(const char *key)
{
    const char *p = strncmp(key, "_N", 2) == 0 ? strchr(key + 2, '_') : NULL;
    return p ? p + 1 : "";
}

static pgy_status add_step(replay_run *run, const char *key, const pgy_debug_trial *t,
                           const node_set *candidate, pgy_error *err)
{
    const char *phase = phase_of(key);
    const int64_t nodes = number_of(t, "num_nodes"), of = number_of(t, "max_nodes");
    const int64_t layers = number_of(t, "num_layers"), all = number_of(t, "max_layers");
    char title[120], detail[120] = "";
    uint32_t *list = mem_calloc(candidate ? candidate->count + 1 : 1, sizeof *list);
    size_t count = 0;
    if (!list) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the steps of a search");
    snprintf(title, sizeof title, "%s%.40s%sIteration %lld", *phase ? "Reducing " : "", phase,
             *phase ? ": " : "", (long long)t->index + 1);
    if (nodes >= 0 && of >= 0)
        snprintf(detail, sizeof detail, "%lld of %lld nodes", (long long)nodes, (long long)of);
    else if (nodes >= 0)
        snprintf(detail, sizeof detail, "%lld node%s", (long long)nodes, nodes == 1 ? "" : "s");
    else if (layers >= 0)
        snprintf(detail, sizeof detail, "%lld of %lld layers in the higher precision",
                 (long long)layers, (long long)all);
    if (candidate && run->listed + candidate->count > MOST_LISTED) candidate = NULL;
    for (size_t i = 0; candidate && i < run->nodes.count; i++)
        if (candidate->has[run->nodes.items[i]]) list[count++] = run->nodes.items[i];
    run->listed += count;
    const view_step step = {.title = title,
                            .detail = detail,
                            .verdict = t->passed ? VIEW_PASS : VIEW_FAIL,
                            .nodes = list,
                            .node_count = (uint32_t)count,
                            .seconds = NAN};
    pgy_status st = view_step_add(run->file.results, &step, err);
    mem_free(list);
    return st;
}

static void keep_smallest(replay_run *run, const node_set *candidate)
{
    memcpy(run->smallest_room, candidate->has, run->file.graph->node_count * sizeof(bool));
    run->smallest = (node_set){run->smallest_room, candidate->count};
}

/* Does the walk give all numbers of nodes of the phase? */
static pgy_status fits(bool *out, replay_run *run, const char *phase, const node_set *of,
                       bool linear, pgy_error *err)
{
    reduce_walk w;
    bool more = true;
    *out = true;
    pgy_status st = reduce_walk_start(&w, run->file.graph, &run->nodes, of,
                                      strcmp(phase, "outputs") == 0, linear, err);
    for (size_t i = 0; i < run->replay.trials.count && *out && !st; i++) {
        const strmap_entry *e = &run->replay.trials.entries[i];
        const pgy_debug_trial *t = e->value;
        node_set candidate;
        if (strcmp(phase_of(e->key), phase) != 0) continue;
        st = reduce_walk_candidate(&candidate, &w, err);
        *out = !st && more && number_of(t, "num_nodes") == (int64_t)candidate.count;
        more = bisection_next(&w.order, t->passed);
    }
    reduce_walk_deinit(&w);
    return st;
}

/* `walked`: the order of the phase is known, so each step has its nodes. */
static pgy_status add_phase(replay_run *run, const char *phase, bool walked, bool linear,
                            pgy_error *err)
{
    const node_set begin = run->smallest;
    arena memory = {0};
    bool *copy = arena_alloc_array(&memory, run->file.graph->node_count, sizeof *copy);
    reduce_walk w = {0};
    int64_t least = INT64_MAX;
    pgy_status st = copy ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory for a search");
    if (!st && begin.has) memcpy(copy, begin.has, run->file.graph->node_count * sizeof *copy);
    const node_set of = {copy, begin.count};
    if (!st && walked)
        st = reduce_walk_start(&w, run->file.graph, &run->nodes, begin.has ? &of : NULL,
                               strcmp(phase, "outputs") == 0, linear, err);
    for (size_t i = 0; i < run->replay.trials.count && !st; i++) {
        const strmap_entry *e = &run->replay.trials.entries[i];
        const pgy_debug_trial *t = e->value;
        node_set candidate = {0};
        if (strcmp(phase_of(e->key), phase) != 0) continue;
        if (walked) st = reduce_walk_candidate(&candidate, &w, err);
        if (!st) st = add_step(run, e->key, t, walked ? &candidate : NULL, err);
        if (st || !walked) continue;
        if (!t->passed && (int64_t)candidate.count <= least) {
            least = (int64_t)candidate.count;
            keep_smallest(run, &candidate);
        }
        bisection_next(&w.order, t->passed);
    }
    reduce_walk_deinit(&w);
    arena_deinit(&memory);
    return st;
}

/* The first trial of a phase; NULL: the replay has none. */
static const pgy_debug_trial *first_of(const debug_replay *r, const char *phase)
{
    for (size_t i = 0; i < r->trials.count; i++)
        if (strcmp(phase_of(r->trials.entries[i].key), phase) == 0)
            return r->trials.entries[i].value;
    return NULL;
}

static pgy_status read_phase(replay_run *run, const char *phase, pgy_error *err)
{
    const pgy_debug_trial *first = first_of(&run->replay, phase);
    const size_t whole = run->smallest.has ? run->smallest.count : run->nodes.count;
    const node_set *of = run->smallest.has ? &run->smallest : NULL;
    bool walked = false, linear = false;
    pgy_status st = PGY_OK;
    if (!first) return PGY_OK;
    const int64_t max = number_of(first, "max_nodes");
    if (*phase && !of && max >= 0 && max != (int64_t)run->nodes.count &&
        strcmp(phase, "outputs") == 0)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the search began with %lld nodes, but '%s' has %zu: the file is of "
                             "another model",
                             (long long)max, run->file.graph->name, run->nodes.count);
    const bool cuts = strcmp(phase, "outputs") == 0 || strcmp(phase, "inputs") == 0;
    if (cuts && (max < 0 || max == (int64_t)whole)) {
        st = fits(&walked, run, phase, of, false, err);
        if (!st && !walked) {
            linear = true;
            st = fits(&walked, run, phase, of, true, err);
        }
    }
    return st ? st : add_phase(run, phase, walked, linear, err);
}

/* What is left of the model: the nodes of the smallest candidate that failed. */
static pgy_status name_smallest(str *out, replay_run *run, pgy_error *err)
{
    enum { MOST_NAMES = 5 };
    const view_graph *g = run->file.graph;
    size_t shown = 0;
    pgy_status st = PGY_OK;
    if (run->smallest.count == 1)
        str_append(out, ". One node is left that fails:");
    else
        str_printf(out, ". %zu nodes are left that fail:", run->smallest.count);
    for (size_t i = 0; i < run->nodes.count && !st; i++) {
        const uint32_t node = run->nodes.items[i];
        if (!run->smallest.has[node]) continue;
        if (shown++ < MOST_NAMES)
            str_printf(out, "%s '%.100s'", shown > 1 ? "," : "", g->nodes[node].name);
        st = result_mark(&run->file, VIEW_OF_NODE, node, VIEW_MARK_FINDING, err,
                         "in the smallest part that fails: nodes %zu of %zu", shown,
                         run->smallest.count);
    }
    if (shown > MOST_NAMES) str_append(out, ", ...");
    return st;
}

static pgy_status conclude_replay(replay_run *run, pgy_error *err)
{
    size_t passed = 0;
    int64_t least = INT64_MAX;
    str text = {0};
    pgy_status st = PGY_OK;
    const size_t count = run->replay.trials.count;
    for (size_t i = 0; i < count; i++) {
        const pgy_debug_trial *t = run->replay.trials.entries[i].value;
        const int64_t nodes = number_of(t, "num_nodes");
        passed += t->passed;
        if (!t->passed && nodes >= 0 && nodes < least) least = nodes;
    }
    str_printf(&text, "%zu of %zu iterations passed", passed, count);
    if (run->smallest.has)
        st = name_smallest(&text, run, err);
    else if (least < INT64_MAX)
        str_printf(&text, ". The smallest model that fails has %lld node%s", (long long)least,
                   least == 1 ? "" : "s");
    if (!st)
        st = set_texts(&run->file, first_of(&run->replay, "") ? "debug" : "debug reduce",
                       str_text(&text), err);
    str_deinit(&text);
    return st;
}

/* Searches for the smallest model (--check-with) take turns at phases and have no walk. */
static bool takes_turns(const debug_replay *r)
{
    for (size_t i = 0; i < r->trials.count; i++)
        if (number_of(r->trials.entries[i].value, "model_key") >= 0) return true;
    return false;
}

static pgy_status read_in_order(replay_run *run, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < run->replay.trials.count && !st; i++)
        st = add_step(run, run->replay.trials.entries[i].key, run->replay.trials.entries[i].value,
                      NULL, err);
    return st;
}

/* One phase after the other, in the order of the file. */
static pgy_status read_phases(replay_run *run, pgy_error *err)
{
    strmap seen = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < run->replay.trials.count && !st; i++) {
        const char *phase = phase_of(run->replay.trials.entries[i].key);
        if (strmap_has(&seen, phase)) continue;
        if (!strmap_put(&seen, phase, run))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for the steps of a search");
        if (!st) st = read_phase(run, phase, err);
    }
    strmap_deinit(&seen);
    return st;
}

static pgy_status add_replay(pgy_page *p, const char *path, pgy_error *err)
{
    replay_run run = {0};
    pgy_status st = result_open(&run.file, p, path, err);
    if (!st) st = debug_replay_load(&run.replay, path, err);
    if (!st) st = main_nodes_list(&run.nodes, run.file.graph, err);
    run.smallest_room = st ? NULL : mem_calloc(run.file.graph->node_count + 1ull, sizeof(bool));
    if (!st && !run.smallest_room)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for the steps of a search");
    if (!st) st = (takes_turns(&run.replay) ? read_in_order : read_phases)(&run, err);
    if (!st) st = conclude_replay(&run, err);
    if (!st) st = put_table(&run.file, err);
    mem_free(run.smallest_room);
    main_nodes_deinit(&run.nodes);
    debug_replay_deinit(&run.replay);
    result_close(&run.file);
    return st;
}

/* ---- Bisections of rewrites ----------------------------------------------------------------- */

static pgy_status add_trial(result_file *f, const json_value *v, size_t number, pgy_error *err)
{
    char title[40];
    const char *what = result_text(f, v, "trial");
    snprintf(title, sizeof title, "Trial %zu", number);
    const view_step step = {.title = title,
                            .detail = what ? what : "",
                            .verdict = result_bool(v, "agrees") ? VIEW_PASS : VIEW_FAIL,
                            .seconds = NAN};
    return view_step_add(f->results, &step, err);
}

static pgy_status mark_culprit(result_file *f, const json_value *v, const char *name,
                               pgy_error *err)
{
    const json_value *removed = list_of(v, "removed");
    pgy_status st = PGY_OK;
    for (const json_value *n = removed ? removed->first : NULL; n && !st; n = n->next) {
        const char *node = n->type == JSON_STRING ? json_string(n, &f->json.memory, NULL) : NULL;
        if (node)
            st = result_mark(f, VIEW_OF_NODE, result_node(f, node), VIEW_MARK_FINDING, err,
                             "'%.100s' replaces it, and the outputs differ from then on", name);
    }
    return st;
}

static pgy_status add_culprits(str *out, result_file *f, pgy_error *err)
{
    const json_value *list = list_of(f->json.root, "culprits");
    pgy_status st = PGY_OK;
    for (const json_value *v = list->first; v && !st; v = v->next) {
        const char *name = result_text(f, v, "name"), *tensor = result_text(f, v, "tensor");
        if (!name)
            return pgy_error_set(err, PGY_E_FORMAT, "line %u: a culprit has no 'name'", v->line);
        str_printf(out, "%s%.100s", v == list->first ? " " : ", ", name);
        if (tensor && *tensor) str_printf(out, " at tensor '%.100s'", tensor);
        st = mark_culprit(f, v, name, err);
    }
    return st;
}

static pgy_status add_bisection(pgy_page *p, const char *path, pgy_error *err)
{
    result_file f;
    str title = {0}, found = {0};
    size_t number = 0;
    pgy_status st = result_open_json(&f, p, path, err);
    const json_value *root = st ? NULL : f.json.root, *trials = list_of(root, "verdicts");
    for (const json_value *v = trials ? trials->first : NULL; v && !st; v = v->next)
        st = add_trial(&f, v, ++number, err);
    if (!st) {
        const char *searched = result_text(&f, root, "searched"),
                   *cause = result_text(&f, root, "cause");
        const char *remedy = result_text(&f, root, "remedy");
        str_printf(&title, "search among %.100s", searched ? searched : "rewrites");
        str_printf(&found, "cause: %.40s", cause ? cause : "unknown");
        if (list_of(root, "culprits")->count) str_append(&found, ";");
        st = add_culprits(&found, &f, err);
        if (!st) st = result_end(&f, "nodes", err);
        if (remedy) str_printf(&found, ". The outputs agree with %.200s", remedy);
    }
    if (!st) st = set_texts(&f, str_text(&title), str_text(&found), err);
    if (!st) st = put_table(&f, err);
    str_deinit(&title);
    str_deinit(&found);
    result_close(&f);
    return st;
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    json_file file;
    pgy_status st = json_file_open(&file, path, err);
    if (st) return st;
    const bool is_report = is_bisection(file.root);
    json_file_close(&file);
    return is_report ? add_bisection(p, path, err) : add_replay(p, path, err);
}

const view_source view_source_search = {
    "search", "steps of searches (--save-debug-replay, where --bisect-passes --json)", accept, add};
