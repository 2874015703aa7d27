// Marks of containers, and which instance of a repeat is shown at first.
import assert from 'node:assert/strict';
import test from 'node:test';

import {instanceOf, markNames, marksOf, shownFor} from '../../../src/viewer/page/fold.js';
import {repeatOf, tensorNamed} from './graphs.mjs';
import {setBlocks} from './support.mjs';

const g = repeatOf(2);
setBlocks({
    results: {
        quantities: [],
        marks: [
            {graph: 0, of: 'node', at: 0, kind: 'fail', text: ''},
            {graph: 0, of: 'tensor', at: tensorNamed(g, 'd'), kind: 'first', text: ''},
            {graph: 1, of: 'node', at: 4, kind: 'nan', text: ''},
        ],
    },
});
const folding = {states: new Map(), instance: new Map(), root: 0};

test('a mark of a tensor belongs to the node that makes it, and to all containers around it', () => {
    const marks = marksOf(g);
    assert.deepEqual(markNames(marks.nodes[3]), ['first']);
    assert.deepEqual(markNames(marks.containers[3]), ['first']);
    assert.deepEqual(markNames(marks.containers[1]), ['first', 'fail'], 'the most important first');
    assert.deepEqual(markNames(marks.containers[2]), ['fail']);
    assert.equal(marks.nodes[4], 0, 'marks of another graph do not count');
});

test('the instance in which errors begin is shown at first', () => {
    assert.equal(instanceOf(g, folding, 1), 1);
    assert.deepEqual(shownFor(g, folding, {kind: 'node', id: 3}), {kind: 'node', id: 3});
    assert.equal(instanceOf(g, {...folding, instance: new Map([[1, 0]])}, 1), 0, 'a choice wins');
});
