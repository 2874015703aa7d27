/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that make pages share. */
#include "cli/page.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/child_start.h"
#include "base/log.h"

static const char LOG_PATH[] = "cli/page.c";

const char *page_command(args *line)
{
    if (!line->command) return NULL;
    char *text = arena_strdup(&line->memory, line->command);
    if (!text) return NULL;
    char *to = text, *word = text;
    bool quoted = false;
    for (const char *p = line->command; *p; p++) {
        if (*p == '\'') quoted = !quoted;
        if (*p == '/') { /* drop what the word has so far, but for its quote */
            to = word;
            continue;
        }
        *to++ = *p;
        if (*p == ' ' && !quoted) word = to;
        if (*p == '\'' && quoted) word = to;
    }
    *to = 0;
    return text;
}

void page_warn(const pgy_page *p)
{
    for (size_t i = 0; i < pgy_page_warning_count(p); i++)
        LOG(WARNING, "%s", pgy_page_warning(p, i));
}

/* ---- Browser -------------------------------------------------------------------------------- */

/* A browser's own messages would stand between ours. */
static int start_silently(char *const *words)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions)) return -1;
    int failed = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (!failed) failed = child_start_group(&child, words, &actions);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

void page_open(const char *address)
{
    const char *chosen = getenv("BROWSER");
    const bool desktop = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
    const bool is_chosen = chosen && *chosen;
    char *const words[] = {(char *)(is_chosen ? chosen : "xdg-open"), (char *)address, NULL};
    if ((!is_chosen && !desktop) || start_silently(words))
        LOG(INFO, "No browser was started: open the address above, or give a program in BROWSER");
}

/* ---- Server --------------------------------------------------------------------------------- */

pgy_status page_port(uint16_t *out, int64_t port, const char *option, pgy_error *err)
{
    if (port < 1 || port > UINT16_MAX)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument %s: %lld is no port; expected 1 to 65535", option,
                             (long long)port);
    *out = (uint16_t)port;
    return PGY_OK;
}

typedef struct serving {
    const pgy_page *page;
    bool opens_browser;
} serving;

/* The page is laid out by now, so it has all of its warnings. */
static void on_ready(const char *address, void *user)
{
    const serving *s = user;
    page_warn(s->page);
    LOG(INFO, "Serving the page until Ctrl-C: %s", address);
    if (s->opens_browser) page_open(address);
}

pgy_status page_serve(pgy_page *p, uint16_t port, bool opens_browser, pgy_error *err)
{
    serving s = {p, opens_browser};
    const pgy_page_serve_options options = {
        .size = sizeof options, .port = port, .ready = on_ready, .user = &s};
    return pgy_page_serve(p, &options, err);
}
