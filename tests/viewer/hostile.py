# SPDX-License-Identifier: Apache-2.0
"""Names that try to break a page, and a model that has them everywhere. A payload that runs sets window.owned."""
import onnx_file as onnx

RUN = "window.owned=1"
NAMES = [
    f"<script>{RUN}</script>", f"</script><script>{RUN}</script>", f'<img src=x onerror="{RUN}">', f"<svg/onload={RUN}>",
    f"\"><iframe src=\"javascript:{RUN}\">", f"' onmouseover='{RUN}", f"javascript:{RUN}", f"`${{{RUN}}}`", f"\\\";{RUN};//", "<!--", "-->", "]]>", "<![CDATA[",
    "</style><style>*{display:none}</style>", "</title>", "<noscript>", "</noscript>", "&lt;b&gt; &amp; &#60;", "<b>bold</b>", '"', "'", "\\", "/", "%3Cscript%3E", "{{7*7}}",
    "__proto__", "constructor", "toString", "hasOwnProperty", "NaN", "null", "undefined", "-1", "1e999",
    "\u202egnp.elif\u202c", "\u2066\u2067isolated\u2069", "\u200f\u200eabc", "\u200bzero\u200dwidth", "\ufeffmark", "line\nbreak", "tab\tand\rreturn", "".join(map(chr, range(1, 32))),
    "\x7f\x80\x9f", "\u2028 and \u2029", "\ufffe\uffff", "\U0010ffff", "Zal\u0334\u0321\u0355go" + "\u0300" * 60, "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd", "\U0001f469\u200d\U0001f680",
    " ", "  leading and trailing  ", "a" * 10240, "<" * 10240, "wide " * 2048,
    b"\xff\xfe invalid", b"\xc0\xafoverlong", b"\xed\xa0\x80surrogate", b"cut \xe2\x82", b"\xf5\x80\x80\x80beyond",
]


def name_text(name):
    """The name as a page has it: bytes that are no UTF-8 become U+FFFD."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def model(names=None):
    """A chain with a node for each name, which is also its output's, its weight's, an attribute's and a document's."""
    names = NAMES if names is None else names
    nodes, weights, values, before = [], [], [], "x"
    for i, name in enumerate(names):
        raw = name if isinstance(name, bytes) else name.encode("utf-8", "surrogatepass")
        output, constant = raw + b" t%d" % i, raw + b" w%d" % i
        op, domain = ("Add", "") if i % 3 else (raw, raw)
        nodes.append(onnx.node(op, [before, constant], [output], raw, domain=domain, doc=raw, metadata=[(raw, raw)], **{"text": raw}))
        weights.append(onnx.weight(constant, [2], 1.0))
        values.append(onnx.tensor(output, [raw], doc=raw))
        before = output
    first = names[0]
    return onnx.model(nodes, [onnx.tensor("x", [first, 2])], [onnx.tensor(before, [first])], weights, values, name=first, doc=first, producer=first,
                      domains=[n if isinstance(n, bytes) else n.encode() for n in names[:4]], metadata=[(n, n) for n in names])
