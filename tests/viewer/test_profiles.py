# SPDX-License-Identifier: Apache-2.0
"""A plan with several profiles: each program is a graph that can be chosen."""
from harness import EXAMPLES, READY, go_to, state


def shapes(n):
    return [f"--trt-{kind}-shapes=image:[{n},1,8,8]" for kind in ("min", "opt", "max")]


def open_plan(t, **more):
    t.run("convert", EXAMPLES / "digits.onnx", "-o", "two.plan", *shapes(1), *shapes(16))
    return t.open(t.view("two.plan"), **more)


def output_shape(page):
    go_to(page, "fc")
    return page.text("#sidebar").replace("×", "x")


def test_profile_is_chosen_in_the_page_by_key_and_by_link(t):
    page = open_plan(t)
    assert page.js("[...document.querySelectorAll('#profile-choice option')].map((o) => o.textContent).join()") == "profile 0,profile 1"
    assert "1x10" in output_shape(page) and "16x10" not in output_shape(page)
    page.run("() => { const s = document.querySelector('#profile-choice'); s.value = '1'; s.dispatchEvent(new Event('change', {bubbles: true})); }")
    page.wait("location.hash.includes('graph=1')")
    assert "16x10" in output_shape(page)
    page.reload(READY)
    assert page.js("document.querySelector('#profile-choice').value") == "1"
    assert "16x10" in output_shape(page)
    page.click("#canvas")
    page.key("Escape")
    page.key("o")
    page.wait("document.querySelector('#profile-choice').value === '0'")
    assert state(page).get("graph", "0") == "0"


def test_page_of_one_program_has_no_choice(t):
    page = t.open(t.view(t.example("digits.onnx")))
    assert not page.is_shown("#profile")
