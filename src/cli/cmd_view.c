/* SPDX-License-Identifier: Apache-2.0 */
/* view: shows models, and what is known about them, as a page. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <polygraphy/page.h>
#include <polygraphy/tensor.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/args/values.h"
#include "cli/command.h"
#include "cli/page.h"

static const char LOG_PATH[] = "cli/cmd_view.c";

typedef struct view_args {
    pgy_text_list paths, results;
    const char *output, *title, *embed_text, *table, *attachment, *quantity, *theme, *scale_text;
    uint64_t embed_values;
    double scale;
    int64_t port, profile;
    bool flat, serve, no_browser, open, attributes, types;
} view_args;

static const char *const THEMES[] = {"auto", "light", "dark", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("files", view_args, paths, .nargs = PGY_ONE_OR_MORE,
                       .help = "an ONNX model or a plan, or two that are compared, and files of "
                               "results: of 'run --save-accuracy-results', 'run --save-outputs', "
                               "'run --report', 'where --json', profiles, timelines, Netron's "
                               "attachments ..."),
    PGY_OPT_LIST("--results-of", view_args, results, .nargs = PGY_ONE_OR_MORE, .meta = "WHOM=PATH",
                 .help = "files of results of another graph than the first: b=PATH for the second "
                         "model, N=PATH for profile N of a plan; those of both models are compared "
                         "node by node"),
    PGY_OPT_INT("--profile", view_args, profile, .meta = "N",
                .help = "show this profile of a plan first, and in pictures, tables and texts; "
                        "results belong to it; default: 0"),
    PGY_OPT_TEXT("-o --output", view_args, output, .meta = "PATH",
                 .help = "write this file and end; its extension decides the form: .html is a page "
                         "that needs no network, .svg and .png are pictures, .json is the page's "
                         "data, .txt a text for bug reports, .csv (with --table) a table"),
    PGY_OPT_FLAG("--open", view_args, open, .help = "with -o: show the file in the browser"),
    PGY_OPT_FLAG("--serve", view_args, serve,
                 .help = "serve the page on 127.0.0.1 until Ctrl-C, with the values of weights and "
                         "of saved outputs, and open the browser; the default on a terminal if "
                         "nothing is written"),
    PGY_OPT_INT("--port", view_args, port, .meta = "N",
                .help = "port of the server; default: 8000, or the next one that is free"),
    PGY_OPT_FLAG("--no-browser", view_args, no_browser,
                 .help = "with --serve: print the address only"),
    PGY_OPT_TEXT("--title", view_args, title, .meta = "TEXT",
                 .help = "title of the page; default: the name of the first file"),
    PGY_OPT_FLAG("--flat", view_args, flat,
                 .help = "do not fold: no groups by scope, repetition or fusion"),
    PGY_OPT_TEXT("--embed-values", view_args, embed_text, .meta = "BYTES",
                 .help = "store the values of tensors up to this size in the page, such as 64K; "
                         "default: only statistics are stored"),
    PGY_OPT_TEXT("--table", view_args, table, .meta = "ID",
                 .help = "with -o PATH.csv or PATH.json: write this table, for example accuracy, "
                         "where, layers, diff, or nodes or tensors with all quantities"),
    PGY_OPT_TEXT("--attachment", view_args, attachment, .meta = "PATH",
                 .help = "write the figures as an attachment for Netron (.json)"),
    PGY_OPT_TEXT("--quantity", view_args, quantity, .meta = "ID",
                 .help = "for pictures: what colours the nodes, such as maxabs, time or flops; "
                         "default: what tells most; '': nothing"),
    PGY_OPT_TEXT("--theme", view_args, theme, .choices = THEMES,
                 .help = "for pictures: light, dark, or auto (default): SVG follows the system of "
                         "its reader, PNG is light"),
    PGY_OPT_TEXT("--scale", view_args, scale_text, .meta = "NUMBER",
                 .help = "for pictures: pixels for each unit; default: 1 for SVG, 2 for PNG"),
    PGY_OPT_FLAG("--show-attributes", view_args, attributes,
                 .help = "for pictures: list attributes on the nodes"),
    PGY_OPT_FLAG("--show-types", view_args, types,
                 .help = "for pictures: list shapes and types of outputs on the nodes"),
    PGY_OPT_END,
};

/* ---- Checks --------------------------------------------------------------------------------- */

static bool has_extension(const char *path, const char *a, const char *b)
{
    const char *extension = path ? path_extension(path) : "";
    return str_equal_nocase(extension, a) || str_equal_nocase(extension, b);
}

static bool is_picture(const view_args *s)
{
    return has_extension(s->output, ".svg", ".png");
}

static pgy_status no_effect(const char *option, const char *with, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT, "argument %s: it has no effect %s", option, with);
}

static pgy_status check_file(const view_args *s, pgy_error *err)
{
    if (s->serve)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "argument --serve: not allowed with options that write a file and end");
    if (s->port) return no_effect("--port", "without --serve", err);
    if (s->no_browser) return no_effect("--no-browser", "without --serve", err);
    if (s->table && !has_extension(s->output, ".csv", ".json"))
        return no_effect("--table", "without -o PATH.csv or -o PATH.json", err);
    if (!s->table && has_extension(s->output, ".csv", ".csv"))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' is for a table: name it with --table, for example --table nodes",
                             s->output);
    return PGY_OK;
}

/* Before a large model is read for nothing. */
static pgy_status check_extension(const char *path, pgy_error *err)
{
    static const char *const FORMS[] = {".html", ".htm", ".svg", ".png", ".json", ".txt", ".csv"};
    for (size_t i = 0; path && i < sizeof FORMS / sizeof *FORMS; i++)
        if (str_equal_nocase(path_extension(path), FORMS[i])) return PGY_OK;
    if (!path) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "'%s' has no extension that names a form of pages: .html, .svg, .png, "
                         ".json, .txt, or .csv with --table",
                         path);
}

static pgy_status check_use(const view_args *s, pgy_error *err)
{
    if (s->output || s->attachment) {
        pgy_status st = check_extension(s->output, err);
        if (!st) st = check_file(s, err);
        if (st) return st;
    } else if (!s->serve && !isatty(STDOUT_FILENO)) {
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "give -o PATH to write a file, or --serve to serve the page; without a "
            "terminal there is no default");
    } else if (s->table) {
        return no_effect("--table", "without -o PATH.csv or -o PATH.json", err);
    }
    if (s->open && !s->output) return no_effect("--open", "without -o", err);
    const char *word = s->quantity     ? "--quantity"
                       : s->theme      ? "--theme"
                       : s->scale_text ? "--scale"
                       : s->attributes ? "--show-attributes"
                       : s->types      ? "--show-types"
                                       : NULL;
    return word && !is_picture(s) ? no_effect(word, "without -o PATH.svg or -o PATH.png", err)
                                  : PGY_OK;
}

static pgy_status read_scale(view_args *s, pgy_error *err)
{
    char *end = NULL;
    if (!s->scale_text) return PGY_OK;
    s->scale = strtod(s->scale_text, &end);
    if (end != s->scale_text && !*end && s->scale > 0 && s->scale <= 100) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "argument --scale: '%s' is not a number above 0, up to 100",
                         s->scale_text);
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    view_args *s = settings;
    (void)line;
    pgy_status st = check_use(s, err);
    if (!st && s->profile < 0)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "argument --profile: %lld is negative; profiles count from 0",
                           (long long)s->profile);
    if (!st) st = read_scale(s, err);
    if (!st && s->embed_text)
        st = value_bytes(&s->embed_values, s->embed_text, "argument --embed-values", err);
    return st;
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(view_args), .finish = finish};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

/* ---- The command ---------------------------------------------------------------------------- */

/* "b=times.json", "1=times.json" */
static pgy_status add_results(pgy_page *page, const char *text, pgy_error *err)
{
    const char *path = strchr(text, '=');
    char *end = NULL;
    if (path && !path[1])
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --results-of: '%s' names no file after '='", text);
    if (path && path - text == 1 && (*text == 'b' || *text == 'B'))
        return pgy_page_add_results(page, path + 1, PGY_PAGE_B, 0, err);
    const unsigned long profile = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (path && end == path && profile <= INT32_MAX)
        return pgy_page_add_results(page, path + 1, PGY_PAGE_PROFILE, profile, err);
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "argument --results-of: '%s' does not begin with 'b=' or with the number "
                         "of a profile and '='",
                         text);
}

static pgy_status add_files(pgy_page *page, const view_args *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < s->paths.count && !st; i++)
        st = pgy_page_add(page, s->paths.items[i], err);
    for (size_t i = 0; i < s->results.count && !st; i++)
        st = add_results(page, s->results.items[i], err);
    return st;
}

static pgy_status draw(pgy_page *page, const view_args *s, pgy_error *err)
{
    pgy_picture_options o = {.size = sizeof o,
                             .quantity = s->quantity,
                             .scale = s->scale,
                             .attributes = s->attributes,
                             .types = s->types};
    while (s->theme && strcmp(s->theme, THEMES[o.theme]) != 0) o.theme++;
    return pgy_page_draw(page, s->output, &o, err);
}

static pgy_status save_text(pgy_page *page, const char *path, pgy_error *err)
{
    char *text = NULL;
    pgy_status st = pgy_page_text(&text, page, err);
    if (!st) st = file_write_all(path, text, strlen(text), err);
    pgy_text_free(text);
    return st;
}

static pgy_status save_output(pgy_page *page, const view_args *s, pgy_error *err)
{
    if (s->table) return pgy_page_save_table(page, s->table, s->output, err);
    if (is_picture(s)) return draw(page, s, err);
    if (has_extension(s->output, ".txt", ".txt")) return save_text(page, s->output, err);
    return pgy_page_save(page, s->output, err);
}

static pgy_status save(pgy_page *page, const view_args *s, pgy_error *err)
{
    pgy_status st = s->output ? save_output(page, s, err) : PGY_OK;
    if (!st && s->attachment) st = pgy_page_save_attachment(page, s->attachment, err);
    page_warn(page);
    if (st) return st;
    if (s->output) LOG(INFO, "%s saved to %s", s->table ? "Table" : "Page", s->output);
    if (s->attachment) LOG(INFO, "Attachment saved to %s", s->attachment);
    if (s->open) page_open(s->output);
    return PGY_OK;
}

static pgy_status serve(pgy_page *page, const view_args *s, pgy_error *err)
{
    uint16_t port = 0;
    pgy_status st = s->port ? page_port(&port, s->port, "--port", err) : PGY_OK;
    return st ? st : page_serve(page, port, !s->no_browser, err);
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const view_args *s = args_get(line, &OWN);
    pgy_page *page = NULL;
    const pgy_page_options options = {
        .size = sizeof options,
        .title = s->title,
        .command = page_command(line),
        .embed_values = s->embed_values,
        .flat = s->flat,
        .profile = (size_t)s->profile,
    };
    pgy_status st = pgy_page_create(&page, &options, err);
    if (!st) st = add_files(page, s, err);
    const bool writes = s->output || s->attachment;
    if (!st) st = writes ? save(page, s, err) : serve(page, s, err);
    pgy_page_destroy(page);
    return st;
}

const command COMMAND_view = {
    .tool = "view",
    .summary = "Show a model, and what is known about it, as a page.",
    .description =
        "Show a model as an interactive page: structure, shapes, and, from files of results, "
        "errors, times, memory and differences. The page is one HTML file that needs no network, "
        "or is served on this machine and opens in the browser.",
    .examples =
        "  Look at a model in the browser:\n      {program} view model.onnx\n"
        "  Write a page:\n      {program} view model.onnx -o model.html\n"
        "  See which tensor is wrong:\n      {program} where model.onnx --a opref --b trt --json "
        "where.json\n      {program} view model.onnx where.json -o where.html\n"
        "  Compare two models with the times of both:\n      {program} view a.onnx b.onnx a.json "
        "--results-of b=b.json -o diff.html\n"
        "  Draw it without a browser:\n      {program} view model.onnx -o model.svg\n",
    .groups = GROUPS,
    .run = run,
};
