// SPDX-License-Identifier: Apache-2.0
// The tabs of the views, and the menu of switches.

import {data} from './data.js';
import {store} from './store.js';
import {button, el, fill, roveFocus, shown} from './dom.js';
import {sectionOf} from './start.js';

/** @returns {[string, string][]} id and title of the views that have data */
function viewList() {
    const head = data.head();
    const has = (/** @type {string} */ block) => head.blocks.includes(block) || (head.served && head.blocks.includes(block));
    /** @type {[string, string][]} */
    const list = [['graph', 'Graph'], ['summary', 'Summary']];
    if (has('timeline')) list.push(['timeline', 'Timeline']);
    if (has('search')) list.push(['search', 'Search']);
    if (data.results().pairs !== null || head.tables.some((table) => table.id === 'diff')) list.push(['diff', 'Differences']);
    for (const table of head.tables) if (table.id !== 'diff') list.push([table.id, table.title]);
    return list;
}

/** @param {HTMLElement} element */
export function mountViews(element) {
    const list = viewList();
    const bar = el('div', {class: 'tabs', role: 'tablist', 'aria-label': 'Views'});
    const tabs = new Map(list.map(([id, title]) => {
        const tab = button(shown(title), () => store.set({view: id}), {class: 'tab', role: 'tab', 'aria-controls': sectionOf(id), 'data-view': id});
        bar.append(tab);
        return [id, tab];
    }));
    fill(element, bar);
    for (const view of document.querySelectorAll('.view')) view.setAttribute('role', 'tabpanel');
    roveFocus(bar, '[role=tab]');
    const update = () => {
        const known = tabs.has(store.get().view) ? store.get().view : 'graph';
        if (known !== store.get().view) store.set({view: known});
        for (const [id, tab] of tabs) {
            tab.setAttribute('aria-selected', String(id === known));
            tab.tabIndex = id === known ? 0 : -1;
        }
    };
    store.on((changed) => changed.has('view') && update());
    update();
}

// ---- Switches ---------------------------------------------------------------------------------------

/** @type {[keyof import('./store.js').State, string, string][]} */
const SWITCH_ROWS = [
    ['attributes', 'Attributes on the cards', 'Ctrl+D'],
    ['weights', 'Weights on the cards', 'Ctrl+I'],
    ['names', 'Names on the cards', 'Ctrl+U'],
    ['horizontal', 'From left to right', 'Ctrl+K'],
    ['zoom_by_wheel', 'The wheel zooms', 'Ctrl+M'],
    ['widths', 'Lines as wide as their bytes', ''],
    ['diff', 'Both graphs in one picture', 'd'],
];

/** @param {HTMLElement} element */
export function mountSwitches(element) {
    const menu = el('div', {class: 'menu'});
    const boxes = SWITCH_ROWS.filter(([name]) => name !== 'diff' || data.head().graphs.some((graph) => graph.role === 'merged')).map(([name, text, key]) => {
        const box = el('input', {type: 'checkbox', on: {change: (event) => store.set({[name]: event.target.checked})}});
        menu.append(el('label', {}, box, ` ${text}`, key !== '' && el('kbd', {}, key)));
        return {name, box};
    });
    const near = el('select', {on: {change: (event) => store.set({near: Number(event.target.value)})}},
        ...[0, 1, 2, 3, 5, 8].map((steps) => el('option', {value: steps}, steps === 0 ? 'the whole graph' : `${steps} step${steps > 1 ? 's' : ''} around the selection`)));
    menu.append(el('label', {}, 'Show ', near));
    const details = el('details', {class: 'drop'}, el('summary', {}, 'View'), menu);
    fill(element, details);
    closeOutside(details);
    const update = () => {
        const state = store.get();
        for (const {name, box} of boxes) box.checked = Boolean(state[name]);
        near.value = String(state.near);
    };
    store.on(update);
    update();
}

/**
 * Closes a menu when something else is pressed.
 * @param {HTMLDetailsElement} details
 */
export function closeOutside(details) {
    document.addEventListener('pointerdown', (event) => {
        if (details.open && !(event.target instanceof Node && details.contains(event.target))) details.open = false;
    });
    details.addEventListener('keydown', (event) => {
        if (event.key !== 'Escape' || !details.open) return;
        details.open = false;
        details.querySelector('summary')?.focus();
        event.stopPropagation();
    });
}
