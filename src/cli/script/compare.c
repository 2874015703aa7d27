/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison functions, post-processing and verdict as Python. */
#include "cli/groups/compare.h"

#include <string.h>

#include "cli/args/values.h"
#include "cli/script/script.h"

static const char MODULE[] = "comparator";

/* ---- Functions ------------------------------------------------------------------------------ */

static pgy_status put_shape_check(py_script *s, py_call *c, const char *key, pgy_error *err)
{
    (void)err;
    if (ARGS_OF(s->line, compare_args)->no_shape_check) py_raw(c, key, "False");
    return PGY_OK;
}

static pgy_status put_fail_fast(py_script *s, py_call *c, const char *key, pgy_error *err)
{
    (void)err;
    py_flag(c, key, ARGS_OF(s->line, compare_args)->judge.fail_fast);
    return PGY_OK;
}

#define MEMBER(key_, kind_, member_)                                           \
    {                                                                          \
        .key = key_, .kind = kind_, .offset = offsetof(function_args, member_) \
    }
#define SHAPES                                                            \
    {                                                                     \
        .key = "check_shapes", .kind = PY_OTHER, .write = put_shape_check \
    }
#define FAST                                                         \
    {                                                                \
        .key = "fail_fast", .kind = PY_OTHER, .write = put_fail_fast \
    }

static const py_row SIMPLE[] = {
    MEMBER("rtol", PY_MAP, rtol),
    MEMBER("atol", PY_MAP, atol),
    SHAPES,
    FAST,
    MEMBER("check_error_stat", PY_MAP, stat),
    MEMBER("infinities_compare_equal", PY_FLAG, infinities_equal),
    MEMBER("save_heatmaps", PY_TEXT, heatmap_dir),
    MEMBER("show_heatmaps", PY_FLAG, show_heatmaps),
    MEMBER("save_error_metrics_plot", PY_TEXT, error_plot_dir),
    MEMBER("show_error_metrics_plot", PY_FLAG, show_error_plots),
    MEMBER("error_quantile", PY_MAP, quantile),
};
static const py_row INDICES[] = {MEMBER("index_tolerance", PY_MAP, index_tolerance), FAST};
static const py_row L2[] = {MEMBER("l2_threshold", PY_MAP, l2), SHAPES, FAST};
static const py_row COSINE[] = {MEMBER("cosine_similarity_threshold", PY_MAP, cosine_similarity),
                                SHAPES, FAST};
static const py_row PSNR[] = {MEMBER("psnr_threshold", PY_MAP, psnr), SHAPES, FAST};
static const py_row SNR[] = {MEMBER("snr_threshold", PY_MAP, snr), SHAPES, FAST};
static const py_row LPIPS[] = {MEMBER("lpips_threshold", PY_MAP, lpips), SHAPES, FAST};

/* `words`: the values of --compare that select the function. */
static const struct {
    const char *words, *name, *class;
    const py_row *rows;
    size_t count;
} FUNCTIONS[] = {
#define FUNCTION(words_, name_, class_, rows_)                     \
    {                                                              \
        words_, name_, class_, rows_, sizeof rows_ / sizeof *rows_ \
    }
    FUNCTION("simple", "simple_compare_func", "SimpleCompareFunc", SIMPLE),
    FUNCTION("indices", "indices_compare_func", "IndicesCompareFunc", INDICES),
    FUNCTION("l2 distance_metrics", "l2_compare_func", "L2CompareFunc", L2),
    FUNCTION("cosine_similarity distance_metrics", "cosine_similarity_compare_func",
             "CosineSimilarityCompareFunc", COSINE),
    FUNCTION("psnr quality_metrics", "psnr_compare_func", "PsnrCompareFunc", PSNR),
    FUNCTION("snr quality_metrics", "snr_compare_func", "SnrCompareFunc", SNR),
    FUNCTION("perceptual_metrics", "perceptual_metrics_compare_func",
             "PerceptualMetricsCompareFunc", LPIPS),
};
enum { FUNCTION_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS };

static bool has_word(const char *words, const char *wanted)
{
    span word;
    for (size_t i = 0; option_word(&word, words, i); i++)
        if (span_equals(word, wanted)) return true;
    return false;
}

/* Adds function `i`. A function without options among others has a variable; alone it is None. */
static pgy_status put_function(str *out, py_script *s, size_t i, bool none, pgy_error *err)
{
    const function_args *f = ARGS_OF(s->line, function_args);
    py_call c = py_call_of(FUNCTIONS[i].class);
    const pgy_status st = py_rows(s, &c, FUNCTIONS[i].rows, FUNCTIONS[i].count, f, err);
    none &= !c.any;
    const char *text = py_call_end(s, &c);
    if (st) return st;
    if (out->size > 1) str_append(out, ", ");
    if (none) {
        str_append(out, "None");
        return PGY_OK;
    }
    py_import(s, MODULE, FUNCTIONS[i].class);
    str_append(out, py_variable(s, &s->functions, FUNCTIONS[i].name, text));
    return PGY_OK;
}

static pgy_status invoke(str *out, py_script *s, const char *text, const char *function,
                         pgy_error *err)
{
    const char *path = NULL, *given = NULL;
    const pgy_status st = value_script(&path, &given, text, s->memory, err);
    if (st) return st;
    py_call c = py_call_of("InvokeFromScript");
    py_import(s, "backend.common", "InvokeFromScript");
    py_value(&c, NULL, path);
    py_value(&c, "name", given ? given : function);
    str_append(out, py_call_end(s, &c));
    return PGY_OK;
}

pgy_status script_functions(str *out, py_script *s, pgy_error *err)
{
    static const char *const SIMPLE_WORD[] = {"simple"};
    const compare_args *c = ARGS_OF(s->line, compare_args);
    const char *const *words = c->functions.given ? c->functions.items : SIMPLE_WORD;
    const size_t count = c->functions.given ? c->functions.count : 1;
    bool used[FUNCTION_COUNT] = {false};
    pgy_status st = PGY_OK;
    str_append_char(out, '[');
    if (c->script) st = invoke(out, s, c->script, "compare_outputs", err);
    for (size_t w = 0; !c->script && w < count; w++)
        for (size_t i = 0; !st && i < FUNCTION_COUNT; i++) {
            if (used[i] || !has_word(FUNCTIONS[i].words, words[w])) continue;
            used[i] = true;
            st = put_function(out, s, i, i == 0, err);
        }
    str_append_char(out, ']');
    return st;
}

/* ---- After the runners ---------------------------------------------------------------------- */

static void put_run(str *out, py_script *s, bool streaming)
{
    const inference_args *i = ARGS_OF(s->line, inference_args);
    py_call c = py_call_of("Comparator.run");
    py_raw(&c, NULL, "runners");
    if (i->run.warm_up) str_printf(py_argument(&c, "warm_up"), "%zu", i->run.warm_up);
    if (s->loader) py_raw(&c, "data_loader", s->loader);
    py_flag(&c, "use_subprocess", i->run.use_subprocess);
    if (i->run.save_inputs) py_value(&c, "save_inputs_path", i->run.save_inputs);
    if (i->run.save_outputs) py_value(&c, "save_outputs_path", i->run.save_outputs);
    if (i->run.save_input_blob) py_value(&c, "save_input_blob_path", i->run.save_input_blob);
    py_flag(&c, "streaming", streaming);
    str_printf(out, "# Runner Execution\n%s = %s\n\n", streaming ? "run_stream" : "results",
               py_call_end(s, &c));
}

static void put_inputs(str *out, py_script *s, bool ran, bool streaming)
{
    const compare_args *c = ARGS_OF(s->line, compare_args);
    str_printf(out, "# Comparison Inputs\nruns = [%s",
               !ran        ? ""
               : streaming ? "run_stream"
                           : "results");
    for (size_t i = 0; i < c->load_outputs.count; i++) {
        py_call load = py_call_of(streaming ? "RunResults.load_streaming" : "RunResults.load");
        py_value(&load, NULL, c->load_outputs.items[i]);
        py_flag(&load, "allow_dirs", streaming);
        py_import(s, MODULE, "RunResults");
        str_printf(out, "%s%s", ran || i ? ", " : "", py_call_end(s, &load));
    }
    str_append(out, "]\n");
}

static void put_top_k(str *out, const postprocess_args *p)
{
    str_append(out, "TopKPostprocessFunc({");
    for (size_t i = 0; i < p->top_k_count; i++) {
        const pgy_top_k *k = &p->top_k[i];
        if (i) str_append(out, ", ");
        py_text(out, k->output);
        if (k->has_axis)
            str_printf(out, ": (%lld, %lld)", (long long)k->k, (long long)k->axis);
        else
            str_printf(out, ": %lld", (long long)k->k);
    }
    str_append(out, "})");
}

static pgy_status put_postprocess(str *out, py_script *s, pgy_error *err)
{
    const postprocess_args *p = ARGS_OF(s->line, postprocess_args);
    pgy_status st = PGY_OK;
    if (!p->script && !p->top_k_count) return st;
    str_append(out, "\n# Postprocessing\nruns = Comparator.postprocess(runs, ");
    if (p->script) {
        st = invoke(out, s, p->script, "postprocess_outputs", err);
    } else {
        py_import(s, MODULE, "TopKPostprocessFunc");
        put_top_k(out, p);
    }
    str_append(out, ")\n");
    return st;
}

static void put_verdict(str *out, py_script *s, const char *functions)
{
    const compare_args *c = ARGS_OF(s->line, compare_args);
    py_call call = py_call_of("Comparator.compare_accuracy");
    py_raw(&call, NULL, "runs");
    py_raw(&call, "compare_func", functions);
    py_flag(&call, "fail_fast", c->judge.fail_fast);
    py_flag(&call, "check_average", c->judge.check_average);
    const char *text = py_call_end(s, &call);
    str_append(out, "\n# Accuracy Comparison\n");
    if (!c->save_accuracy) {
        str_printf(out, "success = bool(%s)\n", text);
        return;
    }
    str_printf(out, "accuracy_results = %s\naccuracy_results.save(", text);
    py_text(out, c->save_accuracy);
    str_append(out, ")\nsuccess = bool(accuracy_results)\n");
}

pgy_status script_comparison(str *out, py_script *s, bool ran, const char *functions,
                             pgy_error *err)
{
    const compare_args *c = ARGS_OF(s->line, compare_args);
    const bool streaming = !ARGS_OF(s->line, inference_args)->run.sequential;
    const char *const validate = "Comparator.validate(runs, check_inf=True, check_nan=True)";
    if (ran) put_run(out, s, streaming);
    put_inputs(out, s, ran, streaming);
    const pgy_status st = put_postprocess(out, s, err);
    if (c->judge.validate && streaming)
        str_printf(out, "\n# Output Validation\nruns = %s\n", validate);
    put_verdict(out, s, functions);
    if (c->judge.validate && !streaming) str_printf(out, "success &= all(%s)\n", validate);
    str_printf(out, "\n# Report Results\nif not success:\n    raise %s('FAILED')\n",
               script_exception(s));
    return st;
}
