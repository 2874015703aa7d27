/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for CUDA's libraries. A folder may be the one with the files or a tree that has them in
 * lib64 or lib, as CUDA's own installation and the nvidia packages of Python do. */
#include "device/cuda/libraries.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/child_start.h"
#include "base/file.h"

typedef struct search {
    const char *const *names;
    void *handle;
    str why; /* why the last file that exists did not open */
} search;

static bool try_file(search *s, const char *path)
{
    str why = {0};
    const bool opened = dl_open(&s->handle, &path, 1, &why, NULL) == PGY_OK;
    if (!opened) {
        str_clear(&s->why);
        str_append(&s->why, str_text(&why));
    }
    str_deinit(&why);
    return opened;
}

static bool try_folder(search *s, const char *folder)
{
    bool found = false;
    for (size_t i = 0; !found && s->names[i]; i++) {
        char *path = path_join(folder, s->names[i]);
        found = path && file_exists(path) && try_file(s, path);
        mem_free(path);
    }
    return found;
}

static bool try_tree(search *s, const char *folder)
{
    static const char *const BELOW[] = {"lib64", "lib"};
    bool found = try_folder(s, folder);
    for (size_t i = 0; !found && i < sizeof BELOW / sizeof *BELOW; i++) {
        char *path = path_join(folder, BELOW[i]);
        found = path && try_folder(s, path);
        mem_free(path);
    }
    return found;
}

/* Records no reason, because that a library is not in the loader's path is the usual case. */
static bool try_loader_path(search *s)
{
    for (size_t i = 0; s->names[i]; i++)
        if (!dl_open(&s->handle, &s->names[i], 1, NULL, NULL)) return true;
    return false;
}

/* Tries <folder>/<each entry>/<below> for the entries that begin with `prefix`. */
static bool try_entries(search *s, const char *folder, const char *prefix, const char *below,
                        bool (*attempt)(search *s, const char *folder))
{
    strvec entries = {0};
    bool found = false;
    if (!file_is_dir(folder) || file_list_dir(&entries, folder, "", NULL)) return false;
    for (size_t i = 0; !found && i < entries.count; i++) {
        str path = {0};
        if (!str_starts_with(entries.items[i], prefix)) continue;
        str_printf(&path, "%s/%s%s", folder, entries.items[i], below);
        found = !path.failed && attempt(s, str_text(&path));
        str_deinit(&path);
    }
    strvec_deinit(&entries);
    return found;
}

/* site-packages/nvidia has a folder for each package: cu13, cuda_nvrtc, cudnn ... */
static bool try_packages(search *s, const char *folder)
{
    return try_entries(s, folder, "", "", try_tree);
}

static bool try_python(search *s)
{
    const char *environment = getenv("VIRTUAL_ENV");
    char *folder = environment && *environment ? path_join(environment, "lib") : NULL;
    const bool found =
        folder && try_entries(s, folder, "python3", "/site-packages/nvidia", try_packages);
    mem_free(folder);
    return found;
}

static bool try_variable(search *s, const char *name)
{
    const char *folder = getenv(name);
    return folder && *folder && try_tree(s, folder);
}

static bool try_usual_places(search *s)
{
    static const char *const FOLDERS[] = {"/usr/local/cuda", "/usr/local/nvidia", "/usr/lib/wsl"};
    bool found = try_loader_path(s) || try_variable(s, "CUDA_HOME") || try_variable(s, "CUDA_PATH");
    for (size_t i = 0; !found && i < sizeof FOLDERS / sizeof *FOLDERS; i++)
        found = try_tree(s, FOLDERS[i]);
    return found || try_python(s);
}

static bool try_named(search *s, const char *list)
{
    span entry;
    bool found = false;
    while (!found && search_path_next(&entry, &list, ":")) {
        char *folder = mem_strndup(entry.data, entry.size);
        if (folder)
            found = span_equals(entry, "default") ? try_usual_places(s) : try_tree(s, folder);
        mem_free(folder);
    }
    return found;
}

pgy_status cuda_library_open(void **out, const char *const *names, pgy_error *err)
{
    search s = {.names = names};
    const char *list = getenv("POLYGRAPHY_CUDA_PATH");
    const bool named = list && *list;
    const bool found = named ? try_named(&s, list) : try_usual_places(&s);
    pgy_status st = PGY_OK;
    if (found)
        *out = s.handle;
    else if (s.why.size)
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "%s cannot be opened (%s)", names[0],
                           str_text(&s.why));
    else if (named)
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "%s was not found in POLYGRAPHY_CUDA_PATH (%s)",
                           names[0], list);
    else
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "%s was not found", names[0]);
    str_deinit(&s.why);
    return st;
}
