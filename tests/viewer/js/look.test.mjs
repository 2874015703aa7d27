// What cards say.
import assert from 'node:assert/strict';
import test from 'node:test';

import {cardText, edgeLabel, isShared, valueOf, valueText} from '../../../src/viewer/page/look.js';
import {valuesOf} from '../../../src/viewer/page/fold.js';
import {scaleOf} from '../../../src/viewer/page/colour.js';
import {firstState} from '../../../src/viewer/page/store.js';
import {graphOf, repeatOf} from './graphs.mjs';

const quantity = {index: 0, id: 'time', label: 'time', unit: 'us', group: 'time', graph: 0, of: 'node', scale: 'log', fold: 'sum', better: 'low', names: [], values: [12, null, 3]};

function lookOf(g, q) {
    return {g, state: firstState(), quantity: q, scale: scaleOf(q, null), values: valuesOf(g, q)};
}

function fused() {
    return graphOf([['A0', ['x'], ['a'], 1], ['B1', ['a'], ['b'], 1], ['C2', ['b'], ['c'], 0]], [{kind: 0, parent: -1}, {kind: 4, name: 'A0 + B1', parent: 0}]);
}

test('the time of a fused layer stands at its frame only', () => {
    const look = lookOf(fused(), {...quantity});
    assert.equal(isShared(look, {kind: 'node', id: 0}), true);
    assert.equal(valueText(look, {kind: 'node', id: 0}), '');
    assert.equal(valueText(look, {kind: 'container', id: 1}), '12 µs');
    assert.equal(valueText(look, {kind: 'node', id: 2}), '3 µs');
});

test('errors of nodes in a fused layer are their own', () => {
    const look = lookOf(fused(), {...quantity, id: 'maxabs', unit: '', group: 'accuracy', fold: 'max'});
    assert.equal(valueOf(look, {kind: 'node', id: 0}), 12);
});

test('a folded repetition says how often, a scope how many nodes', () => {
    const g = repeatOf(0);
    assert.deepEqual([cardText(g, {kind: 'container', id: 1}).title, cardText(g, {kind: 'container', id: 1}).badge], ['layers', '×2']);
    assert.equal(cardText(g, {kind: 'container', id: 2}).name, '2 nodes');
});

test('labels of edges tell inferred shapes, those of a run, and contradictions apart', () => {
    const g = graphOf([['A0', ['x'], ['a']]]);
    const s = (text) => g.strings.push(text) - 1;
    g.tensor.dtype[1] = s('float16');
    assert.deepEqual(edgeLabel(g, 1, false), {text: '', source: 'run'});
    g.tensor.seen[1] = s('2x3 float16');
    assert.equal(edgeLabel(g, 1, false).source, 'run');
    g.tensor.shape[1] = s('2x3');
    assert.deepEqual(edgeLabel(g, 1, false), {text: 'f16 2×3', source: 'inferred'});
    g.tensor.declared[1] = s('2x4');
    assert.equal(edgeLabel(g, 1, false).source, 'contradiction');
    assert.equal(edgeLabel(g, 1, true).text, 'a');
});
