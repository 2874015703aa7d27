// SPDX-License-Identifier: Apache-2.0
// Items in words, for screen readers and tips.

import {containerName, data, nodeName, nodeOp, tensorName, tensorShape} from './data.js';
import {store} from './store.js';
import {shown} from './dom.js';
import {markNames, marksOf} from './fold.js';
import {MARK_LOOKS} from './marks.js';
import {colouring, marksOfItem, quantityOn, valueOf, valueText} from './look.js';
import {consumersOf, producersOf} from './walk.js';

/** @typedef {import('./store.js').Item} Item */

/** @param {string} text */
export function say(text) {
    const announcer = document.getElementById('announcer');
    if (announcer) announcer.textContent = text;
}

/** @param {string[]} names */
function some(names) {
    return names.length === 0 ? 'none' : names.slice(0, 4).join(', ') + (names.length > 4 ? ' and ' + (names.length - 4) + ' more' : '');
}

/**
 * An item in words: operator, name, value, marks, neighbours.
 * @param {Item} item
 * @returns {string}
 */
export function describe(item) {
    const g = data.graph(item.graph);
    const state = store.get();
    if (item.kind === 'tensor') {
        const shape = tensorShape(g, item.id);
        return shown('tensor ' + tensorName(g, item.id) + (shape === null ? '' : ', shape ' + (shape || 'scalar')));
    }
    const look = /** @type {import('./look.js').Look} */ (/** @type {unknown} */ ({g, state, ...colouring(g, state), marks: marksOf(g)}));
    const thing = {kind: item.kind, id: item.id};
    const quantity = quantityOn(g, state);
    const value = quantity && valueOf(look, thing) !== null ? ', ' + quantity.label + ' ' + valueText(look, thing) : '';
    const marks = markNames(marksOfItem(look, thing)).map((kind) => ', ' + (MARK_LOOKS.get(kind)?.title ?? kind)).join('');
    if (item.kind === 'container') return shown('group ' + containerName(g, item.id) + value + marks);
    const name = (/** @type {number} */ n) => nodeOp(g, n) + ' ' + nodeName(g, n);
    return shown(name(item.id) + value + marks + '. From: ' + some(producersOf(g, item.id).map(name)) + '. To: ' + some(consumersOf(g, item.id).map(name)) + '.');
}

/**
 * What the pointer is over, with its names in full.
 * @param {import('./pane.js').Pane} pane
 * @returns {string}
 */
export function tipOf(pane) {
    const {g, scene, hover, hoverTensor, look} = pane;
    if (!scene || !look) return '';
    if (hoverTensor >= 0) return describe({kind: 'tensor', id: hoverTensor, graph: pane.graph});
    const card = scene.cards[hover];
    if (!card) return '';
    const text = card.item.kind === 'node' ? nodeOp(g, card.item.id) + ' ' + nodeName(g, card.item.id) : containerName(g, card.item.id);
    const value = valueText(look, card.item);
    const marks = markNames(marksOfItem(look, card.item)).map((kind) => MARK_LOOKS.get(kind)?.title);
    return [shown(text).slice(0, 300), value && look.quantity ? look.quantity.label + ': ' + value : '', marks.join(', ')].filter((t) => t).join('\n');
}
