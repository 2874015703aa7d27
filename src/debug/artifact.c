/* SPDX-License-Identifier: Apache-2.0 */
/* Names and moves the files of a trial. */
#include "debug/artifact.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/command.h"
#include "base/file.h"
#include "base/log.h"

static const char LOG_PATH[] = "tools/debug/subtool/iterative_debug_args.py";

static bool exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

/* `mv` copies between file systems, with folders and their attributes. */
static pgy_status move_across(const char *from, const char *to, pgy_error *err)
{
    const char *const words[] = {"mv", "--", from, to};
    command_result r = {0};
    pgy_status st = command_run(&r, words, sizeof words / sizeof *words, 0, err);
    if (!st && r.code)
        st = pgy_error_set(err, PGY_E_IO, "artifact '%s' cannot be moved to '%s': %.200s", from, to,
                           str_text(&r.err));
    command_result_deinit(&r);
    return st;
}

static pgy_status move(const char *from, const char *to, pgy_error *err)
{
    if (rename(from, to) == 0) return PGY_OK;
    if (errno == EXDEV) return move_across(from, to, err);
    return pgy_error_set(err, PGY_E_IO, "artifact '%s' cannot be moved to '%s': %s", from, to,
                         strerror(errno));
}

static void append_name(str *out, const char *path, const char *time, const char *key)
{
    const char *name = path_basename(path), *extension = path_extension(path);
    str_append_n(out, name, strlen(name) - strlen(extension));
    str_printf(out, "_%s%s%s", time, key, extension);
}

static pgy_status move_into(const char *path, const char *dir, const char *name, pgy_error *err)
{
    char *to = path_join(dir, name);
    pgy_status st = to ? file_make_dirs(dir, err)
                       : pgy_error_set(err, PGY_E_MEMORY, "out of memory for a path");
    if (!st && exists(to)) {
        LOG(ERROR, "Artifact %s stays: %s exists", path, to);
    } else if (!st) {
        LOG(INFO, "Moving %s to %s", path, to);
        st = move(path, to, err);
    }
    mem_free(to);
    return st;
}

pgy_status debug_artifact_move(const char *path, const char *dir, const char *time, const char *key,
                               bool passed, pgy_error *err)
{
    str plain = {0}, name = {0};
    size_t size = strlen(path);
    pgy_status st = PGY_OK;
    char *sorted = path_join(dir, passed ? "good" : "bad");
    while (size > 1 && path[size - 1] == '/') size--; /* "folder/" is the folder */
    str_append_n(&plain, path, size);
    append_name(&name, str_text(&plain), time, key);
    if (!sorted || plain.failed || name.failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for a path");
    else if (!exists(str_text(&plain)))
        LOG(ERROR, "Artifact %s does not exist, so it is not moved", path);
    else
        st = move_into(str_text(&plain), sorted, str_text(&name), err);
    mem_free(sorted);
    str_deinit(&plain);
    str_deinit(&name);
    return st;
}
