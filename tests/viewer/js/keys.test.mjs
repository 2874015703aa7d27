// The table of keys.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';

import {KEYS, pressed} from '../../../src/viewer/page/keys.js';

test('each key has one meaning', () => {
    const all = KEYS.flatMap((key) => key.keys);
    assert.deepEqual([...new Set(all)], all);
});

test('all keys of Netron and of the reference are there', () => {
    const all = new Set(KEYS.flatMap((key) => key.keys));
    const wanted = '/ ArrowUp ArrowDown ArrowLeft ArrowRight n p f + - 0 g c d [ ] Escape ? Ctrl+f Ctrl+d Ctrl+i Ctrl+u Ctrl+k Ctrl+m Ctrl+Enter Ctrl+c Ctrl+Shift+E Ctrl+Alt+e';
    for (const name of `${wanted} Shift+ArrowUp Shift+ArrowDown Shift+Backspace Backspace`.split(' ')) assert.ok(all.has(name), name);
});

test('main.js has an action for each key, and none more', () => {
    const text = fs.readFileSync(new URL('../../../src/viewer/page/main.js', import.meta.url), 'utf8');
    const body = text.slice(text.indexOf('Object.entries({'), text.indexOf('}),\n    );'));
    const actions = [...body.matchAll(/^ {12}(\w+)[:,]/gm)].map((m) => m[1]);
    assert.deepEqual(actions.sort(), KEYS.map((key) => key.action).sort());
});

test('names of what is pressed', () => {
    const key = (key, more = {}) => pressed({key, code: '', ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more});
    assert.equal(key('ArrowUp'), 'ArrowUp');
    assert.equal(key('?', {shiftKey: true}), '?');
    assert.equal(key('+', {shiftKey: true}), '+');
    assert.equal(key('='), '+', 'plus without the shift key');
    assert.equal(key('f', {metaKey: true}), 'Ctrl+f', 'Cmd of a Mac');
    assert.equal(key('E', {ctrlKey: true, shiftKey: true}), 'Ctrl+Shift+E');
    assert.equal(key('€', {ctrlKey: true, altKey: true, code: 'KeyE'}), 'Ctrl+Alt+e', 'a key that Alt turns into another sign');
    assert.equal(key('Backspace', {shiftKey: true}), 'Shift+Backspace');
});
