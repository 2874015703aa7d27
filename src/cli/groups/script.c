/* SPDX-License-Identifier: Apache-2.0 */
/* The option that writes a command down as a script, and the one of commands that do nothing else.
 */
#include "cli/groups/script.h"

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--gen-script --gen", script_args, path, .meta = "PATH",
                 .help = "do not run; write a program that does what this command does: a path "
                         "that ends in .c gets C for this library, any other path Python for the "
                         "original's package; - is the standard output"),
    PGY_OPT_END,
};

bool script_is_asked_for(const args *line)
{
    const script_args *s = ARGS_OF(line, script_args);
    return s && s->path;
}

bool script_is_c(const char *path)
{
    return str_ends_with(path, ".c");
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    const script_args *s = settings;
    (void)err;
    line->writes_script = s->path != NULL;
    return PGY_OK;
}

const option_group GROUP_SCRIPT = {.options = OPTIONS, ARGS_TYPE(script_args), .finish = finish};

/* ---- Commands that only write a script ------------------------------------------------------ */

static const pgy_option TEMPLATE_OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", template_args, output, .required = true, .meta = "PATH",
                 .help = "file for the script; - is the standard output"),
    PGY_OPT_END,
};

static pgy_status finish_template(void *settings, args *line, pgy_error *err)
{
    (void)settings;
    (void)err;
    line->writes_script = true;
    return PGY_OK;
}

const option_group GROUP_TEMPLATE = {
    .options = TEMPLATE_OPTIONS, ARGS_TYPE(template_args), .finish = finish_template};
