/* SPDX-License-Identifier: Apache-2.0 */
/* view: shows models, and what is known about them, as a page. */
#include <unistd.h>

#include <polygraphy/page.h>

#include "base/log.h"
#include "cli/args/values.h"
#include "cli/command.h"
#include "cli/page.h"

static const char LOG_PATH[] = "cli/cmd_view.c";

typedef struct view_args {
    pgy_text_list paths;
    const char *output, *title, *embed_text;
    uint64_t embed_values;
    int64_t port;
    bool flat, serve, no_browser, open;
} view_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("files", view_args, paths, .nargs = PGY_ONE_OR_MORE,
                       .help = "an ONNX model or a plan, or two that are compared, and files of "
                               "results: of 'run --save-accuracy-results', 'run --report', 'where "
                               "--json', profiles, timelines, lint and capability reports"),
    PGY_OPT_TEXT("-o --output", view_args, output, .meta = "PATH",
                 .help = "write the page to this file and end: .html is a page that needs no "
                         "network, .json its data for scripts"),
    PGY_OPT_FLAG("--open", view_args, open, .help = "with -o: show the file in the browser"),
    PGY_OPT_FLAG("--serve", view_args, serve,
                 .help = "serve the page on 127.0.0.1 until Ctrl-C, with the values of weights and "
                         "of saved outputs, and open the browser; the default without -o on a "
                         "terminal"),
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
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    view_args *s = settings;
    (void)line;
    if (s->output && s->serve)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --serve: not allowed with -o, which writes a file and ends");
    if (s->output && (s->port || s->no_browser))
        return pgy_error_set(err, PGY_E_ARGUMENT, "argument %s: it has no effect with -o",
                             s->port ? "--port" : "--no-browser");
    if (!s->output && s->open)
        return pgy_error_set(err, PGY_E_ARGUMENT, "argument --open: it needs -o");
    if (!s->output && !s->serve && !isatty(STDOUT_FILENO))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "give -o PATH to write a file, or --serve to serve the page; without a "
            "terminal there is no default");
    return s->embed_text
               ? value_bytes(&s->embed_values, s->embed_text, "argument --embed-values", err)
               : PGY_OK;
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(view_args), .finish = finish};
static const option_group *const GROUPS[] = {&OWN, &GROUP_LOGGING, NULL};

static pgy_status save(pgy_page *page, const view_args *s, pgy_error *err)
{
    const pgy_status st = pgy_page_save(page, s->output, err);
    page_warn(page);
    if (st) return st;
    LOG(INFO, "Page saved to %s", s->output);
    if (s->open) page_open(s->output);
    return PGY_OK;
}

static pgy_status serve(pgy_page *page, const view_args *s, pgy_error *err)
{
    uint16_t port = 0;
    pgy_status st = s->port ? page_port(&port, s->port, "--port", err) : PGY_OK;
    page_warn(page);
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
    };
    pgy_status st = pgy_page_create(&page, &options, err);
    for (size_t i = 0; i < s->paths.count && !st; i++)
        st = pgy_page_add(page, s->paths.items[i], err);
    if (!st) st = s->output ? save(page, s, err) : serve(page, s, err);
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
        "where.json\n      {program} view model.onnx where.json -o where.html\n",
    .groups = GROUPS,
    .run = run,
};
