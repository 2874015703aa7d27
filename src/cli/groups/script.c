/* SPDX-License-Identifier: Apache-2.0 */
/* The option that writes a command down as a script. */
#include "cli/groups/script.h"

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--gen-script --gen", script_args, path, .meta = "PATH",
                 .help = "do not run; write a Python script for the original's package that does "
                         "what this command does; - is the standard output"),
    PGY_OPT_END,
};

bool script_is_asked_for(const args *line)
{
    const script_args *s = ARGS_OF(line, script_args);
    return s && s->path;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    const script_args *s = settings;
    line->writes_script = s->path != NULL;
    if (!s->path || !str_ends_with(s->path, ".c")) return PGY_OK;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "--gen-script: '%s' is a C file, but scripts are Python; give a path such "
                         "as script.py",
                         s->path);
}

const option_group GROUP_SCRIPT = {.options = OPTIONS, ARGS_TYPE(script_args), .finish = finish};
