/* SPDX-License-Identifier: Apache-2.0 */
/* A second program on the machinery of src/cli: one command without a tool, two options of its own,
 * the shared groups of models and logging, and lists that are one word with commas. It times a
 * model on the reference. tests/unit/cli/second_program.c runs it. */
#include <stdio.h>
#include <string.h>

#include "cli/groups/model.h"
#include "cli/program.h"

/* ---- Options -------------------------------------------------------------------------------- */

typedef struct latency_args {
    int64_t runs;
    pgy_text_list show;
} latency_args;

static const char *const TIMES[] = {"min", "mean", "max", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_INT("-r --runs", latency_args, runs, .meta = "N", .help = "inferences; default 10"),
    PGY_OPT_LIST("--show", latency_args, show, .nargs = PGY_ONE_OR_MORE, .choices = TIMES,
                 .help = "times to print; default mean"),
    PGY_OPT_END,
};

static void defaults(void *settings)
{
    ((latency_args *)settings)->runs = 10;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    latency_args *s = settings;
    (void)line;
    if (!s->show.given) s->show = (pgy_text_list){TIMES + 1, 1, false};
    return s->runs > 0 ? PGY_OK : pgy_error_set(err, PGY_E_ARGUMENT, "--runs: give at least 1");
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(latency_args), .defaults = defaults, .finish = finish};
static const option_group *const GROUPS[] = {&OWN, &GROUP_MODEL_DATA, &GROUP_LOGGING, NULL};

/* ---- The work ------------------------------------------------------------------------------- */

static pgy_status measure(double *times, pgy_runner *runner, pgy_data_loader *loader,
                          pgy_error *err)
{
    const pgy_metadata *inputs;
    pgy_status st = pgy_runner_inputs(&inputs, runner, err);
    if (!st) st = pgy_data_loader_set_metadata(loader, inputs, err);
    for (size_t n = 1; !st; n++) {
        pgy_tensor_map *feed = NULL, *out = NULL;
        st = pgy_data_loader_next(&feed, loader, err);
        if (st || !feed) break;
        st = pgy_runner_infer(&out, runner, feed, err);
        const double time = (double)pgy_runner_last_time_ns(runner) * 1e-6;
        if (n == 1 || time < times[0]) times[0] = time;
        times[1] += (time - times[1]) / (double)n;
        if (n == 1 || time > times[2]) times[2] = time;
        pgy_tensor_map_destroy(feed);
        pgy_tensor_map_destroy(out);
    }
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const latency_args *s = ARGS_OF(line, latency_args);
    const model_args *model = ARGS_OF(line, model_args);
    pgy_random_options o = pgy_random_options_default();
    pgy_data_loader *loader = NULL;
    pgy_runner *runner = NULL;
    pgy_model_source source;
    double times[3] = {0};
    (void)passed;
    o.inputs = model->shapes;
    o.iterations = (size_t)s->runs;
    pgy_status st = pgy_source_from_path(&source, model->path, err);
    if (!st) st = pgy_runner_create(&runner, pgy_backend_find("opref"), &source, NULL, NULL, err);
    if (!st) st = pgy_runner_activate(runner, err);
    if (!st) st = pgy_random_loader_create(&loader, &o, err);
    if (!st) st = measure(times, runner, loader, err);
    for (size_t i = 0; !st && i < s->show.count; i++)
        for (size_t k = 0; k < 3; k++)
            if (!strcmp(s->show.items[i], TIMES[k]))
                printf("%s of %d runs: %.3f ms\n", TIMES[k], (int)s->runs, times[k]);
    pgy_data_loader_destroy(loader);
    pgy_runner_destroy(runner);
    return st;
}

/* ---- The program ---------------------------------------------------------------------------- */

static void print_version(str *out, const char *folder)
{
    str_printf(out, "latency 1.0 in %s\n", folder);
}

static const command COMMAND = {
    .summary = "Time a model.",
    .description = "Run a model on random data and print how long that took.",
    .examples = "  {program} model.onnx --input-shapes=image:{shape} --show=min,max\n",
    .groups = GROUPS,
    .run = run,
};
static const command *const COMMANDS[] = {&COMMAND, NULL};

static const program LATENCY = {
    .dialect = {.program = "latency", .values = &VALUES_CROSSES},
    .title = "Latency",
    .summary = "time a model on the reference",
    .about = "Runs a model on random data and prints how long that took.",
    .library = "libpolygraphy",
    .environment = "POLYGRAPHY_",
    .print_version = print_version,
    .commands = COMMANDS,
};

int main(int argc, char **argv)
{
    return program_run(&LATENCY, argc - 1, (const char *const *)argv + 1);
}
