/* SPDX-License-Identifier: Apache-2.0 */
/* Text inside XML 1.0, which cannot hold control characters even as references. */
#ifndef BASE_XML_H
#define BASE_XML_H

#include "base/str.h"

/* Appends text for an element or a quoted attribute. The text is made printable (base/printable.h);
 * markup, line breaks and tabs become references. */
void str_append_xml(str *out, const char *text);

#endif
