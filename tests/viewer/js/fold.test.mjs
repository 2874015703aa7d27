// What stands for what, and quantities of containers.
import assert from 'node:assert/strict';
import test from 'node:test';

import {foldValues, shownFor, stateOf, unfoldFor, valuesOf} from '../../../src/viewer/page/fold.js';
import {graphOf, layoutOf, repeatOf} from './graphs.mjs';
import {setBlocks} from './support.mjs';

setBlocks({results: {quantities: [], marks: []}});

const folding = (g, states = [], instance = []) => ({states: new Map(states), instance: new Map(instance), root: 0});

test('a folded repeat stands for its nodes', () => {
    const g = repeatOf(0);
    assert.deepEqual(shownFor(g, folding(g), {kind: 'node', id: 3}), {kind: 'container', id: 1});
    assert.deepEqual(shownFor(g, folding(g), {kind: 'node', id: 4}), {kind: 'node', id: 4});
});

test('of an instance that is not shown nothing is shown', () => {
    const g = repeatOf(2);
    assert.deepEqual(shownFor(g, folding(g), {kind: 'node', id: 1}), {kind: 'node', id: 1});
    assert.equal(shownFor(g, folding(g), {kind: 'node', id: 3}), null);
    assert.deepEqual(shownFor(g, folding(g, [], [[1, 1]]), {kind: 'node', id: 3}), {kind: 'node', id: 3});
});

test('unfolding for a node chooses its instance', () => {
    const g = repeatOf(0);
    const unfolded = unfoldFor(g, folding(g), {kind: 'node', id: 3});
    assert.equal(stateOf(g, unfolded, 1), 2);
    assert.equal(unfolded.instance.get(1), 1);
    assert.deepEqual(shownFor(g, unfolded, {kind: 'node', id: 3}), {kind: 'node', id: 3});
});

test('a container opened by itself hides what is outside', () => {
    const g = repeatOf(0);
    const inside = {...folding(g), root: 3};
    assert.deepEqual(shownFor(g, inside, {kind: 'node', id: 2}), {kind: 'node', id: 2});
    assert.equal(shownFor(g, inside, {kind: 'node', id: 4}), null);
    assert.equal(unfoldFor(g, inside, {kind: 'node', id: 4}).root, 0);
});

test('instances share their folding', () => {
    const g = graphOf([['A0', ['x'], ['a'], 3], ['A1', ['a'], ['b'], 5]], [
        {kind: 0, parent: -1, layout: layoutOf([[1, 1, 0, 60, 120, 40]], [])},
        {kind: 2, parent: 0, state: 1, layout: layoutOf([[1, 2, 0, 60, 120, 40], [1, 4, 1, 60, 120, 40]], [])},
        {kind: 3, parent: 1, layout: layoutOf([[1, 3, 0, 60, 120, 40]], [])},
        {kind: 1, parent: 2, state: 1, layout: layoutOf([[0, 0, 0, 50, 100, 40]], [])},
        {kind: 3, parent: 1, layout: {card: [120, 40], like: 2, ref: [5], tensor: []}},
        {kind: 1, parent: 4, state: 1, layout: {card: [120, 40], like: 3, ref: [1], tensor: []}},
    ]);
    const folded = folding(g, [[3, 0]]);
    assert.equal(stateOf(g, folded, 5), 0);
});

const quantity = {index: 0, id: 'time', label: '', unit: 'us', group: 'time', graph: 0, of: 'node', scale: 'log', fold: 'sum', better: 'low', names: []};

test('a folded container has the sum, the maximum or the common value of what is inside', () => {
    const g = repeatOf(0);
    assert.deepEqual(valuesOf(g, {...quantity, values: [1, 2, 3, 4, 5]}).containers, [15, 10, 3, 7]);
    assert.deepEqual(valuesOf(g, {...quantity, fold: 'max', values: [1, null, 3, 4, 5]}).containers, [5, 4, 1, 4]);
    assert.deepEqual(valuesOf(g, {...quantity, fold: 'same', values: [1, 1, 2, 2, 2]}).containers, [null, null, 1, 2]);
    assert.deepEqual(valuesOf(g, {...quantity, fold: 'max', values: [null, null, null, null, 1]}).containers, [1, null, null, null]);
});

test('NaN inside a container is never hidden', () => {
    const g = repeatOf(0);
    const {containers} = valuesOf(g, {...quantity, fold: 'max', values: [NaN, 2, 3, 4, 5]});
    assert.ok(Number.isNaN(containers[1]) && Number.isNaN(containers[2]));
    assert.equal(containers[3], 4);
    assert.ok(Number.isNaN(foldValues('min', 1, NaN)));
});

test('a quantity of tensors belongs to the node that makes them', () => {
    const g = repeatOf(0);
    const {nodes} = valuesOf(g, {...quantity, of: 'tensor', fold: 'max', values: g.tensor.name.map((_, t) => t)});
    assert.deepEqual(nodes, g.node.outputs.map(([t]) => t));
});

test('a call whose node was measured does not add up its bodies', () => {
    const g = graphOf([['If0', ['x'], ['y'], 1], ['A1', [], ['z'], 2]], [
        {kind: 0, parent: -1},
        {kind: 5, parent: 0, node: 0},
        {kind: 6, parent: 1},
    ]);
    assert.deepEqual(valuesOf(g, {...quantity, values: [10, 7]}).containers, [10, 10, 7]);
    assert.deepEqual(valuesOf(g, {...quantity, values: [null, 7]}).containers, [7, 7, 7]);
});
