/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison functions, post-processing, and the options of the run. */
#include "cli/c_script/c_script.h"
#include "cli/groups/runners.h"

static void put_number(str *out, const pgy_number *v)
{
    if (v->is_integer) {
        str_append(out, "{.is_integer = true, .integer = ");
        c_integer(out, v->integer);
        str_append(out, ", .real = ");
    } else {
        str_append(out, "{.real = ");
    }
    c_real(out, v->real);
    str_append_char(out, '}');
}

static void put_numbers(const c_struct *s, const char *name, const pgy_number_map *map)
{
    if (!map->count) return;
    str_printf(s->out, "%s%s = (pgy_number_map){(const pgy_number_entry[]){", s->before, name);
    for (size_t i = 0; i < map->count; i++) {
        str_append(s->out, i ? ", {.name = " : "{.name = ");
        c_text(s->out, map->entries[i].name);
        str_append(s->out, ", .value = ");
        put_number(s->out, &map->entries[i].value);
        str_append_char(s->out, '}');
    }
    str_printf(s->out, "}, %zu}%s", map->count, s->after);
}

static void put_stats(const c_struct *s, const pgy_stat_entry *items, size_t count)
{
    static const char *const STATS[] = {[PGY_STAT_ELEMWISE] = "PGY_STAT_ELEMWISE",
                                        [PGY_STAT_MAX] = "PGY_STAT_MAX",
                                        [PGY_STAT_MEAN] = "PGY_STAT_MEAN",
                                        [PGY_STAT_MEDIAN] = "PGY_STAT_MEDIAN",
                                        [PGY_STAT_QUANTILE] = "PGY_STAT_QUANTILE"};
    if (!count) return;
    str_printf(s->out, "%sstats = (const pgy_stat_entry[]){", s->before);
    for (size_t i = 0; i < count; i++) {
        str_append(s->out, i ? ", {.name = " : "{.name = ");
        c_text(s->out, items[i].name);
        str_printf(s->out, ", .value = %s}", STATS[items[i].value]);
    }
    str_printf(s->out, "}%s", s->after);
    c_number(s, "stat_count", count);
}

static void put_function(str *out, const pgy_compare_options *o, size_t i)
{
    static const char *const KINDS[] = {[PGY_COMPARE_SIMPLE] = "PGY_COMPARE_SIMPLE",
                                        [PGY_COMPARE_INDICES] = "PGY_COMPARE_INDICES",
                                        [PGY_COMPARE_L2] = "PGY_COMPARE_L2",
                                        [PGY_COMPARE_COSINE_SIMILARITY] =
                                            "PGY_COMPARE_COSINE_SIMILARITY",
                                        [PGY_COMPARE_PSNR] = "PGY_COMPARE_PSNR",
                                        [PGY_COMPARE_SNR] = "PGY_COMPARE_SNR",
                                        [PGY_COMPARE_LPIPS] = "PGY_COMPARE_LPIPS"};
    const c_struct members = {out, "    o.", ";\n"};
    str_printf(out, "    %so = pgy_compare_options_default(%s);\n", i ? "" : "pgy_compare_options ",
               KINDS[o->kind]);
    c_flag(&members, "no_shape_check", o->no_shape_check);
    c_flag(&members, "fail_fast", o->fail_fast);
    put_numbers(&members, "threshold", &o->threshold);
    put_numbers(&members, "rtol", &o->rtol);
    put_numbers(&members, "atol", &o->atol);
    put_numbers(&members, "quantile", &o->quantile);
    put_stats(&members, o->stats, o->stat_count);
    c_flag(&members, "infinities_compare_equal", o->infinities_compare_equal);
    c_text_member(&members, "heatmap_dir", o->heatmap_dir);
    c_text_member(&members, "error_plot_dir", o->error_plot_dir);
    c_flag(&members, "show_heatmaps", o->show_heatmaps);
    c_flag(&members, "show_error_plots", o->show_error_plots);
    str_printf(out, "    %sst = pgy_compare_create(&out[%zu], &o, err);\n",
               i ? "if (!st) " : "pgy_status ", i);
}

static size_t function_count(const compare_choice *choice)
{
    return choice->script ? 1 : choice->count;
}

void c_functions(c_script *s)
{
    const compare_choice *choice = &s->plan->functions;
    str *out = &s->functions;
    str_append(out, "static pgy_status make_comparisons(pgy_compare **out, pgy_error *err)\n{\n");
    if (choice->script) {
        str_append(out, "    return pgy_compare_script_create(out, ");
        c_text(out, choice->script);
        str_append(out, ", err);\n}\n\n");
    } else {
        for (size_t i = 0; i < choice->count; i++) put_function(out, &choice->options[i], i);
        str_append(out, "    return st;\n}\n\n");
    }
    str_printf(&s->variables, "    pgy_compare *comparisons[%zu] = {NULL};\n",
               function_count(choice));
    str_append(&s->steps, "    pgy_status st = make_comparisons(comparisons, err);\n");
    c_release(s, "for (size_t i = 0; i < %zu; i++) pgy_compare_destroy(comparisons[i]);",
              function_count(choice));
    if (!s->plan->postprocess_script) return;
    c_release(s, "pgy_postprocess_script_destroy(script);");
    str_append(&s->variables, "    pgy_postprocess_script *script = NULL;\n");
    str_append(&s->steps, "    if (!st) st = pgy_postprocess_script_create(&script, ");
    c_text(&s->steps, s->plan->postprocess_script);
    str_append(&s->steps, ", err);\n");
}

/* ---- The options of the run ----------------------------------------------------------------- */

static void put_top_k(str *out, const pgy_postprocess *p)
{
    str_append(out, "    static const pgy_top_k TOP_K[] = {\n");
    for (size_t i = 0; i < p->top_k_count; i++) {
        const pgy_top_k *t = &p->top_k[i];
        str_append(out, "        {.output = ");
        c_text(out, t->output);
        str_append(out, ", .k = ");
        c_integer(out, t->k);
        if (t->has_axis) {
            str_append(out, ", .has_axis = true, .axis = ");
            c_integer(out, t->axis);
        }
        str_append(out, "},\n");
    }
    str_append(out, "    };\n    const pgy_postprocess postprocess = {.size = sizeof postprocess,\n"
                    "                                         .top_k = TOP_K,\n"
                    "                                         .top_k_count = sizeof TOP_K / sizeof "
                    "*TOP_K};\n");
}

static void put_judge(str *out, const pgy_judge_options *j, size_t count)
{
    const c_struct members = {out, "    judge.", ";\n"};
    str_append(out, "    pgy_judge_options judge = pgy_judge_options_default();\n");
    c_member(&members, "comparisons", "(const pgy_compare *const *)comparisons");
    c_member(&members, "comparison_count", "%zu", count);
    c_flag(&members, "fail_fast", j->fail_fast);
    c_flag(&members, "check_average", j->check_average);
    c_flag(&members, "validate", j->validate);
    c_flag(&members, "compat", j->compat);
}

static void put_run(str *out, const pgy_run_options *o)
{
    const c_struct members = {out, "    options.", ";\n"};
    str_append(out, "    pgy_run_options options = pgy_run_options_default();\n");
    c_flag(&members, "sequential", o->sequential);
    c_number(&members, "warm_up", o->warm_up);
    c_flag(&members, "use_subprocess", o->use_subprocess);
    c_real_member(&members, "subprocess_timeout_s", o->subprocess_timeout_s);
    c_text_member(&members, "save_inputs", o->save_inputs);
    c_text_member(&members, "save_outputs", o->save_outputs);
    c_text_member(&members, "save_input_blob", o->save_input_blob);
    c_text_member(&members, "save_accuracy", o->save_accuracy);
    c_texts_member(&members, "load_outputs", "load_output_count", o->load_outputs,
                   o->load_output_count);
    c_texts_member(&members, "reports", "report_count", o->reports, o->report_count);
    if (o->model_path) c_member(&members, "model_path", "MODEL");
    c_member(&members, "judge", "&judge");
    c_member(&members, "keep_verdicts", "%s", o->keep_verdicts ? "true" : "false");
}

void c_options(c_script *s)
{
    const pgy_run_options *o = s->plan->options;
    const size_t runner_count = ARGS_OF(s->line, runner_args)->names.count;
    const size_t count = function_count(&s->plan->functions);
    str *out = &s->variables;
    put_judge(out, o->judge, count);
    const bool top_k = !s->plan->postprocess_script && o->postprocess->top_k_count;
    if (top_k) put_top_k(out, o->postprocess);
    put_run(out, o);
    if (top_k) str_append(out, "    options.postprocess = &postprocess;\n");
    if (s->plan->postprocess_script)
        str_append(&s->steps,
                   "    if (!st) options.postprocess = pgy_postprocess_script_use(script);\n");
    if (runner_count) {
        str_append(out, "    pgy_data_loader *data = NULL;\n");
        str_append(&s->steps, "    if (!st) st = make_data(&data, err);\n"
                              "    options.loader = data;\n");
        c_release(s, "pgy_data_loader_destroy(data);");
    }
    str_append(out, "    pgy_run_report *report = NULL;\n");
    str_printf(&s->steps, "    if (!st) st = pgy_run(&report, %s, %zu, &options, err);\n",
               runner_count ? "runners" : "NULL", runner_count);
    str_append(&s->steps, "    if (!st) *passed = pgy_run_report_passed(report);\n");
    c_release(s, "pgy_run_report_destroy(report);");
}
