// SPDX-License-Identifier: Apache-2.0
import test from 'node:test';
import assert from 'node:assert/strict';
import {commandsOf, shellWord} from '../../../src/viewer/page/commands.js';
import {smallGraph} from './support.mjs';

test('words with other characters than names have are quoted for a shell', () => {
    assert.equal(shellWord('/layer.0/Add_output:auto'), '/layer.0/Add_output:auto');
    assert.equal(shellWord("a'b c"), "'a'\\''b c'");
    assert.equal(shellWord('$(rm)'), "'$(rm)'");
    assert.equal(shellWord(''), "''");
});

test('commands name what a node reads, without weights and each once, and what it makes', () => {
    const g = smallGraph();
    g.commands = [['Extract', 'x --inputs {inputs} --outputs {outputs}'], ['Run', 'run {names} {names}']];
    g.strings[g.tensor.name[2]] = 'y y';
    g.node.inputs[0] = [0, 1, 0, -1];
    assert.deepEqual(commandsOf(g, 0, [0, 1]), [['Extract', "x --inputs x:auto:auto --outputs 'y y:auto'"], ['Run', "run 'y y' 'y y'"]]);
});
