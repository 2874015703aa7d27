// Paths, neighbourhoods, chains of failures.
import assert from 'node:assert/strict';
import test from 'node:test';

import {ancestorsOf, betweenNodes, consumersOf, descendantsOf, failingChain, markedOf, neighbourhoodOf, producersOf, sameType, worstOrder} from '../../../src/viewer/page/walk.js';
import {diamond, graphOf, tensorNamed} from './graphs.mjs';

const sorted = (set) => [...set].sort((a, b) => a - b);

test('neighbours of a diamond', () => {
    const g = diamond();
    assert.deepEqual(producersOf(g, 3), [1, 2]);
    assert.deepEqual(consumersOf(g, 0), [1, 2]);
    assert.deepEqual(producersOf(g, 0), []);
});

test('ancestors and descendants include the start', () => {
    const g = diamond();
    assert.deepEqual(sorted(ancestorsOf(g, [1])), [0, 1]);
    assert.deepEqual(sorted(descendantsOf(g, [0])), [0, 1, 2, 3]);
    assert.deepEqual(sorted(descendantsOf(g, [4])), [4]);
});

test('a path between two nodes has both branches, in either direction', () => {
    const g = diamond();
    assert.deepEqual(sorted(betweenNodes(g, [0], [3])), [0, 1, 2, 3]);
    assert.deepEqual(sorted(betweenNodes(g, [3], [0])), [0, 1, 2, 3]);
    assert.deepEqual(sorted(betweenNodes(g, [1], [3])), [1, 3]);
    assert.equal(betweenNodes(g, [1], [2]).size, 0);
    assert.equal(betweenNodes(g, [0], [4]).size, 0);
});

test('the tensors of a path are those between its nodes', () => {
    const g = diamond();
    const {tensors} = markedOf(g, new Set([0, 1, 3]));
    assert.deepEqual(sorted(tensors), sorted([tensorNamed(g, 'a'), tensorNamed(g, 'b')]));
});

test('a neighbourhood grows by steps', () => {
    const g = diamond();
    assert.deepEqual(sorted(neighbourhoodOf(g, [1], 1)), [0, 1, 3]);
    assert.deepEqual(sorted(neighbourhoodOf(g, [1], 2)), [0, 1, 2, 3]);
});

test('a cycle does not hang a walk', () => {
    const g = graphOf([['A0', ['b'], ['a']], ['B1', ['a'], ['b']]]);
    assert.deepEqual(sorted(ancestorsOf(g, [0])), [0, 1]);
    assert.deepEqual(sorted(neighbourhoodOf(g, [0], 9)), [0, 1]);
});

test('all nodes of an operator', () => {
    assert.deepEqual(sorted(sameType(diamond(), 1)), [1, 3]);
});

test('the chain of failures begins at the first that fails', () => {
    const g = graphOf([['A0', ['x'], ['a']], ['B1', ['a'], ['b']], ['C2', ['b'], ['c']], ['D3', ['c'], ['d']]]);
    const fails = (n) => n === 1 || n === 2 || n === 3;
    assert.deepEqual(failingChain(g, 3, fails), [1, 2, 3]);
    assert.deepEqual(failingChain(g, 1, fails), [1]);
    assert.deepEqual(failingChain(g, 3, () => false), []);
    assert.deepEqual(failingChain(g, 3, (n) => n === 1), [1], 'from a node that does not fail: the failing one above it');
});

test('the worst come first: NaN, then the largest; without a value left out', () => {
    assert.deepEqual(worstOrder([1, null, NaN, 5, Infinity, 5], 'low'), [2, 4, 3, 5, 0]);
    assert.deepEqual(worstOrder([30, 10, null, 20], 'high'), [1, 3, 0], 'where high is better, the smallest is the worst');
});
