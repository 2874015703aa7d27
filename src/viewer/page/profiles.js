// SPDX-License-Identifier: Apache-2.0
// The choice of a plan's profile: each has a program, and so a graph, of its own.

import {data} from './data.js';
import {store} from './store.js';
import {el, fill} from './dom.js';
import {say} from './describe.js';

/** @returns {{graph: number, profile: number}[]} the graphs of profiles in the order of their numbers; none if the page has one program */
function profileGraphs() {
    const found = data.head().graphs.flatMap(({role, profile}, graph) => (role === 'profile' && profile !== undefined ? [{graph, profile}] : []));
    return found.sort((a, b) => a.profile - b.profile);
}

/** @param {number} graph  whose program is shown from the beginning: places and folding of another have no meaning in it */
function showProgram(graph) {
    store.set({graph, root: 0, states: new Map(), instance: new Map(), selected: null, other: null, path: null, hits: null, bookmarks: new Set(), camera: {x: 0, y: 0, scale: 0}});
}

/** @param {1 | -1} side */
export function stepProfile(side) {
    const list = profileGraphs();
    if (list.length === 0) return say('the page has one program');
    const at = list.findIndex(({graph}) => graph === store.get().graph);
    const next = list[(at + side + list.length) % list.length];
    showProgram(next.graph);
    say(`profile ${next.profile}`);
}

/** @param {HTMLElement} element */
export function mountProfile(element) {
    const list = profileGraphs();
    element.hidden = list.length === 0;
    if (list.length === 0) return;
    const select = el('select', {id: 'profile-choice', title: 'Next profile (o)', on: {change: (event) => showProgram(Number(event.target.value))}},
        ...list.map(({graph, profile}) => el('option', {value: graph}, `profile ${profile}`)));
    fill(element, el('label', {for: 'profile-choice'}, 'Program'), ' ', select);
    const update = () => {
        select.value = String(store.get().graph);
    };
    store.on((changed) => changed.has('graph') && update());
    update();
}
