// What a query finds in a graph, and the order of the worst list.
import assert from 'node:assert/strict';
import test from 'node:test';

import {setBlocks, smallPage} from './support.mjs';

setBlocks(smallPage());
const {data} = await import('../../../src/viewer/page/data.js');
const {findInGraph} = await import('../../../src/viewer/page/find.js');
const {badness} = await import('../../../src/viewer/page/facts.js');
const {worstFirst} = await import('../../../src/viewer/page/worst.js');

const ALL = {nodes: true, connections: true, weights: true};
const NODES = {nodes: true, connections: false, weights: false};

function found(query, kinds = NODES) {
    const {hits, error} = findInGraph(query, data.graph(0), kinds);
    assert.equal(error, null, query);
    return [[...hits.nodes], [...hits.tensors]];
}

test('names, operators, shapes, types', () => {
    assert.deepEqual(found('op:conv'), [[0], []]);
    assert.deepEqual(found('CONV'), [[0], []]);
    assert.deepEqual(found('"r"'), [[1], []], 'a node without a name is found by its first output');
    assert.deepEqual(found('shape:64x'), [[0, 1], []]);
    assert.deepEqual(found('dtype:float16'), [[1], []]);
    assert.deepEqual(found('domain:example'), [[2], []]);
    assert.deepEqual(found('inner_node'), [[2], []], 'a fused layer is found by its members');
    assert.deepEqual(found('weight:w'), [[0], []]);
    assert.deepEqual(found('in:scope is:node'), [[0, 1], []]);
});

test('a switch for each kind', () => {
    assert.deepEqual(found('float32', ALL), [[], [0, 1, 2, 4]]);
    assert.deepEqual(found('float32', {nodes: false, connections: true, weights: false}), [[], [0, 2, 4]]);
    assert.deepEqual(found('is:weight', ALL), [[], [1]]);
    assert.deepEqual(found('is:input', ALL), [[3], [0]], 'the card of an input is found, too');
});

test('quantities: a node has the errors of its outputs', () => {
    assert.deepEqual(found('err>1e-3'), [[0, 1], []], 'NaN is an error beyond all limits');
    assert.deepEqual(found('err>1e-3', ALL), [[0, 1], [2, 3]]);
    assert.deepEqual(found('err<1'), [[1], []], 'not measured is not small');
    assert.deepEqual(found('time>1ms'), [[0, 2], []]);
    assert.deepEqual(found('bytes>8KiB'), [[0], []]);
    assert.deepEqual(found('precision:float16'), [[1, 2], []]);
});

test('marks of a node and of its outputs', () => {
    assert.deepEqual(found('fail'), [[0], []]);
    assert.deepEqual(found('mark:first'), [[0], []]);
    assert.deepEqual(found('-fail -is:input'), [[1, 2], []]);
});

test('an unknown quantity is an error that names those there are', () => {
    const {error} = findInGraph('cosine>1', data.graph(0), NODES);
    assert.match(error.text, /"cosine" is no quantity of this page; there are: err, bytes, maxabs, time/);
    assert.deepEqual([error.at, error.end], [0, 6]);
});

test('the worst list: NaN, then infinity, then the rest; nothing that was not measured', () => {
    const [errors, times] = data.results().quantities;
    assert.deepEqual(worstFirst(errors), [2, 3]);
    assert.deepEqual(worstFirst(times), [2, 0, 1]);
});

test('worse is smaller where more is better, and the verdict fail before pass', () => {
    const like = {...data.results().quantities[0], better: 'high', values: [30, 10, null, 20]};
    assert.deepEqual(worstFirst(like), [1, 3, 0]);
    const verdicts = {...like, scale: 'category', names: ['fail', 'pass'], values: [1, 0, null]};
    assert.deepEqual(worstFirst(verdicts), [1, 0]);
    assert.ok(badness(like, NaN) > badness(like, 0));
});

test('a page without a fragment is coloured by its errors, else by its times', async () => {
    const {firstQuantity} = await import('../../../src/viewer/page/start.js');
    const {quantities} = data.results();
    assert.equal(firstQuantity(quantities), 0);
    assert.equal(firstQuantity(quantities.slice(1)), 1);
    assert.equal(firstQuantity(quantities.slice(2)), -1);
    assert.equal(firstQuantity([{...quantities[0], values: [null, null]}]), -1, 'nothing was measured');
});

test('a shape that contradicts the file is a mark of its own', () => {
    const g = data.graph(0);
    g.tensor.declared[3] = g.strings.indexOf('64x3x3x3');
    assert.deepEqual(found('mark:contradiction'), [[1], []]);
    assert.deepEqual(found('contradiction', {nodes: false, connections: true, weights: false}), [[], [3]]);
    g.tensor.declared[3] = -1;
    assert.deepEqual(found('contradiction'), [[], []]);
});
