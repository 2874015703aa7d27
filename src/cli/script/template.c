/* SPDX-License-Identifier: Apache-2.0 */
/* The starter scripts of `template trt-network` and `template trt-config`: loaders for the given
 * options, and a function to be filled in. */
#include "cli/groups/model.h"
#include "cli/script/script.h"

typedef struct starter {
    const char *summary;
    const char *name, *arguments; /* of the function */
    const char *todo;
} starter;

static pgy_status put_starter(str *out, py_script *s, const starter *t, const char *extended,
                              pgy_error *err)
{
    py_import(s, "", "func");
    script_head(out, s, t->summary);
    script_imports(out, s);
    str_append_char(out, '\n');
    if (s->data.size) str_printf(out, "# Data Loader\n%s\n", str_text(&s->data));
    if (s->loaders.size) str_printf(out, "# Loaders\n%s\n", str_text(&s->loaders));
    str_printf(out, "@func.extend(%s)\ndef %s(%s):\n    pass # %s\n", extended, t->name,
               t->arguments, t->todo);
    return script_finish(s, err);
}

pgy_status script_template_network(str *out, args *line, pgy_error *err)
{
    starter t = {.summary = "# Creates a TensorRT Network using the Network API.\n",
                 .name = "load_network",
                 .arguments = "builder, network",
                 .todo =
                     "TODO: Set up the network here. This function should not return anything."};
    const char *extended = "CreateNetwork()";
    py_script s;
    pgy_status st = PGY_OK;
    script_init(&s, line);
    if (model_path(line)) {
        t.arguments = "builder, network, parser";
        st = script_trt_network(&extended, &s, NULL, err);
    } else {
        py_import_trt(&s);
        py_import(&s, "backend.trt", "CreateNetwork");
    }
    if (!st) st = put_starter(out, &s, &t, extended, err);
    script_deinit(&s);
    return st;
}

pgy_status script_template_config(str *out, args *line, pgy_error *err)
{
    const starter t = {
        .summary = "# Creates a TensorRT Builder Configuration.\n",
        .name = "load_config",
        .arguments = "builder, network, config",
        .todo = "TODO: Set up the builder configuration here. This function should not return "
                "anything."};
    const char *extended = NULL;
    bool plain;
    py_script s;
    script_init(&s, line);
    pgy_status st = script_trt_config(&extended, &plain, &s, "create_trt_config", true, err);
    if (!st) st = put_starter(out, &s, &t, extended, err);
    script_deinit(&s);
    return st;
}
