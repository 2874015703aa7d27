// SPDX-License-Identifier: Apache-2.0
// The steps of a search for the first bad layer or the smallest failing model, with the verdict of each.

import {data, readNumber} from './data.js';
import {store} from './store.js';
import {button, el, exactNumber, fill, shown} from './dom.js';
import {counted, goTo, itemLink} from './facts.js';

const VERDICTS = new Map([['pass', ['\u2713', 'passes']], ['fail', ['\u2715', 'fails']], ['skip', ['\u2013', 'skipped']]]);

/** @param {HTMLElement} element */
export function mountSearch(element) {
    let made = false;
    const update = () => {
        const search = made || store.get().view !== 'search' ? null : data.search();
        if (search === null) return;
        made = true;
        const most = Math.max(1, ...search.steps.map((step) => step.nodes.length));
        fill(element, el('div', {class: 'panel reading'}, el('h2', {}, shown(search.title)), search.found ? el('p', {class: 'banner'}, shown(search.found)) : null,
            el('table', {class: 'steps'},
                el('thead', {}, el('tr', {}, ...['Step', 'Verdict', 'Tried', 'Nodes', 'Seconds'].map((name) => el('th', {scope: 'col', class: name === 'Step' || name === 'Seconds' ? 'number' : null}, name)))),
                el('tbody', {}, ...search.steps.map((step, i) => stepRow(step, i, most))))));
    };
    store.on(update);
    update();
}

/**
 * @param {import('./data.js').Search['steps'][number]} step
 * @param {number} i
 * @param {number} most nodes of any step
 */
function stepRow(step, i, most) {
    const [sign, word] = VERDICTS.get(step.verdict) ?? ['?', step.verdict];
    const seconds = readNumber(step.seconds);
    const meter = el('span', {class: 'meter', 'aria-hidden': 'true'});
    meter.style.width = `${(100 * step.nodes.length) / most}%`;
    const nodes = el('div', {class: 'bar-cell'}, meter, el('span', {}, step.nodes.length === 1 ? itemLink({kind: 'node', id: step.nodes[0], graph: 0}, 40) : counted(step.nodes.length, 'node'), ' ',
        step.nodes.length > 0 && button('Show', () => showStep(step.nodes), {class: 'link', 'aria-label': `Show the nodes of step ${i + 1}`})));
    return el('tr', {class: `verdict-row ${step.verdict}`}, el('td', {class: 'number'}, i + 1), el('td', {}, el('span', {class: `sign ${step.verdict}`, 'aria-hidden': 'true'}, sign), ` ${word}`),
        el('td', {}, el('div', {}, shown(step.title)), step.detail ? el('div', {class: 'type'}, shown(step.detail)) : null), el('td', {}, nodes), el('td', {class: 'number'}, seconds === null ? '–' : exactNumber(Number(seconds.toPrecision(3)))));
}

/**
 * Highlights the nodes of a step, and what lies between them.
 * @param {number[]} nodes
 */
function showStep(nodes) {
    const g = data.graph(0);
    const kept = new Set(nodes);
    /** @type {Set<number>} */
    const tensors = new Set();
    for (const node of kept) for (const tensor of g.node.outputs[node] ?? []) if (tensor >= 0) tensors.add(tensor);
    store.set({path: {nodes: kept, tensors}});
    goTo({kind: 'node', id: nodes[0], graph: 0});
}
