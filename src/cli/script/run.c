/* SPDX-License-Identifier: Apache-2.0 */
/* The script of `run`: collects the parts, then puts them into the documented order. */
#include <string.h>

#include "base/printable.h"
#include "cli/groups/compare.h"
#include "cli/groups/model.h"
#include "cli/groups/runners.h"
#include "cli/script/runners.h"
#include "cli/script/script.h"

/* "a", "a and b", "a, b, and c" */
static void put_list(str *out, const char *const *items, size_t count,
                     const char *(*title)(const char *))
{
    for (size_t i = 0; i < count; i++) {
        const char *text = title ? title(items[i]) : items[i];
        if (i) str_append(out, count > 2 ? ", " : " ");
        if (i && i + 1 == count) str_append(out, "and ");
        str_append_printable(out, text, strlen(text), "");
    }
}

/* The comment that says what the script does. */
static void put_summary(str *out, const py_script *s)
{
    const runner_args *r = ARGS_OF(s->line, runner_args);
    const compare_args *c = ARGS_OF(s->line, compare_args);
    const char *path = model_path(s->line);
    if (!r->names.count && !c->load_outputs.count) return;
    str_append(out, "# ");
    if (r->names.count) {
        str_printf(out, "This script %s ", r->names.count > 1 ? "compares" : "runs");
        str_append_printable(out, path, strlen(path), "");
        str_append(out, r->names.count > 1 ? " between " : " using ");
        put_list(out, r->names.items, r->names.count, script_runner_title);
        str_append_char(out, '.');
    }
    str_append_char(out, '\n');
    if (!c->load_outputs.count) return;
    str_append(out, "# It will check against outputs stored in ");
    put_list(out, c->load_outputs.items, c->load_outputs.count, NULL);
    str_append_char(out, '\n');
}

static void put_section(str *out, const char *title, const str *text)
{
    if (text->size) str_printf(out, "# %s\n%s\n", title, str_text(text));
}

pgy_status script_run(str *out, args *line, pgy_error *err)
{
    py_script s;
    str runners = {0}, functions = {0}, rest = {0}, summary = {0};
    script_init(&s, line);
    const bool ran = ARGS_OF(line, runner_args)->names.count > 0;
    pgy_status st = script_check_options(line, "run", err);
    if (!st && ran) st = script_data(&s, err);
    if (!st) st = script_runners(&runners, &s, err);
    if (!st) st = script_functions(&functions, &s, err);
    if (!st) st = script_comparison(&rest, &s, ran, str_text(&functions), err);
    if (st) goto done;
    script_logger(&s);
    put_summary(&summary, &s);
    py_import(&s, "comparator", "Comparator");
    py_import(&s, "exception", script_exception(&s));
    script_head(out, &s, str_text(&summary));
    str_printf(out, "\nfrom %s.logger import G_LOGGER\n%s\n", script_package(&s),
               str_text(&s.logger));
    script_imports(out, &s);
    str_append_char(out, '\n');
    put_section(out, "Data Loader", &s.data);
    put_section(out, "Loaders", &s.loaders);
    put_section(out, "Comparison Functions", &s.functions);
    put_section(out, "Runners", &runners);
    str_append(out, str_text(&rest));
    st = script_finish(&s, err);
    if (runners.failed || functions.failed || rest.failed || summary.failed) out->failed = true;
done:
    str_deinit(&runners);
    str_deinit(&functions);
    str_deinit(&rest);
    str_deinit(&summary);
    script_deinit(&s);
    return st;
}
