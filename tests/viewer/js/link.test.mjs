// The address and the state.
import assert from 'node:assert/strict';
import test from 'node:test';

import {decodeState, encodeState} from '../../../src/viewer/page/link.js';
import {firstState} from '../../../src/viewer/page/store.js';
import {graphOf, layoutOf} from './graphs.mjs';

const NAMES = ['a/b', 'x=1&y=2#z', 'same', 'same', '', '~1', 'Ünï ♥ 名'];

function known() {
    const g = graphOf([['N0', ['x'], ['t'], 0]], [
        {kind: 0, parent: -1, layout: layoutOf([[0, 0, 0, 50, 100, 40]], [])},
        {kind: 2, parent: 0, state: 2, layout: layoutOf([[0, 0, 0, 50, 100, 40]], [])},
    ]);
    const names = NAMES.map((name) => {
        g.strings.push(name);
        return g.strings.length - 1;
    });
    Object.assign(g.node, {count: names.length, name: names, parent: names.map(() => 0), kind: names.map(() => 0)});
    return {graph: () => g, graphs: 2, quantities: [{id: 'maxabs', graph: 0}, {id: 'time', graph: 0}, {id: 'time', graph: 1}], tables: ['layers']};
}

const round = (changes) => {
    const text = encodeState({...firstState(), ...changes}, known());
    return decodeState('#' + text, known());
};

test('every node comes back, whatever its name', () => {
    NAMES.forEach((name, id) => {
        const text = encodeState({...firstState(), selected: {kind: 'node', id, graph: 0}}, known());
        assert.match(text, /^[\x21-\x7e]*$/, 'only plain characters');
        assert.equal(decodeState(text, known()).selected?.id, id, name);
    });
});

test('all of the state comes back', () => {
    const state = {
        view: 'layers', quantity: 2, range: [1e-7, 0.5], query: 'op:Conv "a b"', root: 1, near: 2, states: new Map([[0, 1], [1, 2]]), instance: new Map([[1, 3]]), attributes: true, horizontal: true,
        bookmarks: new Set([1, 4]), camera: {x: 120, y: -40, scale: 0.75}, selected: {kind: 'container', id: 1, graph: 0},
    };
    const back = round(state);
    for (const [name, value] of Object.entries(state)) assert.deepEqual(back[name], value, name);
    assert.equal(back.weights, false);
});

test('the first state needs few words', () => {
    assert.equal(encodeState(firstState(), known()), '');
});

test('an address that does not fit is left out, not believed', () => {
    const state = decodeState('#view=<b>&graph=99&node=nobody&q=none&root=77&fold=99o 1x 0o&at=5.1 0.2&near=-3&z=1e99&range=a_b&marked=1 999 x&of=9', known());
    assert.equal(state.view, 'graph');
    assert.equal(state.graph, 1);
    assert.equal(state.selected, null);
    assert.equal(state.quantity, -1);
    assert.equal(state.root, 0);
    assert.deepEqual(state.states, new Map([[0, 1]]));
    assert.deepEqual(state.instance, new Map());
    assert.equal(state.near, 0);
    assert.equal(state.camera.scale, 0);
    assert.equal(state.range, null);
    assert.deepEqual(state.bookmarks, new Set([1]));
});
