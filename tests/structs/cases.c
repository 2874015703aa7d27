/* SPDX-License-Identifier: Apache-2.0 */
/* For each struct that a caller gives: the whole of it, its defaults, and a call that says in `seen`
 * what it did. For each that the library gives: the size that it wrote. `check` includes this file
 * into a program that runs every older form. */
#include <polygraphy/bisect_rewrites.h>
#include <polygraphy/debug.h>
#include <polygraphy/noise.h>
#include <polygraphy/perf.h>
#include <polygraphy/plugin_tune.h>
#include <polygraphy/polygraphy.h>
#include <polygraphy/record.h>
#include <polygraphy/route.h>
#include <polygraphy/saved.h>
#include <polygraphy/where.h>
#include <polygraphy/decode.h>

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static pgy_model *model;
static const char *model_path, *folder, *helper_path;
static char seen[512];

#define SAY(...) snprintf(seen, sizeof seen, __VA_ARGS__)
/* Ends the case with an error. */
#define TRY(call)                      \
    do {                               \
        const pgy_status st_ = (call); \
        if (st_) return st_;           \
    } while (0)

static bool start(const char *path, const char *scratch, const char *helper)
{
    pgy_error err = {0};
    model_path = path;
    folder = scratch;
    helper_path = helper;
    if (!pgy_model_load(&model, path, NULL, &err)) return true;
    fprintf(stderr, "%s\n", err.text);
    return false;
}

static void finish(void)
{
    pgy_model_destroy(model);
}

/* ---- What every struct is put through -------------------------------------------------------- */

static bool fail(const char *name, const char *what, const pgy_error *err)
{
    printf("structs: %s: %s: %s\n", name, what, err->text);
    return false;
}

/* A copy of the first `size` bytes, with its own size in front, that ends where memory ends. */
static void *at_the_edge(const void *whole, size_t size, size_t known)
{
    static char *page;
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (!page) {
        page = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED || mprotect(page + bytes, bytes, PROT_NONE)) abort();
    }
    char *at = page + bytes - size;
    memset(page, 0, bytes);
    memcpy(at, whole, size < known ? size : known);
    memcpy(at, &size, sizeof size);
    return at;
}

typedef pgy_status (*erased)(const void *given, pgy_error *err);

/* One that ends behind some member: the same as the whole struct with defaults in place of the rest. */
static bool check_older(const char *name, erased call, const void *whole, const void *defaults, size_t size, size_t older)
{
    char expected[sizeof seen], what[64];
    pgy_error err = {0}, ignored = {0};
    char *mixed = malloc(size);
    memcpy(mixed, defaults, size);
    memcpy(mixed + sizeof older, (const char *)whole + sizeof older, older - sizeof older);
    SAY("nothing");
    const pgy_status wanted = call(mixed, &ignored);
    memcpy(expected, seen, sizeof seen);
    free(mixed);
    SAY("nothing");
    const pgy_status st = call(at_the_edge(whole, older, size), &err);
    snprintf(what, sizeof what, "a caller's %zu of %zu bytes", older, size);
    if (st != wanted) return fail(name, what, &err);
    if (strcmp(seen, expected)) {
        printf("structs: %s: %s: '%s' instead of '%s'\n", name, what, seen, expected);
        return false;
    }
    return true;
}

static bool check_newer(const char *name, erased call, const void *whole, size_t size)
{
    char expected[sizeof seen];
    pgy_error err = {0};
    SAY("nothing");
    if (call(whole, &err)) return fail(name, "the whole struct", &err);
    memcpy(expected, seen, sizeof seen);
    char *newer = at_the_edge(whole, size + 16, size);
    if (call(newer, &err) || strcmp(seen, expected)) return fail(name, "a newer struct", &err);
    newer[size + 7] = 1;
    if (call(newer, &err) != PGY_E_ARGUMENT && !strstr(err.text, name)) return fail(name, "an unknown field", &err);
    if (!strstr(err.text, name)) return fail(name, "an unknown field", &err);
    newer = at_the_edge(whole, size, size);
    memset(newer, 0, sizeof(size_t));
    if (!call(newer, &err) || !strstr(err.text, name)) return fail(name, "a size of 0", &err);
    return true;
}

static bool check_taken(const char *name, erased call, const void *whole, const void *defaults, size_t size, const size_t *older, size_t count)
{
    bool ok = check_newer(name, call, whole, size);
    for (size_t i = 0; i < count; i++) ok &= check_older(name, call, whole, defaults, size, older[i]);
    return ok;
}

static bool check_given(const char *name, size_t given, size_t size)
{
    if (given != size) printf("structs: %s: the library says %zu bytes instead of %zu\n", name, given, size);
    return given == size;
}

#define WHOLE(type, ...)                                   \
    static type whole_##type(void)                         \
    {                                                      \
        return (type){.size = sizeof(type), __VA_ARGS__};  \
    }
#define DEFAULTS(type, ...)                                \
    static type defaults_##type(void)                      \
    {                                                      \
        return (type){.size = sizeof(type), __VA_ARGS__};  \
    }
#define CALL(type) static pgy_status call_##type(const type *o, pgy_error *err)

/* ---- Models and graphs ----------------------------------------------------------------------- */

WHOLE(pgy_model_load_options, .external_data_dir = ".", .allow_outside = true)
DEFAULTS(pgy_model_load_options, .external_data_dir = NULL)
CALL(pgy_model_load_options)
{
    pgy_model *m = NULL;
    pgy_loader *l = NULL;
    TRY(pgy_model_load(&m, model_path, o, err));
    SAY("%s", pgy_model_external_data_dir(m));
    pgy_model_destroy(m);
    TRY(pgy_loader_from_path(&l, model_path, o, err));
    pgy_loader_destroy(l);
    return PGY_OK;
}

WHOLE(pgy_model_save_options, .external_data = true, .external_data_path = "weights.bin", .size_threshold = 0)
static pgy_model_save_options defaults_pgy_model_save_options(void)
{
    return pgy_model_save_options_default();
}
CALL(pgy_model_save_options)
{
    char path[512], weights[512];
    pgy_loader *l = NULL;
    snprintf(path, sizeof path, "%s/saved.onnx", folder);
    snprintf(weights, sizeof weights, "%s/weights.bin", folder);
    unlink(weights);
    TRY(pgy_model_save(model, path, o, err));
    SAY("%s", access(weights, F_OK) ? "one file" : "weights.bin");
    TRY(pgy_loader_from_path(&l, model_path, NULL, err));
    const pgy_status st = pgy_loader_save(&l, path, o, err);
    pgy_loader_destroy(l);
    return st;
}

WHOLE(pgy_text_options, .edge_items = 1, .threshold = 2, .line_width = 20)
DEFAULTS(pgy_text_options, .edge_items = 0)
CALL(pgy_text_options)
{
    static float values[] = {1, 2, 3, 4};
    static const int64_t shape[] = {4};
    char *text = NULL;
    TRY(pgy_view_text(&text, pgy_view_of(values, PGY_F32, 1, shape), o, err));
    SAY("%s", text);
    pgy_text_free(text);
    return PGY_OK;
}

static pgy_metadata *known_inputs(void)
{
    static pgy_metadata *m;
    static int64_t shape[] = {2};
    const pgy_tensor_info info = {.name = "x", .dtype = PGY_F32, .rank = 1, .shape = shape};
    if (!m && (pgy_metadata_create(&m, NULL) || pgy_metadata_set(m, &info, NULL))) abort();
    return m;
}

WHOLE(pgy_infer_options, .strict = true)
DEFAULTS(pgy_infer_options, .strict = false)
CALL(pgy_infer_options)
{
    pgy_graph *g = NULL;
    TRY(pgy_graph_import(&g, model, err));
    const pgy_status st = pgy_graph_infer_shapes(g, o, err);
    SAY("%zu nodes", g->node_count);
    pgy_graph_destroy(g);
    return st;
}

WHOLE(pgy_output_selection, .mark_all = true)
DEFAULTS(pgy_output_selection, .mark_all = false)
CALL(pgy_output_selection)
{
    pgy_graph *g = NULL;
    pgy_loader *l = NULL;
    TRY(pgy_graph_import(&g, model, err));
    pgy_status st = pgy_graph_select_outputs(g, o, err);
    SAY("%zu outputs", g->output_count);
    pgy_graph_destroy(g);
    if (!st) st = pgy_loader_from_path(&l, model_path, NULL, err);
    if (!st) st = pgy_loader_select_outputs(&l, o, err);
    pgy_loader_destroy(l);
    return st;
}

WHOLE(pgy_half_options, .dtype = PGY_BF16)
static pgy_half_options defaults_pgy_half_options(void)
{
    return pgy_half_options_default();
}
CALL(pgy_half_options)
{
    pgy_graph *g = NULL;
    pgy_loader *l = NULL;
    TRY(pgy_graph_import(&g, model, err));
    pgy_status st = pgy_graph_convert_half(g, o, err);
    SAY("%zu nodes", g->node_count);
    pgy_graph_destroy(g);
    if (!st) st = pgy_loader_from_path(&l, model_path, NULL, err);
    if (!st) st = pgy_loader_convert_half(&l, o, err);
    pgy_loader_destroy(l);
    return st;
}

WHOLE(pgy_fold_options, .keep_shapes = true, .passes = 1)
static pgy_fold_options defaults_pgy_fold_options(void)
{
    return pgy_fold_options_default();
}
CALL(pgy_fold_options)
{
    pgy_graph *g = NULL;
    pgy_fold_report report = {0};
    TRY(pgy_graph_import(&g, model, err));
    const pgy_status st = pgy_graph_fold_constants(g, o, &report, err);
    SAY("%zu passes", report.passes);
    pgy_graph_destroy(g);
    return st;
}

WHOLE(pgy_simplify_options, .no_check = true, .opset = 18)
static pgy_simplify_options defaults_pgy_simplify_options(void)
{
    pgy_simplify_options o = pgy_simplify_options_default();
    o.no_check = true; /* there are no samples */
    return o;
}
CALL(pgy_simplify_options)
{
    pgy_model *made = NULL;
    pgy_simplify_report *report = NULL;
    TRY(pgy_model_simplify(&made, model, o, &report, err));
    SAY("opset %lld", (long long)pgy_model_opset(pgy_model_proto(made), ""));
    pgy_simplify_report_destroy(report);
    pgy_model_destroy(made);
    return PGY_OK;
}

WHOLE(pgy_strip_options, .exclude_count = 0)
DEFAULTS(pgy_strip_options, .exclude_count = 0)
CALL(pgy_strip_options)
{
    pgy_model *made = NULL;
    size_t count = 0;
    TRY(pgy_model_strip_weights(&made, &count, model, o, err));
    SAY("%zu weights", count);
    pgy_model_destroy(made);
    return PGY_OK;
}

WHOLE(pgy_reconstruct_options, .seed = 3, .keep_marks = true)
DEFAULTS(pgy_reconstruct_options, .seed = 1)
CALL(pgy_reconstruct_options)
{
    pgy_model *made = NULL;
    size_t count = 0;
    TRY(pgy_model_reconstruct_weights(&made, &count, model, o, err));
    SAY("%zu weights", count);
    pgy_model_destroy(made);
    return PGY_OK;
}

WHOLE(pgy_memory_options, .sort = true, .in_place = true)
DEFAULTS(pgy_memory_options, .sort = false)
CALL(pgy_memory_options)
{
    pgy_graph *g = NULL;
    pgy_memory *m = NULL;
    TRY(pgy_graph_import(&g, model, err));
    const pgy_status st = pgy_memory_create(&m, g, o, err);
    if (m) SAY("%llu bytes", (unsigned long long)pgy_memory_summarize(m)->peak_bytes);
    pgy_memory_destroy(m);
    pgy_graph_destroy(g);
    return st;
}

WHOLE(pgy_floor_options, .assume = PGY_F16, .sums = PGY_F16, .draws = 3, .seed = 7, .max_bytes = 1,
      .max_steps = 1000, .own = true)
DEFAULTS(pgy_floor_options, .draws = 0)
CALL(pgy_floor_options)
{
    pgy_floor *f = NULL;
    pgy_tensor_map *feed = NULL;
    TRY(pgy_record_feed(&feed, model, NULL, err));
    pgy_status st = pgy_floor_create(&f, model, o, err);
    if (!st) st = pgy_floor_add(f, feed, err);
    const pgy_floor_tensor *t = st ? NULL : pgy_floor_at(f, 0);
    if (t) SAY("%llu elements, %.17g", (unsigned long long)t->count, t->rms);
    pgy_floor_destroy(f);
    pgy_tensor_map_destroy(feed);
    return st;
}

WHOLE(pgy_nan_options, .model_precision = true, .assume = PGY_F16, .max_origins = 2,
      .max_steps = 1000)
DEFAULTS(pgy_nan_options, .max_origins = 0)
CALL(pgy_nan_options)
{
    pgy_nan_search *s = NULL;
    pgy_tensor_map *feed = NULL;
    TRY(pgy_record_feed(&feed, model, NULL, err));
    pgy_status st = pgy_nan_create(&s, model, o, err);
    if (!st) st = pgy_nan_add(s, feed, err);
    if (!st) SAY("%llu tensors", (unsigned long long)pgy_nan_checked(s));
    pgy_nan_destroy(s);
    pgy_tensor_map_destroy(feed);
    return st;
}

static pgy_status report_noise(const pgy_noise_reports *reports, const pgy_noise_report_options *o,
                               pgy_error *err)
{
    char *text = NULL;
    const pgy_status st = pgy_noise_text(&text, reports, o, err);
    if (!st) SAY("%.400s", text);
    pgy_text_free(text);
    return st;
}

WHOLE(pgy_noise_reports, .floor = NULL)
DEFAULTS(pgy_noise_reports, .floor = NULL)
CALL(pgy_noise_reports)
{
    return report_noise(o, NULL, err);
}

WHOLE(pgy_noise_report_options, .model = "m.onnx", .max_rows = 1, .more = "x")
DEFAULTS(pgy_noise_report_options, .max_rows = 0)
CALL(pgy_noise_report_options)
{
    return report_noise(NULL, o, err);
}

WHOLE(pgy_diff_options, .structure_only = true, .order = true, .atol = 0.5)
DEFAULTS(pgy_diff_options, .order = false)
CALL(pgy_diff_options)
{
    pgy_diff *d = NULL;
    TRY(pgy_diff_create(&d, model, model, o, err));
    SAY("%llu differences", (unsigned long long)pgy_diff_summarize(d)->differences);
    pgy_diff_destroy(d);
    return PGY_OK;
}

WHOLE(pgy_diff_report_options, .before = "old", .after = "new", .all = true, .more = "x", .ignore_unread = true)
DEFAULTS(pgy_diff_report_options, .all = false)
CALL(pgy_diff_report_options)
{
    pgy_diff *d = NULL;
    char *text = NULL;
    TRY(pgy_diff_create(&d, model, model, NULL, err));
    pgy_status st = pgy_diff_text(&text, d, o, err);
    if (text) SAY("%.400s", text);
    pgy_text_free(text);
    text = NULL;
    if (!st) st = pgy_diff_json(&text, d, o, err);
    pgy_text_free(text);
    pgy_diff_destroy(d);
    return st;
}

WHOLE(pgy_memory_report_options, .model = "m.onnx", .all = true, .more = "x", .sort_advice = "y")
DEFAULTS(pgy_memory_report_options, .all = false)
CALL(pgy_memory_report_options)
{
    pgy_graph *g = NULL;
    pgy_memory *m = NULL;
    char *text = NULL;
    TRY(pgy_graph_import(&g, model, err));
    pgy_status st = pgy_memory_create(&m, g, NULL, err);
    if (!st) st = pgy_memory_text(&text, m, o, err);
    if (text) SAY("%.400s", text);
    pgy_text_free(text);
    text = NULL;
    if (!st) st = pgy_memory_json(&text, m, o, err);
    pgy_text_free(text);
    pgy_memory_destroy(m);
    pgy_graph_destroy(g);
    return st;
}

WHOLE(pgy_describe_options, .layers = true, .attributes = true)
DEFAULTS(pgy_describe_options, .layers = false)
CALL(pgy_describe_options)
{
    char *text = NULL;
    TRY(pgy_model_text(&text, model, o, err));
    SAY("%zu characters", strlen(text));
    pgy_text_free(text);
    return PGY_OK;
}

WHOLE(pgy_saved_text_options, .all = true, .values = true, .edge_items = 2, .line_width = 40)
static pgy_saved_text_options defaults_pgy_saved_text_options(void)
{
    return pgy_saved_text_options_default();
}
CALL(pgy_saved_text_options)
{
    char path[512], *text = NULL;
    pgy_results *r = NULL;
    snprintf(path, sizeof path, "%s/results.json", folder);
    pgy_status st = pgy_results_create(&r, err);
    if (!st) st = pgy_results_add_runner(r, "r", NULL, err);
    if (!st) st = pgy_results_save(r, path, err);
    if (!st) st = pgy_saved_text(&text, path, o, err);
    if (text) SAY("%.400s", text);
    pgy_text_free(text);
    pgy_results_destroy(r);
    return st;
}

WHOLE(pgy_lint_options, .static_only = true)
DEFAULTS(pgy_lint_options, .static_only = true)
CALL(pgy_lint_options)
{
    pgy_loader *loader = NULL;
    pgy_lint *l = NULL;
    TRY(pgy_loader_from_model(&loader, model, err));
    const pgy_status st = pgy_lint_create(&l, loader, o, err);
    if (l) SAY("%zu findings", pgy_lint_count(l));
    pgy_lint_destroy(l);
    pgy_loader_destroy(loader);
    return st;
}

/* ---- Surgery --------------------------------------------------------------------------------- */

static const char *const EVERY_NODE[] = {"*"};
WHOLE(pgy_cut_selection, .nodes = EVERY_NODE, .node_count = 1)
DEFAULTS(pgy_cut_selection, .node_count = 0)
CALL(pgy_cut_selection)
{
    pgy_cut *c = NULL;
    TRY(pgy_cut_create(&c, model, o, err));
    SAY("%zu nodes", pgy_cut_node_count(c));
    pgy_cut_destroy(c);
    return PGY_OK;
}

#define GS_CALL(type, function)                    \
    CALL(type)                                     \
    {                                              \
        pgy_gs_graph *g = NULL;                    \
        TRY(pgy_gs_import(&g, model, err));        \
        const pgy_status st = function(g, o, err); \
        SAY("%zu nodes", g->node_count);           \
        pgy_gs_destroy(g);                         \
        return st;                                 \
    }
WHOLE(pgy_gs_cleanup_options, .remove_unused_node_outputs = true, .keep_functions = true)
DEFAULTS(pgy_gs_cleanup_options, .keep_functions = false)
GS_CALL(pgy_gs_cleanup_options, pgy_gs_cleanup)
WHOLE(pgy_gs_sort_options, .stable = true, .nodes_only = true)
DEFAULTS(pgy_gs_sort_options, .stable = false)
GS_CALL(pgy_gs_sort_options, pgy_gs_toposort)
WHOLE(pgy_gs_fold_options, .keep_shapes = true, .size_threshold = 100)
static pgy_gs_fold_options defaults_pgy_gs_fold_options(void)
{
    return pgy_gs_fold_options_default();
}
GS_CALL(pgy_gs_fold_options, pgy_gs_fold_constants)

WHOLE(pgy_gs_export_options, .no_type_check = true)
DEFAULTS(pgy_gs_export_options, .no_type_check = false)
CALL(pgy_gs_export_options)
{
    pgy_gs_graph *g = NULL;
    pgy_model *made = NULL;
    TRY(pgy_gs_import(&g, model, err));
    const pgy_status st = pgy_gs_export(&made, g, o, err);
    SAY("%d", made != NULL);
    pgy_model_destroy(made);
    pgy_gs_destroy(g);
    return st;
}

/* Lists are cut off behind their addresses, so there are none. */
WHOLE(pgy_gs_template_options, .external_data_dir = "weights", .infer_shapes = true, .half = true, .external_data = true, .writer = "me")
DEFAULTS(pgy_gs_template_options, .half = false)
CALL(pgy_gs_template_options)
{
    char *text = NULL;
    TRY(pgy_gs_template_text(&text, "m.onnx", o, err));
    SAY("%zu characters", strlen(text));
    pgy_text_free(text);
    return PGY_OK;
}

static pgy_shard_options whole_pgy_shard_options(void)
{
    pgy_shard_options o = pgy_shard_options_default();
    o.nb_rank = 4;
    o.no_io = true;
    return o;
}
static pgy_shard_options defaults_pgy_shard_options(void)
{
    return pgy_shard_options_default();
}
CALL(pgy_shard_options)
{
    pgy_gs_graph *g = NULL;
    pgy_shard_hints *hints = NULL;
    TRY(pgy_gs_import(&g, model, err));
    const pgy_status st = pgy_shard_suggest(&hints, g, o, err);
    if (hints) SAY("%lld ranks", (long long)hints->nb_rank);
    pgy_shard_hints_destroy(hints);
    pgy_gs_destroy(g);
    return st;
}

/* ---- Data and comparison --------------------------------------------------------------------- */

static pgy_status next(pgy_tensor_map **out, void *user, pgy_error *err)
{
    (void)user, (void)err;
    *out = NULL;
    return PGY_OK;
}
static pgy_status again(void *user, pgy_error *err)
{
    (void)user, (void)err;
    return PGY_OK;
}
WHOLE(pgy_data_loader_functions, .next = next, .rewind = again)
DEFAULTS(pgy_data_loader_functions, .next = NULL)
CALL(pgy_data_loader_functions)
{
    pgy_data_loader *l = NULL;
    TRY(pgy_data_loader_create(&l, o, NULL, err));
    SAY("%s", pgy_status_name(pgy_data_loader_rewind(l, NULL)));
    pgy_data_loader_destroy(l);
    return PGY_OK;
}

static const pgy_value_range RANGE = {.name = "", .low = 5, .high = 6};
WHOLE(pgy_random_options, .seed = 3, .iterations = 2, .ranges = &RANGE, .range_count = 1, .strict = true)
static pgy_random_options defaults_pgy_random_options(void)
{
    return pgy_random_options_default();
}
static pgy_status lint_with(const pgy_random_options *o, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_lint *l = NULL;
    const pgy_lint_options lint = {.size = sizeof lint, .backend = pgy_backend_find("opref"), .random = o};
    TRY(pgy_loader_from_model(&loader, model, err));
    const pgy_status st = pgy_lint_create(&l, loader, &lint, err);
    pgy_lint_destroy(l);
    pgy_loader_destroy(loader);
    return st;
}
CALL(pgy_random_options)
{
    pgy_data_loader *l = NULL;
    pgy_tensor_map *feed = NULL;
    TRY(lint_with(o, err));
    TRY(pgy_random_loader_create(&l, o, err));
    pgy_status st = pgy_data_loader_set_metadata(l, known_inputs(), err);
    if (!st) st = pgy_data_loader_next(&feed, l, err);
    if (feed) SAY("%g", *(const float *)pgy_tensor_data(pgy_tensor_map_at(feed, 0)));
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(l);
    return st;
}

WHOLE(pgy_compare_options, .kind = PGY_COMPARE_L2, .label = "mine")
static pgy_compare_options defaults_pgy_compare_options(void)
{
    return pgy_compare_options_default(PGY_COMPARE_SIMPLE);
}
CALL(pgy_compare_options)
{
    pgy_compare *c = NULL;
    TRY(pgy_compare_create(&c, o, err));
    pgy_compare_destroy(c);
    return PGY_OK;
}

WHOLE(pgy_judge_options, .compat = true)
static pgy_judge_options defaults_pgy_judge_options(void)
{
    return pgy_judge_options_default();
}
CALL(pgy_judge_options)
{
    bool passed = false;
    pgy_run_report *report = NULL;
    pgy_run_options run = pgy_run_options_default();
    TRY(pgy_compare_accuracy(NULL, &passed, NULL, 0, o, err));
    run.judge = o;
    TRY(pgy_run(&report, NULL, 0, &run, err));
    SAY("%d %d", (int)passed, (int)pgy_run_report_passed(report));
    pgy_run_report_destroy(report);
    return PGY_OK;
}

static const pgy_top_k LARGEST[] = {{.output = "y", .k = 1}};
static pgy_status forget_outputs(pgy_iteration *iteration, void *user, pgy_error *err)
{
    (void)err;
    pgy_tensor_map_clear(iteration->outputs);
    if (user) ++*(size_t *)user; /* older callers have none */
    return PGY_OK;
}
static size_t forgotten;
WHOLE(pgy_postprocess, .top_k = LARGEST, .top_k_count = 1, .callback = forget_outputs, .user = &forgotten, .name = "forget")
DEFAULTS(pgy_postprocess, .top_k = NULL)
CALL(pgy_postprocess)
{
    static const float values[] = {1, 3, 2};
    static const int64_t shape[] = {3};
    pgy_results *results = NULL;
    pgy_tensor_map *outputs = NULL;
    pgy_tensor *y = NULL;
    size_t runner = 0;
    pgy_run_report *report = NULL;
    pgy_run_options run = pgy_run_options_default();
    run.postprocess = o;
    forgotten = 0;
    TRY(pgy_run(&report, NULL, 0, &run, err));
    pgy_run_report_destroy(report);
    TRY(pgy_results_create(&results, err));
    TRY(pgy_tensor_map_create(&outputs, err));
    TRY(pgy_tensor_copy(&y, pgy_view_of((void *)values, PGY_F32, 1, shape), err));
    TRY(pgy_tensor_map_adopt(outputs, "y", y, err));
    TRY(pgy_results_add_runner(results, "r", &runner, err));
    TRY(pgy_results_add(results, runner, outputs, 1, err));
    const pgy_status st = pgy_postprocess_apply(results, o, err);
    if (!st) {
        const pgy_tensor_map *now = pgy_results_at(results, runner, 0)->outputs;
        const pgy_tensor *left = pgy_tensor_map_count(now) ? pgy_tensor_map_at(now, 0) : NULL;
        SAY("%zu outputs, %s, %zu forgotten", pgy_tensor_map_count(now), left ? pgy_dtype_name(pgy_tensor_dtype(left)) : "-", forgotten);
    }
    pgy_tensor_map_destroy(outputs);
    pgy_results_destroy(results);
    return st;
}

static const pgy_judge_options COMPAT = {.size = sizeof COMPAT, .compat = true};
WHOLE(pgy_run_options, .sequential = true, .warm_up = 1, .judge = &COMPAT, .model_path = "m.onnx")
static pgy_run_options defaults_pgy_run_options(void)
{
    return pgy_run_options_default();
}
CALL(pgy_run_options)
{
    pgy_run_report *report = NULL;
    pgy_results *results = NULL;
    TRY(pgy_run(&report, NULL, 0, o, err));
    SAY("%d", (int)pgy_run_report_passed(report));
    pgy_run_report_destroy(report);
    TRY(pgy_infer_all(&results, NULL, 0, o, err));
    pgy_results_destroy(results);
    return PGY_OK;
}

static const char *const A_TENSOR[] = {"y"};
WHOLE(pgy_record_options, .names = A_TENSOR, .name_count = 1, .backend = "opref")
DEFAULTS(pgy_record_options, .backend = NULL)
CALL(pgy_record_options)
{
    pgy_tensor_map *values = NULL;
    TRY(pgy_record(&values, model, o, err));
    SAY("%zu tensors", pgy_tensor_map_count(values));
    pgy_tensor_map_destroy(values);
    return PGY_OK;
}

/* ---- The first wrong tensor ------------------------------------------------------------------- */

static pgy_status say_where(const pgy_where_side *a, const pgy_where_options *o, pgy_error *err)
{
    const pgy_where_side b = {.size = sizeof b, .backend = pgy_backend_find("opref"), .model = model};
    pgy_where_report *r = NULL;
    TRY(pgy_where(&r, a, &b, o, err));
    SAY("%zu tensors, passed %d", pgy_where_report_count(r), pgy_where_report_passed(r));
    pgy_where_report_destroy(r);
    return PGY_OK;
}
WHOLE(pgy_where_side, .backend = pgy_backend_find("opref"), .model = model)
DEFAULTS(pgy_where_side, .backend = NULL)
CALL(pgy_where_side)
{
    return say_where(o, NULL, err);
}
WHOLE(pgy_where_options, .max_memory = 9000, .skip_inside = true, .rtol = 1, .atol = 1,
      .judge = "floor", .worst_count = 2, .floor_times = 5, .max_steps = 1000)
static pgy_where_options defaults_pgy_where_options(void)
{
    return pgy_where_options_default();
}
CALL(pgy_where_options)
{
    const pgy_where_side a = {.size = sizeof a, .backend = pgy_backend_find("opref"), .model = model};
    return say_where(&a, o, err);
}

/* ---- Decoding --------------------------------------------------------------------------------- */

static bool never(void *user)
{
    (void)user;
    return false;
}

static const char *llama_path(void)
{
    static char path[512];
    const char *slash = strrchr(model_path, '/');
    snprintf(path, sizeof path, "%.*s/llama.onnx", (int)(slash - model_path), model_path);
    return path;
}

static const int64_t SOME_IDS[] = {3, 1, 4}, SOME_SHAPE[] = {1, 3};
static const char *const SOME_CACHES[] = {"past_key_values.*=present.*"};
static const pgy_decode_role SOME_ROLES[] = {{"input_ids", "tokens"}};
static const pgy_number_entry HALF = {"", {.real = 0.5}};
static pgy_decode_options whole_pgy_decode_options(void)
{
    static pgy_tensor *ids;
    static pgy_model *llama;
    static const pgy_random_options random = {.size = sizeof random, .seed = 5, .iterations = 1};
    static const pgy_floor_options floor = {.size = sizeof floor, .draws = 2};
    if (!ids && pgy_tensor_copy(&ids, pgy_view_of((void *)SOME_IDS, PGY_I64, 2, SOME_SHAPE), NULL)) abort();
    if (!llama && pgy_model_load(&llama, llama_path(), NULL, NULL)) abort();
    return (pgy_decode_options){.size = sizeof(pgy_decode_options), .steps = 3, .ids = ids, .prompt_length = 2, .caches = SOME_CACHES, .cache_count = 1,
                                .roles = SOME_ROLES, .role_count = 1, .free_running = true, .random = &random, .judge = "floor", .floor_times = 50,
                                .model = llama, .floor = &floor, .rtol = {&HALF, 1}, .atol = {&HALF, 1}, .cancelled = never, .copy_caches = true};
}
static pgy_decode_options defaults_pgy_decode_options(void)
{
    return pgy_decode_options_default();
}
CALL(pgy_decode_options)
{
    pgy_model_source source;
    pgy_runner *runner = NULL;
    pgy_decode_report *r = NULL;
    TRY(pgy_source_from_path(&source, llama_path(), err));
    TRY(pgy_runner_create(&runner, pgy_backend_find("opref"), &source, NULL, "opref", err));
    const pgy_status st = pgy_decode(&r, &runner, 1, o, err);
    if (!st)
        SAY("%zu steps, %lld", pgy_decode_report_step_count(r), (long long)pgy_decode_report_choice(r, 0, 0, pgy_decode_report_step_count(r) - 1));
    pgy_decode_report_destroy(r);
    pgy_runner_destroy(runner);
    return st;
}

/* ---- Plug-ins --------------------------------------------------------------------------------- */

static const char *plugin_folder(void)
{
    static char path[512];
    const char *slash = strstr(model_path, "/models/");
    snprintf(path, sizeof path, "%.*s/plugins", (int)(slash - model_path), model_path);
    return path;
}

static const char *const A_PLUGIN[] = {"soft_clip"};
static pgy_plugin_selection whole_pgy_plugin_selection(void)
{
    return (pgy_plugin_selection){.size = sizeof(pgy_plugin_selection), .dir = plugin_folder(), .exclude = A_PLUGIN, .exclude_count = 1};
}
DEFAULTS(pgy_plugin_selection, .dir = NULL)
CALL(pgy_plugin_selection)
{
    pgy_plugin_names names = {0};
    TRY(pgy_plugin_choose(&names, o, err));
    SAY("%zu plugins", names.count);
    pgy_plugin_names_free(&names);
    return PGY_OK;
}

static pgy_plugin_tune_options whole_pgy_plugin_tune_options(void)
{
    return (pgy_plugin_tune_options){
        .size = sizeof(pgy_plugin_tune_options), .dir = plugin_folder(), .exhaustive = true, .max_combinations = 1};
}
DEFAULTS(pgy_plugin_tune_options, .dir = NULL)
CALL(pgy_plugin_tune_options)
{
    const pgy_plugin_config none = {0};
    pgy_plugin_tuning *t = NULL;
    TRY(pgy_plugin_tune(&t, model, &none, o, err));
    SAY("%zu places", pgy_plugin_tuning_count(t));
    pgy_plugin_tuning_destroy(t);
    return PGY_OK;
}

/* ---- Precisions ------------------------------------------------------------------------------ */

static pgy_precision_options whole_pgy_precision_options(void)
{
    return (pgy_precision_options){.size = sizeof(pgy_precision_options),
                                   .type = PGY_I8,
                                   .criterion = PGY_PRECISION_TOP_K,
                                   .limit = 0.5,
                                   .k = 1,
                                   .samples = 3,
                                   .max_bytes = 1 << 20,
                                   .script = "judge.py",
                                   .cost = PGY_PRECISION_BYTES,
                                   .times = "times.json",
                                   .calibrator = PGY_CALIBRATOR_ENTROPY,
                                   .quantile = 0.5,
                                   .smooth = 0.5,
                                   .asymmetric = true,
                                   .adaptive_rounding = true,
                                   .bias_correction = true,
                                   .tries = PGY_PRECISION_TRY_ALL,
                                   .rest_type = PGY_F16};
}
static pgy_precision_options defaults_pgy_precision_options(void)
{
    return pgy_precision_options_default();
}
CALL(pgy_precision_options)
{
    const pgy_random_options random = pgy_random_options_default();
    pgy_data_loader *data = NULL;
    pgy_precision *p = NULL;
    TRY(pgy_random_loader_create(&data, &random, err));
    const pgy_status st = pgy_precision_search(&p, model, data, o, err);
    if (!st) SAY("%zu layers, limit %g", pgy_precision_layer_count(p), pgy_precision_summarize(p)->limit_error);
    pgy_precision_destroy(p);
    pgy_data_loader_destroy(data);
    return st;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static pgy_perf_options whole_pgy_perf_options(void)
{
    pgy_perf_options o = pgy_perf_options_default();
    o.iterations = 2;
    o.warm_up_ms = o.duration_s = 0;
    o.threads = 1;
    return o;
}
DEFAULTS(pgy_perf_options, .iterations = 10, .warm_up_ms = 200, .duration_s = 3, .streams = 1)
CALL(pgy_perf_options)
{
    pgy_engine *engine = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_perf_trace *t = NULL;
    TRY(pgy_engine_build(&engine, model, NULL, err));
    TRY(pgy_perf_inputs(&feed, engine, 0, NULL, 0, err));
    TRY(pgy_perf_measure(&t, NULL, engine, feed, o, err));
    SAY("%d", pgy_perf_trace_count(t) >= 2);
    pgy_perf_trace_destroy(t);
    pgy_tensor_map_destroy(feed);
    pgy_engine_release(engine);
    return PGY_OK;
}

static pgy_bench_options whole_pgy_bench_options(void)
{
    return (pgy_bench_options){.size = sizeof(pgy_bench_options), .duration_s = 2, .slices = 8, .seed = 2,
                               .warm_up_ms = 0, .confidence = 0.6, .least_effect = 0.9};
}
DEFAULTS(pgy_bench_options, .duration_s = 10, .slices = 40, .seed = 1, .warm_up_ms = 200, .confidence = 0.99,
         .least_effect = 0.01)
CALL(pgy_bench_options)
{
    static const char *const NAMES[] = {"a", "b"};
    pgy_bench *b = NULL;
    pgy_bench_verdict v;
    TRY(pgy_bench_create(&b, NAMES, 2, o, err));
    for (int64_t i = 0; i < 8; i++) {
        const int64_t times[] = {1000, 1100 + i};
        TRY(pgy_bench_add(b, 0, &times[0], 1, false, err));
        TRY(pgy_bench_add(b, 1, &times[1], 1, false, err));
    }
    TRY(pgy_bench_judge(&v, b, 1, 0, err));
    SAY("%s, %g to %g, %g s", pgy_bench_outcome_name(v.outcome), v.low, v.high, v.needed_s);
    pgy_bench_destroy(b);
    return PGY_OK;
}

static pgy_tensor_map *one_value(float v)
{
    static const int64_t shape[] = {1};
    pgy_tensor_map *m = NULL;
    pgy_tensor *t = NULL;
    if (pgy_tensor_map_create(&m, NULL) || pgy_tensor_create(&t, PGY_F32, 1, shape, NULL)) abort();
    *(float *)pgy_tensor_data(t) = v;
    if (pgy_tensor_map_adopt(m, "y", t, NULL)) abort();
    return m;
}

static pgy_status give_one(const pgy_tensor_map *feed, pgy_tensor_map *out, void *user, pgy_error *err)
{
    pgy_tensor_map *m = one_value(1);
    (void)feed;
    (void)user;
    const pgy_status st = pgy_tensor_map_set(out, "y", pgy_tensor_map_find(m, "y"), err);
    pgy_tensor_map_destroy(m);
    return st;
}

static const pgy_results *saved_half(void)
{
    static pgy_results *r;
    pgy_tensor_map *m = one_value(0.5f);
    if (!r && (pgy_results_create(&r, NULL) || pgy_results_add_runner(r, "saved", NULL, NULL) ||
               pgy_results_add(r, 0, m, 0, NULL)))
        abort();
    pgy_tensor_map_destroy(m);
    return r;
}

static const pgy_compare_options *wide_tolerances(void)
{
    static const pgy_number_entry ONE[] = {{"", {.real = 1}}};
    static pgy_compare_options o;
    o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o.atol = (pgy_number_map){ONE, 1};
    return &o;
}

WHOLE(pgy_bench_reference, .name = "saved", .results = saved_half(), .tolerances = wide_tolerances())
DEFAULTS(pgy_bench_reference, .name = NULL)
CALL(pgy_bench_reference)
{
    pgy_bench_side side = {.name = "one"};
    pgy_bench_options options = pgy_bench_options_default();
    pgy_bench_accuracy a;
    pgy_bench *b = NULL;
    const pgy_tensor_map *const nothing[] = {saved_half() ? one_value(0) : NULL};
    options.duration_s = 1e-4;
    options.slices = 8;
    options.warm_up_ms = 0;
    options.reference = o;
    TRY(pgy_runner_create_callback(&side.runner, "one", NULL, give_one, NULL, err));
    TRY(pgy_list_loader_create(&side.data, nothing, 1, err));
    const pgy_status st = pgy_bench_measure(&b, &side, 1, &options, err);
    if (!st && pgy_bench_check(&a, b, 0)) SAY("%s, %d, %d, %g", a.reference, a.measured, a.passed, a.error);
    pgy_bench_destroy(b);
    pgy_runner_destroy(side.runner);
    pgy_data_loader_destroy(side.data);
    pgy_tensor_map_destroy((pgy_tensor_map *)nothing[0]);
    return st;
}

static pgy_perf_text_options whole_pgy_perf_text_options(void)
{
    static const double P[] = {50};
    return (pgy_perf_text_options){.size = sizeof(pgy_perf_text_options), .percentiles = P, .percentile_count = 1,
                                   .average_runs = 1, .has_warm_up = true, .warm_up_ms = 7};
}
DEFAULTS(pgy_perf_text_options, .percentiles = NULL)
CALL(pgy_perf_text_options)
{
    static const pgy_perf_run RUN = {0, 1, 0, 0, 0, 1, 1, 1};
    pgy_perf_trace *t = NULL;
    char *text = NULL;
    TRY(pgy_perf_trace_create(&t, &RUN, 1, err));
    TRY(pgy_perf_text(&text, t, o, err));
    SAY("%.300s", text);
    pgy_text_free(text);
    pgy_perf_trace_destroy(t);
    return PGY_OK;
}

static pgy_perf_summary whole_pgy_perf_summary(void)
{
    static const double P[] = {50};
    return (pgy_perf_summary){.size = sizeof(pgy_perf_summary), .command_line = "x", .percentiles = P,
                              .percentile_count = 1, .streams = 2, .engine_s = 3, .plan_bytes = 4};
}
DEFAULTS(pgy_perf_summary, .percentiles = NULL)
CALL(pgy_perf_summary)
{
    static const pgy_perf_run RUN = {0, 1, 0, 0, 0, 1, 1, 1};
    pgy_perf_trace *t = NULL;
    char *text = NULL;
    TRY(pgy_perf_trace_create(&t, &RUN, 1, err));
    TRY(pgy_perf_summary_text(&text, t, o, err));
    SAY("%.450s", text);
    pgy_text_free(text);
    pgy_perf_trace_destroy(t);
    return PGY_OK;
}

/* ---- Routes ---------------------------------------------------------------------------------- */

static pgy_route_options whole_pgy_route_options(void)
{
    static const char *const WORDS[] = {"true"};
    pgy_route_options o = pgy_route_options_default();
    o.expression = "-level=[2|5]";
    o.cache = "none";
    o.timeout_s = 0;
    o.command = WORDS;
    o.command_count = 1;
    o.loss = PGY_LOSS_L1;
    o.atol = o.rtol = 1;
    return o;
}
DEFAULTS(pgy_route_options, .cache = "best_config.json", .timeout_s = -1, .loss = PGY_LOSS_LINF, .atol = 1e-5,
         .rtol = 1e-5)
CALL(pgy_route_options)
{
    pgy_route_search *s = NULL;
    char *text = NULL;
    TRY(pgy_route_search_create(&s, o, err));
    TRY(pgy_route_search_text(&text, s, err));
    SAY("%.400s", text);
    pgy_text_free(text);
    pgy_route_search_destroy(s);
    return PGY_OK;
}

static pgy_route_answer whole_pgy_route_answer(void)
{
    static const pgy_route_loss LOSS = {"y", 0.5};
    return (pgy_route_answer){.size = sizeof(pgy_route_answer), .gpu_time_ms = 2, .accuracy_failed = true,
                              .losses = &LOSS, .loss_count = 1};
}
DEFAULTS(pgy_route_answer, .gpu_time_ms = 0)
CALL(pgy_route_answer)
{
    char path[512], text[300] = "";
    snprintf(path, sizeof path, "%s/answer", folder);
    TRY(pgy_route_answer_save(path, o, err));
    FILE *file = fopen(path, "r");
    if (!file || !fread(text, 1, sizeof text - 1, file)) return PGY_E_IO;
    fclose(file);
    SAY("%s", text);
    return PGY_OK;
}

/* ---- Timelines ------------------------------------------------------------------------------- */

static pgy_trace_options whole_pgy_trace_options(void)
{
    return (pgy_trace_options){.size = sizeof(pgy_trace_options), .runs = 1, .max_events = 5, .align = true};
}
DEFAULTS(pgy_trace_options, .runs = 20, .max_events = 1000000)
CALL(pgy_trace_options)
{
    pgy_trace *t = NULL;
    TRY(pgy_trace_start(o, err));
    for (int i = 0; i < 8; i++) {
        pgy_trace_phase_begin("phase");
        pgy_trace_phase_end();
    }
    TRY(pgy_trace_stop(&t, err));
    SAY("%zu %s", pgy_trace_event_count(t), pgy_trace_fact(t, "dropped_events"));
    pgy_trace_destroy(t);
    return PGY_OK;
}

/* The times of one run. */
static pgy_status small_summary(pgy_trace_summary **out, const pgy_trace_summary_options *o, pgy_error *err)
{
    const pgy_trace_row row = {1, 0, "one", "layers"};
    pgy_trace_event e = {.kind = PGY_TRACE_SLICE, .name = "x", .category = "kernel", .duration_ns = 1000};
    pgy_trace *t = NULL;
    pgy_status st = pgy_trace_create(&t, err);
    if (!st) st = pgy_trace_add_row(&e.row, t, &row, err);
    if (!st) st = pgy_trace_add(t, &e, NULL, err);
    e.start_ns = 2500; /* 1.5 us behind the first one */
    if (!st) st = pgy_trace_add(t, &e, NULL, err);
    e.category = "layer";
    e.is_warm_up = e.has_run = true;
    if (!st) st = pgy_trace_add(t, &e, NULL, err);
    if (!st) st = pgy_trace_summary_create(out, t, o, err);
    pgy_trace_destroy(t);
    return st;
}

static pgy_trace_summary_options whole_pgy_trace_summary_options(void)
{
    static const pgy_machine_peaks peaks = {.gflops = 100, .gb_per_s = 10, .threads = 1};
    return (pgy_trace_summary_options){
        .size = sizeof(pgy_trace_summary_options), .name = "n", .category = "kernel", .with_warm_up = true, .gap_us = 2, .peaks = &peaks};
}
DEFAULTS(pgy_trace_summary_options, .with_warm_up = false)
CALL(pgy_trace_summary_options)
{
    pgy_trace_summary *s = NULL;
    const pgy_status st = small_summary(&s, o, err);
    if (st == PGY_E_ARGUMENT) return st;
    const pgy_trace_process *p = s ? pgy_trace_summary_at(s, 0) : NULL;
    SAY("%d %zu %zu %zu %.300s", st, s ? pgy_trace_summary_count(s) : 0, p ? p->gap_count : 0, p ? p->roof_count : 0, st ? err->text : "");
    pgy_trace_summary_destroy(s);
    return PGY_OK;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

WHOLE(pgy_page_options, .title = "t", .command = "c", .embed_values = 100, .layout_seconds = 3, .flat = true)
DEFAULTS(pgy_page_options, .flat = false)
CALL(pgy_page_options)
{
    char path[512], start[200] = "";
    pgy_page *page = NULL;
    TRY(pgy_page_create(&page, o, err));
    snprintf(path, sizeof path, "%s/page.json", folder);
    pgy_status st = pgy_page_add_model(page, model, "m", err);
    if (!st) st = pgy_page_save(page, path, err);
    FILE *file = st ? NULL : fopen(path, "r");
    if (file && fread(start, 1, sizeof start - 1, file)) SAY("%.190s", start);
    if (file) fclose(file);
    pgy_page_destroy(page);
    return st;
}

WHOLE(pgy_picture_options, .quantity = "", .theme = PGY_THEME_DARK, .scale = 3, .attributes = true, .types = true)
DEFAULTS(pgy_picture_options, .scale = 0)
CALL(pgy_picture_options)
{
    char path[512], start[200] = "";
    pgy_page *page = NULL;
    TRY(pgy_page_create(&page, NULL, err));
    snprintf(path, sizeof path, "%s/page.svg", folder);
    pgy_status st = pgy_page_add_model(page, model, "m", err);
    if (!st) st = pgy_page_draw(page, path, o, err);
    FILE *file = st ? NULL : fopen(path, "r");
    if (file) {
        const size_t read = fread(start, 1, sizeof start - 1, file);
        fseek(file, 0, SEEK_END);
        SAY("%zu %ld %.190s", read, ftell(file), start);
        fclose(file);
    }
    pgy_page_destroy(page);
    return st;
}

static void cancel_on_alarm(int number)
{
    (void)number;
    pgy_cancel();
}

static void on_address(const char *address, void *user)
{
    if (user) snprintf(user, 32, "%.21s", address); /* with the port */
}

/* Serves until an alarm. A free port depends on the machine, so only the one asked for is told. */
static char served_at[32];
WHOLE(pgy_page_serve_options, .port = 38471, .ready = on_address, .user = served_at)
DEFAULTS(pgy_page_serve_options, .port = 0)
CALL(pgy_page_serve_options)
{
    pgy_page *page = NULL;
    memset(served_at, 0, sizeof served_at);
    TRY(pgy_page_create(&page, NULL, err));
    pgy_status st = pgy_page_add_model(page, model, "m", err);
    signal(SIGALRM, cancel_on_alarm);
    const struct itimerval soon = {.it_value = {.tv_usec = 200000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    if (!st) st = pgy_page_serve(page, o, err);
    pgy_cancel_reset();
    const bool is_wanted = strstr(served_at, ":38471") != NULL;
    SAY("%s %s", pgy_status_name(st), is_wanted ? served_at : *served_at ? "some port" : "nobody is told");
    pgy_page_destroy(page);
    return st == PGY_E_CANCELLED ? PGY_OK : st;
}

static pgy_machine_options whole_pgy_machine_options(void)
{
    return (pgy_machine_options){.size = sizeof(pgy_machine_options), .seconds = 0.001, .again = true, .keeps_none = true};
}
DEFAULTS(pgy_machine_options, .seconds = 0.002)
CALL(pgy_machine_options)
{
    pgy_machine_peaks peaks;
    setenv("XDG_CACHE_HOME", "/dev/null", 1); /* a probe this short is worth nothing to others */
    const pgy_status st = pgy_machine_peaks_get(&peaks, o, err);
    if (!st) SAY("%d %d", peaks.gflops > 0, peaks.is_cached);
    return st;
}

static pgy_trace_report_options whole_pgy_trace_report_options(void)
{
    return (pgy_trace_report_options){.size = sizeof(pgy_trace_report_options), .all = true, .more = ", see more"};
}
DEFAULTS(pgy_trace_report_options, .all = false)
CALL(pgy_trace_report_options)
{
    const pgy_trace_summary_options all = whole_pgy_trace_summary_options();
    pgy_trace_summary *s = NULL;
    char *text = NULL;
    TRY(small_summary(&s, &all, err));
    const pgy_status st = pgy_trace_summary_text(&text, s, o, err);
    if (!st) SAY("%.300s", text);
    pgy_text_free(text);
    pgy_trace_summary_destroy(s);
    return st;
}

static pgy_trace_diff_options whole_pgy_trace_diff_options(void)
{
    return (pgy_trace_diff_options){.size = sizeof(pgy_trace_diff_options), .process_a = "one", .process_b = "two"};
}
DEFAULTS(pgy_trace_diff_options, .process_a = NULL)
CALL(pgy_trace_diff_options)
{
    const pgy_trace_summary_options all = whole_pgy_trace_summary_options();
    pgy_trace_summary *s = NULL;
    pgy_trace_diff *d = NULL;
    TRY(small_summary(&s, &all, err));
    const pgy_status st = pgy_trace_diff_create(&d, s, s, o, err);
    SAY("%d", st);
    pgy_trace_diff_destroy(d);
    pgy_trace_summary_destroy(s);
    return st == PGY_E_ARGUMENT ? st : PGY_OK;
}

/* ---- Debugging ------------------------------------------------------------------------------- */

static pgy_status judge_good(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    (void)candidate, (void)user, (void)err;
    *passed = true;
    return PGY_OK;
}

static bool end_at_once(const pgy_debug_trial *trial, void *user)
{
    (void)trial, (void)user;
    return false;
}

static pgy_status run_session(const pgy_debug_options *options, const pgy_debug_search *search, pgy_error *err)
{
    pgy_debug_session *session = NULL;
    pgy_debug_summary sum = {0};
    TRY(pgy_debug_session_create(&session, options, err));
    const pgy_status st = pgy_debug_session_run(&sum, session, search, err);
    if (!st) SAY("%zu of %zu", sum.passed, sum.trials);
    pgy_debug_session_destroy(session);
    return st;
}

static const pgy_debug_check GOOD = {.size = sizeof GOOD, .judge = judge_good};
static const pgy_debug_search ONCE = {.size = sizeof ONCE, .next = end_at_once};
static const int64_t CODES[] = {1};
static const char *const DEBUG_COMMAND[] = {"true"};

WHOLE(pgy_debug_check, .command = DEBUG_COMMAND, .command_count = 1, .fail_codes = CODES, .fail_code_count = 1, .pass_codes = CODES, .pass_code_count = 1,
      .show = PGY_DEBUG_SHOW_NONE, .timeout_s = 100)
DEFAULTS(pgy_debug_check, .command = NULL)
CALL(pgy_debug_check)
{
    pgy_debug_options options = pgy_debug_options_default();
    options.check = o;
    return run_session(&options, &ONCE, err);
}

WHOLE(pgy_debug_options, .check = &GOOD, .artifact_dir = ".", .keep_candidate = true)
static pgy_debug_options defaults_pgy_debug_options(void)
{
    return pgy_debug_options_default();
}
CALL(pgy_debug_options)
{
    return run_session(o, &ONCE, err);
}

WHOLE(pgy_debug_search, .phase = "outputs", .next = end_at_once)
DEFAULTS(pgy_debug_search, .phase = NULL)
CALL(pgy_debug_search)
{
    pgy_debug_options options = pgy_debug_options_default();
    options.check = &GOOD;
    return run_session(&options, o, err);
}

WHOLE(pgy_debug_reduce_options, .linear = true, .keep_inputs = true, .want_good = true)
DEFAULTS(pgy_debug_reduce_options, .linear = false)
CALL(pgy_debug_reduce_options)
{
    char candidate[256];
    pgy_debug_options options = pgy_debug_options_default();
    pgy_debug_session *session = NULL;
    pgy_debug_reduction r = {0};
    snprintf(candidate, sizeof candidate, "%s/candidate.onnx", folder);
    options.check = &GOOD;
    options.candidate = candidate;
    TRY(pgy_debug_session_create(&session, &options, err));
    const pgy_status st = pgy_debug_reduce(&r, session, model, o, err);
    if (!st) SAY("%zu nodes, %zu failed, %s", r.bad_nodes, r.failed, r.good ? "a good one" : "none good");
    pgy_debug_reduction_free(&r);
    pgy_debug_session_destroy(session);
    return st;
}

static const pgy_build_config LOW_PRECISION = {.size = sizeof LOW_PRECISION, .fp16 = true};
WHOLE(pgy_debug_precision_options, .linear = true, .reverse = true, .dtype = PGY_F32, .config = &LOW_PRECISION)
DEFAULTS(pgy_debug_precision_options, .config = NULL)
CALL(pgy_debug_precision_options)
{
    char candidate[256];
    pgy_debug_options options = pgy_debug_options_default();
    pgy_debug_session *session = NULL;
    pgy_debug_precision found = {0};
    snprintf(candidate, sizeof candidate, "%s/candidate.plan", folder);
    options.check = &GOOD;
    options.candidate = candidate;
    TRY(pgy_debug_session_create(&session, &options, err));
    const pgy_status st = pgy_debug_precision_find(&found, session, model, o, err);
    if (!st) SAY("%zu of %zu layers", found.count, found.layer_count);
    pgy_debug_precision_free(&found);
    pgy_debug_session_destroy(session);
    return st;
}

WHOLE(pgy_debug_errors_options, .runner = "opref", .reference = "opref")
DEFAULTS(pgy_debug_errors_options, .reference = NULL)
CALL(pgy_debug_errors_options)
{
    pgy_debug_errors errors = {0};
    const pgy_status st = pgy_debug_errors_measure(&errors, model, o, err);
    if (!st) SAY("%zu tensors", errors.count);
    pgy_debug_errors_free(&errors);
    return st;
}

/* ---- Rewrites -------------------------------------------------------------------------------- */

WHOLE(pgy_rewrite_options, .reference = "opref")
DEFAULTS(pgy_rewrite_options, .reference = NULL)
CALL(pgy_rewrite_options)
{
    pgy_rewrite_report *r = NULL;
    TRY(pgy_bisect_passes(&r, model, o, err));
    SAY("cause %d, %zu culprits", (int)pgy_rewrite_report_cause(r), pgy_rewrite_report_count(r));
    pgy_rewrite_report_destroy(r);
    return PGY_OK;
}

/* ---- Minimising ------------------------------------------------------------------------------ */

static pgy_status find_add(pgy_debug_finding *out, pgy_model *part, const pgy_tensor_map *const *feeds, size_t count,
                           void *user, pgy_error *err)
{
    (void)part, (void)feeds, (void)count, (void)user, (void)err;
    out->outcome = PGY_DEBUG_MISMATCH;
    return PGY_OK;
}

static pgy_status minimise(pgy_debug_minimum *found, const pgy_debug_minimise_options *o, pgy_error *err)
{
    pgy_debug_options options = pgy_debug_options_default();
    pgy_debug_session *session = NULL;
    pgy_tensor_map *feed = NULL;
    options.check = &GOOD;
    TRY(pgy_record_feed(&feed, model, NULL, err));
    const pgy_tensor_map *const feeds[] = {feed};
    pgy_status st = pgy_debug_session_create(&session, &options, err);
    if (!st) st = pgy_debug_minimise(found, session, model, feeds, 1, o, err);
    pgy_debug_session_destroy(session);
    pgy_tensor_map_destroy(feed);
    return st;
}

WHOLE(pgy_debug_judge_options, .runner = "opref", .reference = "opref", .timeout_s = 9)
DEFAULTS(pgy_debug_judge_options, .runner = NULL)
CALL(pgy_debug_judge_options)
{
    pgy_debug_judge *judge = NULL;
    pgy_debug_finding found = {0};
    pgy_tensor_map *feed = NULL;
    TRY(pgy_debug_judge_create(&judge, o, err));
    pgy_status st = pgy_record_feed(&feed, model, NULL, err);
    const pgy_tensor_map *const feeds[] = {feed};
    if (!st) st = pgy_debug_judge_run(&found, NULL, judge, model, feeds, 1, err);
    if (!st) SAY("%s", pgy_debug_outcome_name(found.outcome));
    pgy_tensor_map_destroy(feed);
    pgy_debug_judge_destroy(judge);
    return st;
}

WHOLE(pgy_debug_minimise_options, .on = PGY_DEBUG_MISMATCH, .test = find_add, .nodes_only = true, .record_backend = "opref")
DEFAULTS(pgy_debug_minimise_options, .nodes_only = false)
CALL(pgy_debug_minimise_options)
{
    pgy_debug_minimum found = {0};
    TRY(minimise(&found, o, err));
    SAY("%zu nodes, %zu evaluations", found.nodes, found.evaluations);
    pgy_debug_minimum_free(&found);
    return PGY_OK;
}

WHOLE(pgy_debug_repro_options, .runner = "opref", .source = "net.onnx")
DEFAULTS(pgy_debug_repro_options, .runner = NULL)
CALL(pgy_debug_repro_options)
{
    static int number;
    const pgy_debug_minimise_options how = {
        .size = sizeof how, .on = PGY_DEBUG_MISMATCH, .test = find_add, .nodes_only = true, .record_backend = "opref"};
    char path[300];
    pgy_debug_minimum found = {0};
    TRY(minimise(&found, &how, err));
    snprintf(path, sizeof path, "%s/repro%d", folder, number++);
    const pgy_status st = pgy_debug_repro_save(path, &found, o, err);
    if (!st) SAY("%zu nodes", found.nodes);
    pgy_debug_minimum_free(&found);
    return st;
}

/* ---- The engine ------------------------------------------------------------------------------ */

static pgy_status build(const pgy_build_config *config, pgy_error *err)
{
    pgy_engine *e = NULL;
    TRY(pgy_engine_build(&e, model, config, err));
    const pgy_build_config *kept = pgy_engine_config(e);
    SAY("%zu threads, verbosity %d, budget %d %g", kept->threads, (int)kept->profiling_verbosity, (int)kept->weight_budget, kept->weight_budget_percent);
    pgy_engine_release(e);
    return PGY_OK;
}

WHOLE(pgy_build_config, .threads = 1, .refittable = true, .profiling_verbosity = PGY_VERBOSITY_NONE, .weight_budget = PGY_WEIGHT_BUDGET_PERCENT, .weight_budget_percent = 12.5)
DEFAULTS(pgy_build_config, .threads = 0)
CALL(pgy_build_config)
{
    return build(o, err);
}

WHOLE(pgy_calibration, .kind = PGY_CALIBRATOR_MIN_MAX, .quantile = 0.25)
DEFAULTS(pgy_calibration, .quantile = 0)
CALL(pgy_calibration)
{
    const pgy_build_config config = {.size = sizeof config, .calibration = o};
    return build(&config, err);
}

static size_t phases;
static void count_phase(void *user, const char *phase, const char *parent, size_t step_count)
{
    (void)user, (void)phase, (void)parent, (void)step_count;
    phases++;
}
static size_t rewrites, rewrite_size;
static pgy_status count_rewrite(const pgy_rewrite *r, void *user, pgy_error *err)
{
    (void)user, (void)err;
    rewrites++;
    rewrite_size = r->size;
    return PGY_OK;
}
WHOLE(pgy_rewrite_watch, .rewrote = count_rewrite)
DEFAULTS(pgy_rewrite_watch, .rewrote = NULL)
static pgy_status build_digits(const pgy_build_config *config, pgy_error *err)
{
    const char *slash = strrchr(model_path, '/');
    char path[512];
    pgy_model *digits = NULL;
    pgy_engine *e = NULL;
    snprintf(path, sizeof path, "%.*s/digits.onnx", (int)(slash - model_path), model_path);
    pgy_status st = pgy_model_load(&digits, path, NULL, err); /* it has layers to fuse */
    if (!st) st = pgy_engine_build(&e, digits, config, err);
    pgy_engine_release(e);
    pgy_model_destroy(digits);
    return st;
}
CALL(pgy_rewrite_watch)
{
    const pgy_build_config config = {.size = sizeof config, .rewrite_watch = o};
    rewrites = 0;
    const pgy_status st = build_digits(&config, err);
    SAY("%d", rewrites > 0);
    return st;
}

WHOLE(pgy_progress_monitor, .start = count_phase)
DEFAULTS(pgy_progress_monitor, .start = NULL)
CALL(pgy_progress_monitor)
{
    const pgy_build_config config = {.size = sizeof config, .monitor = o};
    phases = 0;
    const pgy_status st = build(&config, err);
    SAY("%d", phases > 0);
    return st;
}

WHOLE(pgy_context_options, .threads = 1, .allocation = PGY_ALLOCATION_STATIC)
DEFAULTS(pgy_context_options, .threads = 0)
CALL(pgy_context_options)
{
    pgy_engine *e = NULL;
    pgy_context *c = NULL;
    TRY(pgy_engine_build(&e, model, NULL, err));
    const pgy_status st = pgy_context_create(&c, e, o, err);
    pgy_context_destroy(c);
    pgy_engine_release(e);
    return st;
}

/* ---- What a context calls -------------------------------------------------------------------- */

/* A context of the model, with room for its output. */
typedef struct context_case {
    pgy_engine *engine;
    pgy_context *context;
    void *x;
    char y[4096];
} context_case;

static pgy_status open_context(context_case *c, const pgy_build_config *config, const pgy_context_options *options, pgy_error *err)
{
    const pgy_tensor_info *input;
    int64_t shape[8];
    size_t count = 1;
    TRY(pgy_engine_build(&c->engine, model, config, err));
    TRY(pgy_context_create(&c->context, c->engine, options, err));
    input = pgy_metadata_at(pgy_engine_inputs(c->engine), 0);
    for (int32_t i = 0; i < input->rank; i++) {
        shape[i] = input->shape[i] < 0 ? 1 : input->shape[i];
        count *= (size_t)shape[i];
    }
    c->x = calloc(count, sizeof(float));
    TRY(pgy_context_set_input_shape(c->context, input->name, (size_t)input->rank, shape, err));
    TRY(pgy_context_set_input(c->context, input->name, c->x, count * sizeof(float), err));
    return pgy_context_set_output(c->context, pgy_metadata_at(pgy_engine_outputs(c->engine), 0)->name, c->y, sizeof c->y, err);
}

static pgy_status close_context(context_case *c, pgy_status st)
{
    pgy_context_destroy(c->context);
    pgy_engine_release(c->engine);
    free(c->x);
    return st;
}

static size_t calls;
static void *count_memory(void *user, size_t size_bytes, size_t alignment)
{
    (void)user;
    calls++;
    return aligned_alloc(alignment, (size_bytes + alignment - 1) / alignment * alignment);
}
static void count_release(void *user, void *memory, size_t size_bytes)
{
    (void)user, (void)size_bytes;
    calls += 10;
    free(memory);
}
WHOLE(pgy_allocator, .allocate = count_memory, .release = count_release)
DEFAULTS(pgy_allocator, .allocate = NULL)
CALL(pgy_allocator)
{
    const pgy_context_options options = {.size = sizeof options, .allocation = PGY_ALLOCATION_STATIC, .allocator = o};
    context_case c = {0};
    calls = 0;
    const pgy_status st = close_context(&c, open_context(&c, NULL, &options, err));
    SAY("%zu", calls);
    return st;
}

static char given_room[4096];
static void *give_room(void *user, const char *name, size_t size_bytes)
{
    (void)user, (void)name;
    calls++;
    return size_bytes <= sizeof given_room ? given_room : NULL;
}
static void count_filled(void *user, const char *name, pgy_view value)
{
    (void)user, (void)name, (void)value;
    calls += 10;
}
WHOLE(pgy_output_allocator, .allocate = give_room, .filled = count_filled)
DEFAULTS(pgy_output_allocator, .allocate = NULL)
CALL(pgy_output_allocator)
{
    context_case c = {0};
    calls = 0;
    pgy_status st = open_context(&c, NULL, NULL, err);
    if (!st) st = pgy_context_set_output_allocator(c.context, pgy_metadata_at(pgy_engine_outputs(c.engine), 0)->name, o, err);
    if (!st) st = pgy_context_execute(c.context, err);
    SAY("%zu", calls);
    return close_context(&c, st);
}

static void count_layer(void *user, const char *name, double ms)
{
    (void)user, (void)name, (void)ms;
    calls++;
}
static void count_run(void *user, double ms, double layers_ms)
{
    (void)user, (void)ms, (void)layers_ms;
    calls += 100;
}
WHOLE(pgy_profiler, .layer = count_layer, .run = count_run)
DEFAULTS(pgy_profiler, .layer = NULL)
CALL(pgy_profiler)
{
    context_case c = {0};
    calls = 0;
    pgy_status st = open_context(&c, NULL, NULL, err);
    if (!st) st = pgy_context_set_profiler(c.context, o, true, err);
    if (!st) st = pgy_context_execute(c.context, err);
    SAY("%zu", calls);
    return close_context(&c, st);
}

static bool count_value(void *user, const char *name, pgy_view value)
{
    (void)user, (void)name, (void)value;
    calls++;
    return true;
}
WHOLE(pgy_debug_listener, .tensor = count_value)
DEFAULTS(pgy_debug_listener, .tensor = NULL)
CALL(pgy_debug_listener)
{
    const pgy_build_config config = {.size = sizeof config, .debug_unfused = true};
    context_case c = {0};
    calls = 0;
    pgy_status st = open_context(&c, &config, NULL, err);
    if (!st) st = pgy_context_set_debug_listener(c.context, o, err);
    if (!st) st = pgy_context_execute(c.context, err);
    SAY("%zu", calls);
    return close_context(&c, st);
}

/* ---- Runtimes and operators ------------------------------------------------------------------- */

static size_t backend_model_size;
static pgy_status stub_create(void **out, const pgy_backend_model *m, const void *options, pgy_error *err)
{
    static int instance;
    (void)options, (void)err;
    if (m) backend_model_size = m->size;
    *out = &instance;
    return PGY_OK;
}
static pgy_status stub_activate(void *runner, pgy_error *err)
{
    (void)runner, (void)err;
    return PGY_OK;
}
static pgy_status stub_describe(void *runner, pgy_metadata *out, pgy_error *err)
{
    (void)runner, (void)out, (void)err;
    return PGY_E_UNSUPPORTED;
}
static pgy_status stub_infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out, int64_t *time_ns, pgy_error *err)
{
    (void)runner, (void)feed, (void)out, (void)time_ns, (void)err;
    return PGY_OK;
}
static void stub_end(void *runner)
{
    (void)runner;
}
WHOLE(pgy_backend, .abi = PGY_BACKEND_ABI, .name = "stub", .runner_prefix = "stub", .create = stub_create, .activate = stub_activate,
      .inputs = stub_describe, .outputs = stub_describe, .infer = stub_infer, .deactivate = stub_end, .destroy = stub_end, .version = pgy_version)
DEFAULTS(pgy_backend, .abi = 0)
CALL(pgy_backend)
{
    pgy_runner *r = NULL;
    pgy_backend_options *options = NULL;
    pgy_model_source source;
    TRY(pgy_source_from_path(&source, model_path, err));
    pgy_status st = pgy_backend_options_create(&options, o, err);
    if (!st) st = pgy_runner_create(&r, o, &source, options, "r", err);
    else source.destroy(source.user);
    if (!st) st = pgy_runner_activate(r, err);
    SAY("%d", r && pgy_runner_is_active(r));
    pgy_runner_destroy(r);
    pgy_backend_options_destroy(options);
    return st;
}

static size_t given_backend_model(void)
{
    const pgy_backend b = whole_pgy_backend();
    return call_pgy_backend(&b, NULL) ? 0 : backend_model_size;
}
#define GIVEN_pgy_backend_model() given_backend_model()
#define GIVEN_pgy_backend_host() pgy_backend_host_table()->size

extern const pgy_operator_definition *helper_list[2];
extern size_t helper_host_size;

static pgy_status infer_same(pgy_operator_call *c, pgy_error *err)
{
    (void)c, (void)err;
    return PGY_OK;
}
static bool accept(pgy_tactic_use *u, double *cost_ns)
{
    (void)u, (void)cost_ns;
    return false;
}
static pgy_status run_nothing(const pgy_tactic_run *r, pgy_error *err)
{
    (void)r, (void)err;
    return PGY_OK;
}

/* A new name each time: an operator cannot be defined twice. */
static const char *new_name(void)
{
    static char names[512][16];
    static size_t count;
    snprintf(names[count], sizeof names[0], "Op%zu", count);
    return names[count++];
}

WHOLE(pgy_operator_definition, .abi = PGY_OPERATOR_ABI, .domain = "structs", .name = "", .since = 1, .max_inputs = 1, .max_outputs = 1,
      .infer = infer_same, .compute = infer_same)
DEFAULTS(pgy_operator_definition, .abi = PGY_OPERATOR_ABI)
CALL(pgy_operator_definition)
{
    pgy_operator_definition *mine = (pgy_operator_definition *)o;
    const size_t needed = offsetof(pgy_operator_definition, name) + sizeof mine->name;
    if (o->size >= needed && o->name) mine->name = new_name();
    helper_list[0] = o;
    return pgy_operators_load(helper_path, err);
}
static size_t given_operator_host(void)
{
    pgy_operator_definition d = whole_pgy_operator_definition();
    return call_pgy_operator_definition(&d, NULL) ? 0 : helper_host_size;
}
#define GIVEN_pgy_operator_host() given_operator_host()

WHOLE(pgy_operator_tactic, .name = "fast", .version = 1, .accept = accept, .run = run_nothing)
DEFAULTS(pgy_operator_tactic, .version = 0)
CALL(pgy_operator_tactic)
{
    const pgy_operator_tactic *const tactics[] = {o, NULL};
    pgy_operator_definition d = whole_pgy_operator_definition();
    d.tactics = tactics;
    return call_pgy_operator_definition(&d, err);
}

/* ---- What the library tells ------------------------------------------------------------------- */

static size_t progress_size, tensor_size;
static void hear(const pgy_progress *p, void *user)
{
    (void)user;
    progress_size = p->size;
}
static size_t given_progress(void)
{
    pgy_set_progress(hear, NULL);
    const pgy_status st = build(NULL, NULL);
    pgy_set_progress(NULL, NULL);
    return st ? 0 : progress_size;
}
#define GIVEN_pgy_progress() given_progress()

static void report(const pgy_calibrated_tensor *tensor, void *user)
{
    (void)user;
    tensor_size = tensor->size;
}

static size_t given_calibrated_tensor(void)
{
    const char *slash = strrchr(model_path, '/');
    char path[512];
    pgy_model *digits = NULL;
    pgy_data_loader *data = NULL;
    pgy_engine *e = NULL;
    const pgy_random_options random = pgy_random_options_default();
    snprintf(path, sizeof path, "%.*s/digits.onnx", (int)(slash - model_path), model_path);
    pgy_status st = pgy_model_load(&digits, path, NULL, NULL); /* it has products to compute in int8 */
    if (!st) st = pgy_random_loader_create(&data, &random, NULL);
    const pgy_calibration calibration = {.size = sizeof calibration, .data = data, .report = report};
    const pgy_build_config config = {.size = sizeof config, .int8 = true, .calibration = &calibration};
    if (!st) st = pgy_engine_build(&e, digits, &config, NULL);
    pgy_engine_release(e);
    pgy_data_loader_destroy(data);
    pgy_model_destroy(digits);
    return st ? 0 : tensor_size;
}
#define GIVEN_pgy_calibrated_tensor() given_calibrated_tensor()

static size_t given_rewrite(void)
{
    const pgy_rewrite_watch watch = whole_pgy_rewrite_watch();
    return call_pgy_rewrite_watch(&watch, NULL) ? 0 : rewrite_size;
}
#define GIVEN_pgy_rewrite() given_rewrite()

/* In float16 the outputs differ because of the pass that changes types. */
static size_t given_rewrite_culprit(void)
{
    const pgy_build_config config = {.size = sizeof config, .fp16 = true};
    const pgy_rewrite_options o = {.size = sizeof o, .config = &config};
    const char *slash = strrchr(model_path, '/');
    char path[512];
    pgy_model *block = NULL;
    pgy_rewrite_report *r = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%.*s/transformer_block.onnx", (int)(slash - model_path), model_path);
    if (!pgy_model_load(&block, path, NULL, NULL) && !pgy_bisect_passes(&r, block, &o, NULL) &&
        pgy_rewrite_report_count(r))
        size = pgy_rewrite_report_at(r, 0)->size;
    pgy_rewrite_report_destroy(r);
    pgy_model_destroy(block);
    return size;
}
#define GIVEN_pgy_rewrite_culprit() given_rewrite_culprit()
