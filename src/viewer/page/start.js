// SPDX-License-Identifier: Apache-2.0
// The start: the address is read and the first picture drawn, with nothing else in its way.

import {data} from './data.js';
import {region, shown} from './dom.js';
import {drawGraph, mountGraph} from './graph_view.js';
import {show} from './show.js';
import {mountLink} from './link.js';
import {breathe} from './pane.js';
import {store} from './store.js';

/** @typedef {import('./data.js').Quantity} Quantity */

/** A window of at most 700 pixels, as in narrow.css: there is no room for the details beside the picture. */
const NARROW = '(max-width: 700px)';

const LONG_MS = 30; // of work, after which the browser may answer and draw
const MANY_NODES = 3000; // take so long to read that it is a turn of its own

/** @returns {boolean} */
export function isNarrow() {
    return matchMedia(NARROW).matches;
}

/** Views with a section of their own; all others are tables. */
const OWN_VIEWS = new Set(['graph', 'summary', 'timeline', 'search', 'diff']);

/** What colours a page that was opened without a fragment: errors before times, so that what is wrong is seen at once. */
const FIRST_QUANTITIES = ['maxabs', 'error', 'made', 'time', 'change'];

/**
 * @param {Quantity[]} list
 * @returns {number} index in the results, -1: none
 */
export function firstQuantity(list) {
    for (const id of FIRST_QUANTITIES) {
        const found = list.find((q) => q.id === id && q.values.some((value) => value !== null));
        if (found) return found.index;
    }
    return -1;
}

/** @param {string} view @returns {string} the id of its section */
export function sectionOf(view) {
    return 'view-' + (OWN_VIEWS.has(view) ? view : 'table');
}

function showSection() {
    const seen = sectionOf(store.get().view);
    for (const section of document.querySelectorAll('.view')) /** @type {HTMLElement} */ (section).hidden = section.id !== seen;
}

/** Shows the section of the view, and the lists that will be filled, so that the picture has its size from the beginning. */
function mountSections() {
    const state = store.get();
    region('hits').hidden = state.query.trim() === '';
    region('worst').hidden = state.quantity < 0;
    region('quantity').hidden = !data.results().quantities.some((q) => q.graph === state.graph);
    region('sidebar').classList.toggle('closed', !state.sidebar);
    showSection();
    store.on((changed) => changed.has('view') && showSection());
}

/** @param {number} since @returns {Promise<number>} the same, or now if the browser had a turn */
async function turn(since) {
    if (performance.now() - since < LONG_MS) return since;
    await breathe();
    return performance.now();
}

/** Draws the first picture, or as much of the page as its view needs. */
export async function startPicture() {
    let since = performance.now();
    const head = data.head();
    region('title').textContent = shown(head.title);
    if ((head.graphs[0]?.nodes ?? 0) > MANY_NODES) await breathe();
    data.graph(0);
    since = await turn(since);
    const wanted = mountLink(show);
    if (location.hash.length < 2) store.set({quantity: firstQuantity(data.results().quantities.filter((q) => q.graph === store.get().graph))});
    if (isNarrow()) store.set({sidebar: false});
    mountSections();
    region('app').hidden = false;
    await turn(since);
    mountGraph();
    if (wanted) show(wanted);
    await drawGraph();
}
