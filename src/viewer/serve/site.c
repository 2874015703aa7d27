/* SPDX-License-Identifier: Apache-2.0 */
/* What the server of pages serves, and to whom. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "viewer/html.h"
#include "viewer/serve/answer.h"

static pgy_status make_token(char *out, pgy_error *err)
{
    unsigned char bits[SITE_TOKEN_SIZE / 2];
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return pgy_error_set(err, PGY_E_IO, "the system gives no random numbers: %s",
                             strerror(errno));
    for (size_t i = 0; i < sizeof bits; i++) snprintf(out + 2 * i, 3, "%02x", bits[i]);
    return PGY_OK;
}

pgy_status site_init(site *s, pgy_page *p, pgy_error *err)
{
    *s = (site){.page = p, .values = {.page = p}};
    pgy_status st = make_token(s->token, err);
    if (!st) st = html_write(&s->html, p, true, &s->policy, err);
    if (st) site_deinit(s);
    return st;
}

void site_deinit(site *s)
{
    page_values_deinit(&s->values);
    str_deinit(&s->html);
    str_deinit(&s->policy);
}
