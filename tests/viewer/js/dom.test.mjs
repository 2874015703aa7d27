// Names and numbers as the panels show them.
import assert from 'node:assert/strict';
import test from 'node:test';

import {bytesText, exactNumber, grouped, percentText, shortened, shown, unitText, usText} from '../../../src/viewer/page/dom.js';

test('control and direction characters are visible', () => {
    assert.equal(shown('a\u0000b\tc\u001b[31m'), 'a\u2400b\u2409c\u241b[31m');
    assert.equal(shown('\u202egnp.exe'), '[U+202E]gnp.exe');
    assert.equal(shown('a\u2066b\u200b\ufeff\u2028'), 'a[U+2066]b[U+200B][U+FEFF][U+2028]');
    assert.equal(shown('\ud800x'), '[U+D800]x');
    assert.equal(shown('\u{e0041}'), '[U+E0041]');
    assert.equal(shown('\u007f\u0085\u00ad'), '\u2421[U+0085][U+00AD]');
});

test('other characters stay', () => {
    for (const text of ['<b>&amp;"\'', '\u00e4\u65e5\u672c\u{1f600}', 'x'.repeat(10000)]) assert.equal(shown(text), text);
});

test('names are shortened in the middle', () => {
    assert.equal(shortened('abcdefghij', 5), 'ab…ij');
    assert.equal(shortened('abcdefghij', 10), 'abcdefghij');
    assert.equal(shortened('x'.repeat(10000), 60).length, 60);
});

test('numbers', () => {
    assert.equal(exactNumber(null), '–');
    assert.equal(exactNumber(NaN), 'NaN');
    assert.equal(exactNumber(-Infinity), '-Inf');
    assert.equal(exactNumber(0.1 + 0.2), '0.3');
    assert.equal(exactNumber(1.5e-7), '1.5e-7');
    assert.equal(exactNumber(3e20), '3e20');
    assert.equal(exactNumber(0), '0');
    assert.equal(exactNumber(1234567), '1\u202f234\u202f567');
    assert.equal(grouped(-123456), '-123\u202f456');
});

test('units', () => {
    assert.equal(bytesText(0), '0 B');
    assert.equal(bytesText(1536), '1.50 KiB');
    assert.equal(bytesText(1023 * 1024), '1023 KiB');
    assert.equal(usText(0.5), '0.5 µs');
    assert.equal(usText(1234), '1.23 ms');
    assert.equal(usText(1234567), '1.23 s');
    assert.equal(usText(-20), '-20 µs');
    assert.equal(percentText(12.3456), '12.35 %');
    assert.equal(percentText(0.004), '4e-3 %');
    assert.equal(unitText(3, 'dB'), '3 dB');
    assert.equal(unitText(2048, 'bytes'), '2.00 KiB');
    assert.equal(unitText(null, 'dB'), '–');
});
