// SPDX-License-Identifier: Apache-2.0
// Two graphs side by side fold together.

import {containerName} from './data.js';

/** @typedef {import('./data.js').Graph} Graph */
/** @typedef {import('./fold.js').Folding} Folding */

/**
 * Containers by the names of those around them.
 * @param {Graph} g
 * @returns {Map<string, number>}
 */
function containersByPath(g) {
    const paths = new Map();
    const pathOf = (/** @type {number} */ c) => {
        const names = [];
        for (let at = c; at > 0; at = g.container.parent[at]) names.push(g.container.kind[at] + containerName(g, at));
        return names.join('\n');
    };
    for (let c = g.container.count - 1; c > 0; c--) paths.set(pathOf(c), c);
    return paths;
}

/**
 * The same change of folding in the other of two graphs, where it has containers of the same names.
 * @param {Graph} from
 * @param {Graph} to
 * @param {Folding} before  of `from`
 * @param {Partial<Folding>} change
 * @param {Folding} other  of `to`
 * @returns {Partial<Folding>}
 */
export function mirroredFolding(from, to, before, change, other) {
    const names = new Map([...containersByPath(from)].map(([path, c]) => [c, path]));
    const there = containersByPath(to);
    /** @type {Partial<Folding>} */
    const mirrored = {};
    for (const kind of /** @type {['states', 'instance']} */ (['states', 'instance'])) {
        const map = change[kind];
        if (!map) continue;
        const next = new Map(other[kind]);
        for (const [c, value] of map) {
            const same = there.get(names.get(c) ?? '');
            if (before[kind].get(c) !== value && same !== undefined) next.set(same, value);
        }
        mirrored[kind] = next;
    }
    return mirrored;
}
