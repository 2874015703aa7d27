/* SPDX-License-Identifier: Apache-2.0 */
/* Finds ONNX Runtime's shared library. Cheap places come first. Python comes last, and is only
 * asked for the folder of the package, without importing it. The places tried are kept as text for
 * the error message. */
#include "backends/onnxruntime/locate.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/child.h"
#include "base/child_start.h"
#include "base/dl.h"
#include "base/file.h"
#include "base/str.h"

enum { TIE_FD = 3 };

static const char HOW[] =
    "install it with 'pip install onnxruntime', or set POLYGRAPHY_ONNXRUNTIME to "
    "libonnxruntime.so or to the folder that holds it";

typedef struct search {
    void *handle;
    char *path;
    str tried; /* places tried so far, for the error message */
    str why;   /* why the last existing library did not open */
} search;

static void note(search *s, const char *place)
{
    if (s->tried.size) str_append(&s->tried, ", ");
    str_append(&s->tried, place);
}

static bool try_library(search *s, const char *path)
{
    str_clear(&s->why);
    if (dl_open(&s->handle, &path, 1, &s->why, NULL)) return false;
    s->path = mem_strdup(path);
    if (!s->path) s->handle = NULL;
    return s->handle != NULL;
}

/* Tries libonnxruntime.so*, the plain name first, but not its plug-ins
 * libonnxruntime_providers_*.so. */
static bool try_folder(search *s, const char *folder)
{
    strvec names = {0};
    bool found = false;
    if (!file_is_dir(folder) || file_list_dir(&names, folder, "", NULL)) return false;
    for (size_t i = 0; i < names.count && !found; i++) {
        if (!str_starts_with(names.items[i], "libonnxruntime.so")) continue;
        char *path = path_join(folder, names.items[i]);
        found = path && try_library(s, path);
        mem_free(path);
    }
    strvec_deinit(&names);
    return found;
}

/* Tries a folder that a user names: one with the library, a Python package, or an unpacked release.
 */
static bool try_tree(search *s, const char *folder)
{
    static const char *const BELOW[] = {"capi", "onnxruntime/capi", "lib", "lib64"};
    bool found = try_folder(s, folder);
    for (size_t i = 0; i < sizeof BELOW / sizeof *BELOW && !found; i++) {
        char *path = path_join(folder, BELOW[i]);
        found = path && try_folder(s, path);
        mem_free(path);
    }
    return found;
}

static bool try_loader_path(search *s)
{
    static const char *const NAMES[] = {"libonnxruntime.so.1", "libonnxruntime.so"};
    note(s, "the loader's path (libonnxruntime.so.1, libonnxruntime.so)");
    return try_library(s, NAMES[0]) || try_library(s, NAMES[1]);
}

/* Tries the places where a build or an installation puts the runtime: for <prefix>/bin/<file> the
 * folders <prefix>/onnxruntime and <prefix>/lib/onnxruntime. */
static bool try_beside(search *s, const char *file)
{
    static const char *const PLACES[] = {"onnxruntime", "lib/onnxruntime"};
    char *folder = path_dirname(file), *prefix = folder ? path_dirname(folder) : NULL;
    bool found = false;
    for (size_t i = 0; prefix && i < sizeof PLACES / sizeof *PLACES && !found; i++) {
        char *path = path_join(prefix, PLACES[i]);
        if (path) note(s, path);
        found = path && try_folder(s, path);
        mem_free(path);
    }
    mem_free(folder);
    mem_free(prefix);
    return found;
}

static bool try_program(search *s)
{
    char exe[PATH_MAX], library[PATH_MAX];
    Dl_info self;
    bool known = realpath("/proc/self/exe", exe) != NULL;
    if (known && try_beside(s, exe)) return true;
    /* Try beside the shared library that holds this code, unless the program holds it. */
    if (!dladdr((void *)HOW, &self) || !self.dli_fname || !realpath(self.dli_fname, library))
        return false;
    return (!known || strcmp(exe, library)) && try_beside(s, library);
}

/* Reads the output that is ready. False at the end of the output, or when the user asks to stop. */
static bool read_some(str *out, int fd)
{
    enum { SLICE_MS = 20 };
    char buffer[1024];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (cancel_requested()) return false;
    if (poll(&p, 1, SLICE_MS) <= 0) return true;
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n > 0) str_append_n(out, buffer, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Reads the first line that a command prints. False if the command fails. */
static bool first_line(str *out, char *const *command)
{
    int ends[2], status = -1;
    pid_t child;
    child_tie tie;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC)) return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    child_tie_open(&tie);
    if (tie.far >= 0) posix_spawn_file_actions_adddup2(&actions, tie.far, TIE_FD);
    bool started = !child_start(&child, command, &actions);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (started) child_register(child, SIGKILL);
    if (started) child_tie_to(&tie, child, SIGKILL);
    while (started && read_some(out, ends[0])) continue;
    close(ends[0]);
    if (started && cancel_requested()) kill(child, SIGKILL);
    if (started) child_reap(child, true, &status);
    child_tie_close(&tie);
    char *end = out->data ? strchr(out->data, '\n') : NULL;
    if (end) *end = '\0';
    return started && status == 0 && str_text(out)[0];
}

static bool try_python(search *s)
{
    char *command[] = {"python3", "-c",
                       PYTHON_FIRST_LINE "import importlib.util as u\n"
                                         "s = u.find_spec('onnxruntime')\n"
                                         "print(s.submodule_search_locations[0] if s else '')",
                       NULL};
    str folder = {0};
    note(s, "the onnxruntime package of python3");
    bool found = first_line(&folder, command) && try_tree(s, str_text(&folder));
    str_deinit(&folder);
    return found;
}

/* Tries only the place that the user named: silently using another runtime would be a surprise. */
static pgy_status try_named(search *s, const char *named, pgy_error *err)
{
    if (file_is_dir(named) ? try_tree(s, named) : try_library(s, named)) return PGY_OK;
    return pgy_error_set(
        err, PGY_E_NOT_FOUND, "ONNX Runtime was not found: POLYGRAPHY_ONNXRUNTIME is '%s', but %s",
        named, s->why.size ? str_text(&s->why) : "that folder has no libonnxruntime.so");
}

pgy_status ort_locate(void **handle, char **path, pgy_error *err)
{
    search s = {0};
    pgy_status st = PGY_OK;
    const char *named = getenv("POLYGRAPHY_ONNXRUNTIME");
    if (named && *named)
        st = try_named(&s, named, err);
    else if (!try_loader_path(&s) && !try_program(&s) && !try_python(&s))
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "ONNX Runtime was not found (tried %s); %s",
                           str_text(&s.tried), HOW);
    if (!st) {
        *handle = s.handle;
        *path = s.path;
    }
    str_deinit(&s.tried);
    str_deinit(&s.why);
    return st;
}
