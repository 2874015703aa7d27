/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon simplify: folds constants, fuses subgraphs into standard operators, measures each rewrite
 * on data, and reports the rewrites done and refused. */
#include <polygraphy/loader.h>
#include <polygraphy/simplify.h>

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"

static const char LOG_PATH[] = "cli/cmd_surgeon_simplify.c";

typedef struct simplify_args {
    const char *output, *report;
    pgy_text_list only, skip;
    bool batch_norm, no_check, list;
    int64_t opset;
} simplify_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", simplify_args, output, .required = true, .meta = "PATH",
                 .help = "file for the new model"),
    PGY_OPT_TEXT("--report", simplify_args, report, .meta = "PATH",
                 .help = "file for a JSON report of the rewrites that were made and refused"),
    PGY_OPT_LIST("--only", simplify_args, only, .nargs = PGY_ONE_OR_MORE, .meta = "RULE",
                 .help = "apply these rules only; constant folding always runs"),
    PGY_OPT_LIST("--skip", simplify_args, skip, .nargs = PGY_ONE_OR_MORE, .meta = "RULE",
                 .help = "do not apply these rules"),
    PGY_OPT_FLAG(
        "--fuse-batch-norm", simplify_args, batch_norm,
        .help =
            "also fuse BatchNormalization, or Mul and Add per channel, into the preceding weights"),
    PGY_OPT_INT("--opset", simplify_args, opset, .meta = "VERSION",
                .help = "convert the model to this opset first, because newer opsets have more "
                        "fused operators; default: the model's opset"),
    PGY_OPT_FLAG("--no-check", simplify_args, no_check,
                 .help = "do not measure how rewrites change results"),
    PGY_OPT_FLAG("--list", simplify_args, list, .alone = true, .help = "show the rules and exit"),
    PGY_OPT_END,
};

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(simplify_args)};
static const option_group *const GROUPS[] = {&OWN,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_DATA,
                                             &GROUP_DATA,
                                             &GROUP_ONNX_READ,
                                             &GROUP_ONNX_WRITE,
                                             &GROUP_OPERATORS,
                                             NULL};

/* ---- Inputs --------------------------------------------------------------------------------- */

enum { MAX_SETS = 4, ITERATIONS = 2 };

typedef struct sampler {
    args *line;
    pgy_data_loader *loaders[MAX_SETS];
} sampler;

/* Gets the next sample. Each set of input sizes has its own loader of generated data; data from the
 * user are set 0, and other sets are empty. */
static pgy_status sample(pgy_tensor_map **out, const pgy_metadata *inputs, size_t set, void *user,
                         pgy_error *err)
{
    sampler *s = user;
    const data_args *data = args_get(s->line, &GROUP_DATA);
    pgy_status st = PGY_OK;
    *out = NULL;
    if (set >= MAX_SETS || (set && (data->load_inputs.given || data->script))) return PGY_OK;
    if (!s->loaders[set]) {
        st = data_loader_create(&s->loaders[set], s->line, NULL, err);
        if (!st) st = pgy_data_loader_set_metadata(s->loaders[set], inputs, err);
    }
    return st ? st : pgy_data_loader_next(out, s->loaders[set], err);
}

static void sampler_deinit(sampler *s)
{
    for (size_t i = 0; i < MAX_SETS; i++) pgy_data_loader_destroy(s->loaders[i]);
}

/* ---- Report as text ------------------------------------------------------------------------- */

static pgy_status show_rules(pgy_error *err)
{
    static const char *const KINDS[] = {"exact", "measured", "on request"};
    const pgy_simplify_rule *rules;
    const size_t count = pgy_simplify_rule_list(&rules);
    str text = {0};
    for (size_t i = 0; i < count; i++)
        str_printf(&text, "%s%-14s opset %2lld, %-10s | %s", i ? "\n" : "", rules[i].name,
                   (long long)rules[i].opset, KINDS[rules[i].kind], rules[i].text);
    const pgy_status st = text.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
    if (!st) LOG(INFO, "Rules:\n%s", str_text(&text));
    str_deinit(&text);
    return st;
}

static void add_error(str *text, double error)
{
    if (error < 0)
        str_append(text, "not measured");
    else if (isinf(error))
        str_append(text, "another shape, string, NaN or infinity");
    else
        str_printf(text, "%.3g units", error);
}

static void add_changes(str *text, const pgy_simplify_report *r)
{
    const pgy_simplify_rule *rules;
    const size_t count = pgy_simplify_rule_list(&rules);
    for (size_t k = 0; k < count; k++) {
        size_t made = 0, replaced = 0;
        double error = -1;
        for (size_t i = 0; i < r->change_count; i++) {
            const pgy_simplify_change *c = &r->changes[i];
            if (strcmp(c->rule, rules[k].name) != 0) continue;
            made++;
            replaced += c->replaced;
            error = c->error > error ? c->error : error;
        }
        if (!made) continue;
        str_printf(text, "\n    %-14s %3zu made of %4zu nodes; largest change: ", rules[k].name,
                   made, replaced);
        add_error(text, error);
    }
}

static void add_refusals(str *text, const pgy_simplify_report *r)
{
    for (size_t i = 0; i < r->refusal_count; i++)
        str_printf(text, "\n    %s at '%s': %s", r->refusals[i].rule, r->refusals[i].node,
                   r->refusals[i].reason);
}

static void add_check(str *text, const pgy_simplify_report *r)
{
    double most = 0;
    const char *name = NULL;
    if (r->unchecked) {
        str_printf(text, "\nThe outputs were not checked: %s", r->unchecked);
        return;
    }
    if (!r->checked) return;
    for (size_t i = 0; i < r->output_count; i++) {
        if (name && r->outputs[i].error <= most) continue;
        most = r->outputs[i].error;
        name = r->outputs[i].name;
    }
    str_printf(text, "\nOutputs of the model on %zu sample(s)%s: ", r->samples,
               r->own_precision ? ", in its own precision" : "");
    if (most == 0) {
        str_append(text, "no change");
        return;
    }
    str_append(text, "largest change ");
    add_error(text, most);
    str_printf(text, " ('%s'; the limit is %g units)", name, PGY_SIMPLIFY_MODEL_UNITS);
}

static pgy_status show_report(const pgy_simplify_report *r, pgy_error *err)
{
    str text = {0};
    str_printf(&text, "Nodes: %zu before, %zu after (%zu by folding)", r->nodes_before,
               r->nodes_after, r->nodes_folded);
    if (r->change_count) {
        str_printf(&text, "\nRewrites: %zu", r->change_count);
        add_changes(&text, r);
    }
    if (r->refusal_count) {
        str_printf(&text, "\nRefused: %zu", r->refusal_count);
        add_refusals(&text, r);
    }
    if (r->functions)
        str_printf(&text,
                   "\nLocal functions that were not simplified: %zu; the verb 'inline' of surgeon "
                   "edit inlines them",
                   r->functions);
    add_check(&text, r);
    const pgy_status st = text.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
    if (!st) LOG(INFO, "%s", str_text(&text));
    str_deinit(&text);
    return st;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_error(json_writer *w, double error)
{
    json_key(w, "error");
    if (error < 0)
        json_null(w);
    else
        json_real(w, error);
}

static void put_change(json_writer *w, const pgy_simplify_change *c)
{
    json_begin_object(w);
    json_put_text(w, "rule", c->rule);
    json_put_text(w, "node", c->node);
    json_put_text(w, "op_type", c->op_type);
    json_put_text(w, "output", c->output);
    json_put_uint(w, "replaced", c->replaced);
    put_error(w, c->error);
    json_end_object(w);
}

static void put_report(json_writer *w, const pgy_simplify_report *r)
{
    json_begin_object(w);
    json_put_uint(w, "nodes_before", r->nodes_before);
    json_put_uint(w, "nodes_folded", r->nodes_folded);
    json_put_uint(w, "nodes_after", r->nodes_after);
    json_put_uint(w, "functions", r->functions);
    json_key(w, "rewrites");
    json_begin_array(w);
    for (size_t i = 0; i < r->change_count; i++) put_change(w, &r->changes[i]);
    json_end_array(w);
    json_key(w, "refused");
    json_begin_array(w);
    for (size_t i = 0; i < r->refusal_count; i++) {
        json_begin_object(w);
        json_put_text(w, "rule", r->refusals[i].rule);
        json_put_text(w, "at", r->refusals[i].node);
        json_put_text(w, "reason", r->refusals[i].reason);
        put_error(w, r->refusals[i].error);
        json_end_object(w);
    }
    json_end_array(w);
    json_put_bool(w, "checked", r->checked);
    json_put_text(w, "unchecked", r->unchecked);
    json_put_bool(w, "own_precision", r->own_precision);
    json_put_uint(w, "samples", r->samples);
    json_key(w, "outputs");
    json_begin_array(w);
    for (size_t i = 0; i < r->output_count; i++) {
        json_begin_object(w);
        json_put_text(w, "name", r->outputs[i].name);
        put_error(w, r->outputs[i].error);
        json_put_bool(w, "passed", r->outputs[i].passed);
        json_end_object(w);
    }
    json_end_array(w);
    json_put_bool(w, "passed", r->passed);
    json_end_object(w);
}

static pgy_status save_report(const char *path, const pgy_simplify_report *r, pgy_error *err)
{
    json_output out = {0};
    pgy_status st = json_output_open(&out, path, err);
    if (!st) put_report(out.json, r);
    if (!st) st = json_output_commit(&out, err);
    json_output_close(&out);
    return st;
}

/* ---- The command ---------------------------------------------------------------------------- */

static pgy_status simplify(pgy_model *model, args *line, bool *passed, pgy_error *err)
{
    const simplify_args *own = args_get(line, &OWN);
    sampler inputs = {.line = line};
    pgy_simplify_options o = pgy_simplify_options_default();
    pgy_simplify_report *report = NULL;
    pgy_model *made = NULL;
    o.only = own->only.given ? own->only.items : NULL;
    o.only_count = own->only.count;
    o.skip = own->skip.items;
    o.skip_count = own->skip.count;
    o.fuse_batch_norm = own->batch_norm;
    o.no_check = own->no_check;
    o.opset = own->opset;
    o.inputs = ((const model_args *)args_get(line, &GROUP_MODEL_DATA))->shapes;
    o.sample = sample;
    o.user = &inputs;
    pgy_status st = pgy_model_simplify(&made, model, &o, &report, err);
    if (!st) st = show_report(report, err);
    if (!st && own->report) st = save_report(own->report, report, err);
    if (!st && report->passed)
        st = model_save(made, line, own->output, NULL, err);
    else if (!st)
        LOG(ERROR,
            "The outputs of the model change by more than rounding; the model was not saved");
    if (!st) *passed = report->passed;
    pgy_simplify_report_destroy(report);
    pgy_model_destroy(made);
    sampler_deinit(&inputs);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const simplify_args *own = args_get(line, &OWN);
    data_args *data = args_get(line, &GROUP_DATA);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    if (own->list) return show_rules(err);
    if (data->iterations == 0 && !own->no_check)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "--iterations: 0 leaves no data for the check; give --no-check to skip the check");
    if (data->iterations == INT64_MIN && !data->load_inputs.given && !data->script)
        data->iterations = ITERATIONS;
    pgy_status st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = simplify(model, line, passed, err);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

const command COMMAND_surgeon_simplify = {
    .tool = "surgeon",
    .subtool = "simplify",
    .summary = "Fold constants and fuse operators, and check that results stay the same.",
    .description = "Simplify a model: fold constants, and replace groups of nodes by one standard "
                   "operator that computes the same. Each rewrite is measured on data against the "
                   "float64 reference, and undone if it changes values by more than rounding.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};
