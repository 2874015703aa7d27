/* SPDX-License-Identifier: Apache-2.0 */
/* Opening third-party libraries and filling tables of their functions. */
#include "base/dl.h"

#include <dlfcn.h>

pgy_status dl_open(void **out, const char *const *names, size_t count, str *tried, pgy_error *err)
{
    str list = {0};
    for (size_t i = 0; i < count; i++) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            str_deinit(&list);
            *out = handle;
            return PGY_OK;
        }
        const char *reason = dlerror();
        str_printf(&list, "%s%s: %s", list.size ? "; " : "", names[i],
                   reason ? reason : "unknown reason");
    }
    if (tried) str_append(tried, str_text(&list));
    const pgy_status st = pgy_error_set(err, PGY_E_NOT_FOUND, "no library could be opened (%s)",
                                        count ? str_text(&list) : "no names to try");
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
    const pgy_status st = complete
                              ? PGY_OK
                              : pgy_error_set(err, PGY_E_NOT_FOUND, "library lacks the symbols: %s",
                                              str_text(&missing));
    str_deinit(&missing);
    return st;
}
