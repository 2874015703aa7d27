/* SPDX-License-Identifier: Apache-2.0 */
/* Checks models without a runtime: check_runner FILE...
 * One line per file: "rejected" or "accepted", its name, and the codes and texts of what speaks
 * against it, with ` | ` between. */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_line(const char *text)
{
    for (; *text; text++) putchar(*text == '\n' ? ' ' : *text);
}

static bool check(const char *path, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_graph *graph = NULL;
    const pgy_finding *findings = NULL;
    size_t count = 0, bad = 0;
    pgy_status st = pgy_model_load(&model, path, NULL, err);
    if (!st) {
        st = pgy_graph_import(&graph, model, err);
        st = st ? pgy_model_check(&findings, &count, model, err)
                : pgy_graph_check(&findings, &count, graph, err);
    }
    for (size_t i = 0; i < count; i++) bad += findings[i].severity >= PGY_LOG_ERROR;
    bad += !st && !graph && !count; /* the import failed, and nothing says why */
    printf("%s %s ", st || bad ? "rejected" : "accepted", last_part(path));
    if (st) print_line(err->text);
    for (size_t i = 0; i < count; i++) {
        if (findings[i].severity < PGY_LOG_ERROR) continue;
        printf("%s %s: ", findings[i].code, findings[i].path);
        print_line(findings[i].message);
        printf(" | ");
    }
    putchar('\n');
    fflush(stdout);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    return !st && !bad;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        pgy_error err = {{0}};
        check(argv[i], &err);
    }
    return 0;
}
