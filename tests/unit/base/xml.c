/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/xml.h"

static void test_xml__text(void **state)
{
    (void)state;
    str s = {0};
    str_append_xml(&s, "<a href=\"x\">&'\n\t</a>");
    assert_string_equal(str_text(&s), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&#10;&#9;&lt;/a&gt;");
    str_clear(&s);
    str_append_xml(&s, "\x02\x1b[31m]]>\xff\xef\xbf\xbf ü");
    assert_string_equal(str_text(&s), "\\x02\\x1b[31m]]&gt;\\xff\\uffff ü");
    str_deinit(&s);
}
