/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime looks at the flag of its run options between two nodes. A thread sets it, because
 * pgy_cancel may be called by a signal handler, which must not. */
#include "backends/onnxruntime/stop.h"

#include <time.h>

#include "base/cancel.h"

/* A run that ends sooner needs no watch: starting a thread would be a part of its time. */
enum { LONG_NS = 20 * 1000 * 1000, POLL_NS = 10 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };

static void *watch(void *user)
{
    ort_stop *s = user;
    bool asked = false;
    pthread_mutex_lock(&s->lock);
    while (!s->has_ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += POLL_NS;
        if (until.tv_nsec >= SECOND_NS) until.tv_sec++, until.tv_nsec -= SECOND_NS;
        pthread_cond_timedwait(&s->ended, &s->lock, &until);
        if (asked || !cancel_requested()) continue;
        asked = !ort_check(s->api, s->api->set_terminate(s->options), "ending a run", NULL);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void ort_stop_begin(ort_stop *s, const ort_api *api, int64_t last_ns)
{
    *s = (ort_stop){.api = api};
    if (last_ns >= 0 && last_ns < LONG_NS) return;
    if (ort_check(api, api->create_run_options(&s->options), "making run options", NULL)) return;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->ended, NULL);
    if (!pthread_create(&s->thread, NULL, watch, s)) return;
    api->release_run_options(s->options);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->lock);
    s->options = NULL;
}

void ort_stop_end(ort_stop *s)
{
    if (!s->options) return;
    pthread_mutex_lock(&s->lock);
    s->has_ended = true;
    pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    s->api->release_run_options(s->options);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->lock);
    s->options = NULL;
}
