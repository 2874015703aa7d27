// SPDX-License-Identifier: Apache-2.0
// The summary: what was looked at, the verdict, where it starts, how it was made, and how to repeat it.

import {data, tensorName} from './data.js';
import {shortValue} from './colour.js';
import {store} from './store.js';
import {copyButton, el, facts, fill, named, shown} from './dom.js';
import {goTo, itemLink, itemMarks, markText} from './facts.js';
import {worstFirst} from './worst.js';
import {longText} from './sidebar_node.js';

/** @typedef {import('./store.js').Item} Item */

/** @param {HTMLElement} element */
export function mountSummary(element) {
    let made = false;
    const update = () => {
        if (made || store.get().view !== 'summary') return;
        made = true;
        fill(element, summaryPanel());
    };
    store.on(update);
    update();
}

function summaryPanel() {
    const head = data.head();
    return el('div', {class: 'panel reading'}, el('h2', {}, shown(head.title)), verdictBanner(), startOfFailure(), warningList(head.warnings), worstPlaces(),
        ...head.summary.map(({title, rows}) => el('section', {}, el('h3', {}, shown(title)), facts(rows.map(([name, text]) => [named(name), longText(text)])))),
        el('section', {}, el('h3', {}, 'Made from'), facts(head.sources.map(({path, label}) => [named(lastFolder(path)), shown(label)]))),
        el('section', {}, el('h3', {}, 'To repeat'), el('div', {class: 'command'}, el('span', {}, shown(head.generator)), copyButton(head.command), el('code', {tabindex: 0}, shown(head.command)))));
}

/**
 * A path without its folders, which say more about who made the page than about the model.
 * @param {string} path
 */
export function lastFolder(path) {
    return path.replace(/^.*[\\/](?=[^\\/])/, '');
}

function verdictBanner() {
    const {verdict} = data.head();
    if (verdict === null) return null;
    return el('p', {class: verdict.passed ? 'banner pass' : 'banner fail'}, el('strong', {}, verdict.passed ? 'PASSED' : 'FAILED'), ' ', shown(verdict.text));
}

/**
 * The first failing node.
 * @returns {Item | null}
 */
export function firstFailing() {
    const {marks} = data.results();
    const named = marks.find((mark) => mark.kind === 'first');
    const failing = named ? [named] : marks.filter((mark) => mark.kind === 'fail' || mark.kind === 'nan' || mark.kind === 'inf');
    /** @type {Item | null} */
    let first = null;
    for (const mark of failing) {
        const id = mark.of === 'node' ? mark.at : data.graph(mark.graph).tensor.producer[mark.at];
        if (id >= 0 && (first === null || id < first.id)) first = {kind: 'node', id, graph: mark.graph};
    }
    return first;
}

function startOfFailure() {
    const first = firstFailing();
    if (first === null) return null;
    const texts = itemMarks(first).map((mark) => mark.text || markText(mark.kind));
    return el('section', {}, el('h3', {}, 'Where it starts'), el('p', {}, itemLink(first), texts.length > 0 && `: ${shown(texts.join('; '))}`));
}

/** @param {string[]} warnings */
function warningList(warnings) {
    if (warnings.length === 0) return null;
    return el('section', {}, el('h3', {}, `Warnings (${warnings.length})`), el('ul', {class: 'warnings'}, ...warnings.map((text) => el('li', {}, longText(text)))));
}

/** The five worst of each kind of measurement that the first graph has. */
function worstPlaces() {
    const seen = new Set();
    const boxes = [];
    for (const quantity of data.results().quantities) {
        if (quantity.graph !== 0 || quantity.better === 'none' || quantity.scale === 'category' || seen.has(quantity.group)) continue;
        seen.add(quantity.group);
        const rows = worstFirst(quantity).slice(0, 5);
        if (rows.length === 0) continue;
        const open = (/** @type {number} */ id) => {
            store.set({quantity: quantity.index, range: null});
            goTo({kind: quantity.of, id, graph: 0});
        };
        boxes.push(el('div', {}, el('h4', {}, shown(quantity.label)), el('table', {class: 'measured'}, el('tbody', {}, ...rows.map((id) => {
            const name = quantity.of === 'tensor' ? named(tensorName(data.graph(0), id), 60) : itemLink({kind: 'node', id, graph: 0});
            const link = quantity.of === 'tensor' ? el('button', {type: 'button', class: 'link', on: {click: () => open(id)}}, name) : name;
            return el('tr', {}, el('th', {scope: 'row'}, link), el('td', {class: 'number'}, shortValue(quantity, quantity.values[id])));
        })))));
    }
    return boxes.length > 0 && el('section', {}, el('h3', {}, 'Worst places'), el('div', {class: 'columns'}, ...boxes));
}
