/* SPDX-License-Identifier: Apache-2.0 */
/* Opens third-party libraries and fills tables of their functions. */
#include "base/dl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/child_start.h"
#include "base/file.h"

static const char *const SYSTEM_FOLDERS[] = {"/usr/local/lib",
                                             "/usr/local/lib64",
#if defined(__x86_64__)
                                             "/lib/x86_64-linux-gnu",
                                             "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
                                             "/lib/aarch64-linux-gnu",
                                             "/usr/lib/aarch64-linux-gnu",
#endif
                                             "/lib64",
                                             "/usr/lib64",
                                             "/lib",
                                             "/usr/lib"};
enum { SYSTEM_FOLDER_COUNT = sizeof SYSTEM_FOLDERS / sizeof SYSTEM_FOLDERS[0] };

/* Returns NULL if the file does not exist, or cannot be opened; in the second case *reason says
 * why. */
static void *open_in(span folder, const char *name, str *reason)
{
    str path = {0};
    str_append_n(&path, folder.data, folder.size);
    str_append_char(&path, '/');
    str_append(&path, name);
    void *handle = NULL;
    if (!path.failed && file_exists(str_text(&path))) {
        handle = dlopen(str_text(&path), RTLD_NOW | RTLD_LOCAL);
        const char *why = handle ? NULL : dlerror();
        if (why && !reason->size) str_append(reason, why);
    }
    str_deinit(&path);
    return handle;
}

/* If LD_LIBRARY_PATH has an empty entry, the loader would search the current folder, too. So we
 * search its other entries and the system's folders ourselves. */
static void *open_by_search(const char *name, const char *library_path, str *reason)
{
    void *handle = NULL;
    span folder;
    while (!handle && search_path_next(&folder, &library_path, ":;"))
        handle = open_in(folder, name, reason);
    for (size_t i = 0; !handle && i < SYSTEM_FOLDER_COUNT; i++)
        handle = open_in(span_of(SYSTEM_FOLDERS[i]), name, reason);
    if (!handle && !reason->size)
        str_append(reason, "not found (LD_LIBRARY_PATH has an empty entry, which means the current "
                           "folder; that folder is not searched)");
    return handle;
}

static void *open_one(const char *name, str *reason)
{
    const char *library_path = getenv("LD_LIBRARY_PATH");
    if (library_path && !strchr(name, '/') && search_path_has_empty(library_path, ":;"))
        return open_by_search(name, library_path, reason);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *why = handle ? NULL : dlerror();
    if (!handle) str_append(reason, why ? why : "unknown reason");
    return handle;
}

pgy_status dl_open(void **out, const char *const *names, size_t count, str *tried, pgy_error *err)
{
    str list = {0};
    for (size_t i = 0; i < count; i++) {
        str reason = {0};
        void *handle = open_one(names[i], &reason);
        if (!handle)
            str_printf(&list, "%s%s: %s", list.size ? "; " : "", names[i], str_text(&reason));
        str_deinit(&reason);
        if (!handle) continue;
        str_deinit(&list);
        *out = handle;
        return PGY_OK;
    }
    if (tried) str_append(tried, str_text(&list));
    const pgy_status st =
        pgy_error_set(err, PGY_E_NOT_FOUND, "cannot open any of the libraries tried (%s)",
                      count ? str_text(&list) : "the list of names is empty");
    str_deinit(&list);
    return st;
}

pgy_status dl_resolve(void *handle, const dl_symbol *symbols, size_t count, pgy_error *err)
{
    str missing = {0};
    for (size_t i = 0; i < count; i++) {
        *symbols[i].store = dlsym(handle, symbols[i].name);
        if (!*symbols[i].store && symbols[i].required)
            str_printf(&missing, "%s%s", missing.size ? ", " : "", symbols[i].name);
    }
    const bool complete = missing.size == 0 && !missing.failed;
    const pgy_status st =
        complete ? PGY_OK
                 : pgy_error_set(err, PGY_E_NOT_FOUND, "the library lacks the symbols: %s",
                                 str_text(&missing));
    str_deinit(&missing);
    return st;
}
