// SPDX-License-Identifier: Apache-2.0
// The list of keys and of what a query can say.

import {el, fill} from './dom.js';
import {KEYS} from './keys.js';

/** What the find box understands: example and meaning. */
const QUERY_HELP = [
    ['conv layer1', 'all words are in the name, operator, type or shape'],
    ['"conv1"', 'exactly this'],
    ['op:Conv  op:Conv*', 'operator; * is anything'],
    ['name:  in:  weight:  domain:', 'name, part of the model, name of a weight, domain'],
    ['shape:64x  shape:1x*x56', 'sizes one after the other'],
    ['dtype:float16', 'type of an output'],
    ['category:pool  is:connection', 'kind of operator; node, connection, weight, input, output'],
    ['err>1e-3  time>1ms  bytes>1MiB', 'any quantity of the page: < <= = != >= >; NaN is larger than all numbers'],
    ['fail  nan  inf  first', 'marks; mark:changed, mark:bookmark'],
    ['-op:Constant', 'not'],
    ['(a OR b) c', 'either; AND binds stronger'],
];

/** @type {{dialog: HTMLDialogElement | null}} */
const help = {dialog: null};

export function openHelp() {
    if (help.dialog && !help.dialog.open) help.dialog.showModal();
}

/** @param {HTMLElement} element */
export function mountHelp(element) {
    help.dialog = /** @type {HTMLDialogElement} */ (element);
    const groups = new Map();
    for (const {keys, text, group} of KEYS) groups.set(group, [...(groups.get(group) ?? []), [keys, text]]);
    const close = el('button', {type: 'button', class: 'close', 'aria-label': 'Close', on: {click: () => help.dialog?.close()}}, '\u00d7');
    fill(element, close, el('h2', {}, 'Keys'), el('div', {class: 'columns'}, ...[...groups].map(([group, rows]) =>
        el('section', {}, el('h3', {}, group), el('table', {class: 'help-keys'}, el('tbody', {}, ...rows.map((/** @type {[string, string]} */ [keys, text]) =>
            el('tr', {}, el('th', {scope: 'row'}, ...keyCaps(keys)), el('td', {}, text)))))))),
    el('h2', {}, 'Find'), el('table', {class: 'help-keys'}, el('tbody', {}, ...QUERY_HELP.map(([example, text]) => el('tr', {}, el('th', {scope: 'row'}, el('code', {}, example)), el('td', {}, text))))));
    element.addEventListener('click', (event) => {
        if (event.target === element) help.dialog?.close();
    });
}

const ARROWS = new Map([['ArrowUp', '\u2191'], ['ArrowDown', '\u2193'], ['ArrowLeft', '\u2190'], ['ArrowRight', '\u2192']]);

/**
 * A key as it is written on keyboards: an arrow, Ctrl+M.
 * @param {string} key
 */
function keyCap(key) {
    return key.replace(/Arrow\w+$/, (name) => ARROWS.get(name) ?? name).replace(/\+[a-z]$/, (end) => end.toUpperCase());
}

/** @param {string | string[]} keys */
function keyCaps(keys) {
    const list = Array.isArray(keys) ? keys : [keys];
    return list.flatMap((key, i) => [i > 0 ? ' ' : '', el('kbd', {}, keyCap(key))]);
}
