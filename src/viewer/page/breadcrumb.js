// SPDX-License-Identifier: Apache-2.0
// What stands over the picture: the titles of the halves, and the path of opened parts.

import {containerName, data} from './data.js';
import {region, shown} from './dom.js';
import {store} from './store.js';

/** @param {import('./pane.js').Pane[]} panes */
export function showTitles(panes) {
    const {graphs} = data.head();
    panes.forEach((pane, k) => {
        const title = region(k === 0 ? 'half-title' : 'half-title-b');
        title.hidden = graphs.length < 2;
        const {role, name} = graphs[pane.graph];
        title.textContent = (role === 'a' ? 'A: ' : role === 'b' ? 'B: ' : '') + (role === 'merged' ? 'A and B in one picture' : shown(name));
    });
}

/**
 * Shows the containers around the root of the state.
 * @param {import('./data.js').Graph} g
 * @param {(container: number) => void} open
 */
export function showBreadcrumb(g, open) {
    const {root} = store.get();
    const bar = region('breadcrumb');
    bar.hidden = root === 0;
    const path = [];
    for (let c = root; c >= 0; c = g.container.parent[c]) path.unshift(c);
    if (path[0] !== 0) path.unshift(0);
    bar.replaceChildren();
    path.forEach((c, k) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = shown(containerName(g, c)) || 'graph';
        if (k === path.length - 1) button.setAttribute('aria-current', 'location');
        button.addEventListener('click', () => open(c));
        bar.append(button);
    });
}
