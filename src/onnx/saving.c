/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a save: deciding where weights go, measuring the model, and writing it. */
#include "onnx/saving.h"

encode_options saving_options(placement *p)
{
    const bool needed = p->move_out || pgy_model_has_external_data(p->m);
    return (encode_options){.replace = needed ? placement_replace : NULL, .user = p};
}

pgy_status saving_measure(saving *s, pgy_error *err)
{
    encoder_destroy(s->encoder);
    s->encoder = NULL;
    placement_clear(&s->place);
    const encode_options options = saving_options(&s->place);
    return encoder_create(&s->encoder, s->place.m->proto, &options, err);
}

typedef struct sink_target {
    file_writer *file;
    pgy_model *m;
} sink_target;

static pgy_status put_file(void *user, const void *data, size_t size_bytes, pgy_error *err)
{
    sink_target *to = user;
    return file_writer_put(to->file, to->m, data, size_bytes, err);
}

pgy_status saving_write_model(file_writer **out, saving *s, pgy_error *err)
{
    pgy_status st = file_writer_create(out, s->path, err);
    sink_target to = {*out, s->place.m};
    return st ? st : encoder_write(s->encoder, put_file, &to, err);
}
