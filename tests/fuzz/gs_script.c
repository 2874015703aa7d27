/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as an edit script on a small graph with a subgraph and a function. After every line both
 * views of all edges must agree; at the end the graph is compared with what it was, copied, written
 * and read again. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/gs_script.h>

#include "harness/gs_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char BUILD[] =
    "variable x FLOAT[N,3]\nvariable cond BOOL[]\nconstant w FLOAT[1,3]=1,2,3\nconstant v "
    "ones[1,3]\n"
    "insert Add name=fold inputs=w,v outputs=k\ninsert Add name=a inputs=x,k outputs=t type=FLOAT\n"
    "insert Split name=s inputs=t outputs=p,q,r attr.axis=1\n"
    "insert Concat name=c inputs=p,q,r outputs=y type=FLOAT[N,3] attr.axis=1\n"
    "insert Clip name=l inputs=y,$none,const:3.0 outputs=z type=FLOAT\n"
    "insert If name=i inputs=cond outputs=u type=FLOAT\ninsert F domain=d name=f inputs=u "
    "outputs=o "
    "type=FLOAT\n"
    "set-io inputs=x,cond outputs=z,o,t\n";

static void must(pgy_status st, const pgy_error *err)
{
    if (st == PGY_OK || st == PGY_E_MEMORY) return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

static void check(const pgy_gs_graph *g, const char *line)
{
    const char *problem = gs_check(g);
    if (!problem) return;
    fprintf(stderr, "after '%s': %s\n", line, problem);
    abort();
}

static pgy_status add_branch(pgy_gs_graph *g, const char *attribute, pgy_error *err)
{
    pgy_gs_graph *branch = NULL;
    pgy_gs_tensor *out = NULL, *in = pgy_gs_find_tensor(g, "t");
    pgy_gs_node *n;
    pgy_status st = pgy_gs_subgraph(&branch, g, attribute, err);
    if (!st) st = pgy_gs_variable(&out, branch, "inner", PGY_F32, -1, NULL, err);
    const pgy_gs_node_spec spec = {.op = "Neg",
                                   .name = "inside",
                                   .inputs = &in,
                                   .input_count = 1,
                                   .outputs = &out,
                                   .output_count = 1};
    if (!st) st = pgy_gs_add_node(&n, branch, &spec, err);
    if (!st) st = pgy_gs_set_graph_outputs(branch, &out, 1, err);
    const pgy_gs_attr a = pgy_gs_attr_graph(attribute, branch);
    return st ? st : pgy_gs_set_attr(pgy_gs_find_node(g, "i"), &a, err);
}

static pgy_status add_function(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_graph *f = NULL;
    pgy_gs_tensor *in = NULL, *out = NULL;
    pgy_gs_node *n;
    pgy_status st = pgy_gs_function(&f, g, "F", "d", err);
    if (!st) st = pgy_gs_variable(&in, f, "fx", PGY_DTYPE_NONE, -1, NULL, err);
    if (!st) st = pgy_gs_variable(&out, f, "fy", PGY_DTYPE_NONE, -1, NULL, err);
    const pgy_gs_node_spec spec = {
        .op = "Relu", .inputs = &in, .input_count = 1, .outputs = &out, .output_count = 1};
    if (!st) st = pgy_gs_add_node(&n, f, &spec, err);
    if (!st) st = pgy_gs_set_graph_inputs(f, &in, 1, err);
    return st ? st : pgy_gs_set_graph_outputs(f, &out, 1, err);
}

static pgy_status build(pgy_gs_graph **g, pgy_error *err)
{
    pgy_gs_script *s = NULL;
    pgy_status st = pgy_gs_create(g, err);
    if (!st) st = pgy_gs_script_create(&s, *g, err);
    if (!st) st = pgy_gs_script_run(s, "build", BUILD, err);
    if (!st) st = add_branch(*g, "then_branch", err);
    if (!st) st = add_branch(*g, "else_branch", err);
    if (!st) st = add_function(*g, err);
    pgy_gs_script_destroy(s);
    return st;
}

/* Lines that fail are left out. A line read from outside must not reach for files. */
static void run_lines(pgy_gs_graph *g, char *text)
{
    pgy_gs_script *s = NULL;
    pgy_error err = {0};
    must(pgy_gs_script_create(&s, g, &err), &err);
    for (char *line = text, *end; s && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = '\0';
        if (!strstr(line, "@/") && !strstr(line, "@.")) {
            const pgy_status st = pgy_gs_script_run(s, "fuzz", line, &err);
            if (st && strncmp(err.text, "fuzz:1", 6) != 0) abort();
            check(g, line);
        }
    }
    pgy_gs_script_destroy(s);
}

static void round_trip(pgy_gs_graph *g)
{
    const pgy_gs_export_options options = {.size = sizeof options, .no_type_check = true};
    pgy_model *model = NULL, *again = NULL;
    pgy_gs_graph *read = NULL;
    pgy_error err = {0};
    void *bytes = NULL;
    size_t size;
    if (!pgy_gs_export(&model, g, &options, &err)) {
        must(pgy_model_serialize(&bytes, &size, model, &err), &err);
        if (bytes) must(pgy_model_parse(&again, bytes, size, true, NULL, &err), &err);
        if (again) must(pgy_gs_import(&read, again, &err), &err);
        if (read) {
            check(read, "reading again");
            if (read->node_count != g->node_count) abort();
        }
    }
    pgy_gs_destroy(read);
    pgy_model_destroy(again);
    pgy_text_free(bytes);
    pgy_model_destroy(model);
}

static void compare(const pgy_gs_graph *before, const pgy_gs_graph *after)
{
    pgy_gs_change_list list = {0};
    pgy_error err = {0};
    must(pgy_gs_changes(&list, before, after, &err), &err);
    pgy_text_free(pgy_gs_changes_text(&list, 20));
    pgy_gs_change_list_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_gs_graph *g = NULL, *before = NULL, *copy = NULL;
    pgy_error err = {0};
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    pgy_set_max_memory(64u << 20);
    must(build(&g, &err), &err);
    must(pgy_gs_copy(&before, g, &err), &err);
    if (g && before) {
        check(before, "copying");
        run_lines(g, text);
        compare(before, g);
        must(pgy_gs_copy(&copy, g, &err), &err);
        if (copy) check(copy, "copying again");
        round_trip(g);
    }
    pgy_gs_destroy(copy);
    pgy_gs_destroy(before);
    pgy_gs_destroy(g);
    free(text);
    return 0;
}
