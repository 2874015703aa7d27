// The query language: what matches, and where an error is.
import assert from 'node:assert/strict';
import test from 'node:test';

import {matchQuery, matchShape, parseQuery, readQuantity} from '../../../src/viewer/page/query.js';

const FIELDS = {
    isText: (key) => ['op', 'name', 'shape', 'dtype', 'mark'].includes(key),
    unit: (key) => ({err: '', time: 'us', bytes: 'bytes'})[key] ?? null,
    isMark: (word) => ['fail', 'nan', 'first'].includes(word),
    names: () => ['err', 'time', 'bytes'],
};

function thing({op = 'conv', name = 'a', shape = '1x64x56x56', dtype = 'float32', err = null, time = null, marks = []}) {
    return {
        words: () => [name, op, shape, dtype],
        texts: (key) => ({op: [op], name: [name], shape: [shape], dtype: [dtype], mark: marks})[key],
        numbers: (key) => [{err, time}[key] ?? null],
        hasMark: (mark) => marks.includes(mark),
    };
}

function matches(text, item) {
    const parsed = parseQuery(text, FIELDS);
    assert.equal(parsed.error, null, text);
    return matchQuery(parsed.query, thing(item));
}

function errorOf(text) {
    const parsed = parseQuery(text, FIELDS);
    assert.equal(parsed.query, null);
    return parsed.error;
}

test('words must all match, without regard to case', () => {
    assert.ok(matches('Layer conv', {name: 'layer1/conv2'}));
    assert.ok(!matches('layer pool', {name: 'layer1/conv2'}));
    assert.ok(matches('CONV 56x56', {}));
});

test('quotes are exact', () => {
    assert.ok(matches('"conv1"', {name: 'conv1'}));
    assert.ok(!matches('"conv1"', {name: 'conv10'}));
    assert.ok(matches('"two words"', {name: 'two words'}));
    assert.ok(matches('name:"two words"', {name: 'two words'}));
    assert.ok(!matches('name:"two"', {name: 'two words'}));
});

test('fields', () => {
    assert.ok(matches('op:Conv', {}));
    assert.ok(!matches('op:Conv', {op: 'convtranspose'}));
    assert.ok(matches('op:Conv*', {op: 'convtranspose'}));
    assert.ok(matches('op:*conv*t*e', {op: 'myconvtranspose'}));
    assert.ok(!matches('op:a*ba', {op: 'aba'.slice(0, 2)}));
    assert.ok(matches('name:ayer', {name: 'layer'}));
    assert.ok(matches('dtype:float16', {dtype: 'float16'}));
    assert.ok(!matches('dtype:float16', {dtype: 'float32', name: 'float16'}));
});

test('shapes match whole sizes', () => {
    assert.ok(matchShape('1x64x56x56', '64x'));
    assert.ok(!matchShape('1x164x56', '64x'));
    assert.ok(!matchShape('1x64', '64x'));
    assert.ok(matchShape('1x64', 'x64'));
    assert.ok(matchShape('1x64x7', '1x*x7'));
    assert.ok(matchShape('1x64x7', '64'));
    assert.ok(!matchShape('', '64'));
    assert.ok(matchShape('batchx3', '3'));
});

test('quantities, with units, and NaN as the largest error', () => {
    assert.ok(matches('err>1e-3', {err: 0.01}));
    assert.ok(!matches('err>1e-3', {err: 0.001}));
    assert.ok(matches('err>=1e-3', {err: 0.001}));
    assert.ok(matches('err>1e-3', {err: NaN}));
    assert.ok(!matches('err<1e-3', {err: NaN}));
    assert.ok(matches('err=nan', {err: NaN}));
    assert.ok(!matches('err>1e-3', {err: null}), 'not measured is no error');
    assert.ok(!matches('err<1', {err: null}), 'not measured is not small either');
    assert.ok(matches('time>1ms', {time: 1500}));
    assert.ok(!matches('time>1ms', {time: 900}));
    assert.ok(matches('time<1ms', {time: 900}));
});

test('numbers with units', () => {
    assert.equal(readQuantity('1.5ms', 'us'), 1500);
    assert.equal(readQuantity('2', 'us'), 2);
    assert.equal(readQuantity('64KiB', 'bytes'), 65536);
    assert.equal(readQuantity('3k', ''), 3000);
    assert.equal(readQuantity('3x', ''), null);
    assert.equal(readQuantity('', ''), null);
    assert.equal(readQuantity('-inf', ''), -Infinity);
});

test('marks are words of their own; in quotes or behind name: they are text', () => {
    assert.ok(matches('fail', {marks: ['fail']}));
    assert.ok(!matches('fail', {name: 'failure'}));
    assert.ok(matches('name:fail', {name: 'failure'}));
    assert.ok(matches('mark:first', {marks: ['first']}));
});

test('negation, OR and parentheses', () => {
    assert.ok(!matches('-op:Constant', {op: 'constant'}));
    assert.ok(matches('-op:Constant', {op: 'conv'}));
    assert.ok(matches('op:add OR op:conv', {}));
    assert.ok(matches('op:add | op:conv', {}));
    assert.ok(!matches('(op:add OR op:conv) -name:a', {name: 'a'}));
    assert.ok(matches('a OR b c', {name: 'a'}), 'AND binds stronger');
    assert.ok(matches('-(b z)', {name: 'b'}));
    assert.ok(matches('a-b', {name: 'a-b'}), 'a hyphen inside a word is part of it');
});

test('a colon in a name is text, and a note says so', () => {
    const parsed = parseQuery('conv1:0', FIELDS);
    assert.ok(matchQuery(parsed.query, thing({name: 'conv1:0'})));
    assert.match(parsed.notes[0], /is no field/);
});

test('errors say where', () => {
    assert.deepEqual(errorOf('op:Conv err>abc'), {at: 12, end: 15, text: '"abc" is not a number, such as 1e-3'});
    assert.equal(errorOf('a OR').at, 2);
    assert.equal(errorOf('OR a').text, 'nothing stands before "OR"');
    assert.equal(errorOf('a "b').at, 2);
    assert.equal(errorOf('(a').text, 'the closing parenthesis is missing');
    assert.equal(errorOf('()').text, 'nothing stands in the parentheses');
    assert.equal(errorOf('op:').text, 'nothing stands after "op:"');
    assert.match(errorOf('speed>3').text, /"speed" is no quantity of this page; there are: err, time, bytes/);
    assert.equal(errorOf('time>3kg').text, '"3kg" is not a time, such as 20us or 1.5ms');
});

test('nothing is not an error', () => {
    assert.deepEqual(parseQuery('  ', FIELDS), {query: null, error: null, notes: []});
});

test('hostile texts end', () => {
    assert.match(errorOf('('.repeat(100000)).text, /2000 characters at most/);
    for (const text of ['('.repeat(1000), '-'.repeat(1000) + 'a', ')'.repeat(1000), '"'.repeat(999), '\u202e\u0000:>', 'a:b:c>d<e']) {
        const parsed = parseQuery(text, FIELDS);
        if (parsed.query) matchQuery(parsed.query, thing({}));
    }
});
