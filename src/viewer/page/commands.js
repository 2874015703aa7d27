// SPDX-License-Identifier: Apache-2.0
// Commands about a node that can be copied and run.

const PLAIN = /^[A-Za-z0-9_./=:,+@%[\]-]+$/;
const WEIGHT = 3, CONSTANT = 4; // kinds of tensors that commands do not name

/**
 * A word quoted for the shell.
 * @param {string} word
 */
export function shellWord(word) {
    return PLAIN.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
}

/**
 * @param {import('./data.js').Graph} g
 * @param {number[]} tensors
 * @param {string} suffix
 */
function words(g, tensors, suffix) {
    const names = tensors.filter((t) => t >= 0).map((t) => g.strings[g.tensor.name[t]]);
    return [...new Set(names)].filter((name) => name !== '').map((name) => shellWord(name + suffix)).join(' ');
}

/**
 * The commands with these indices, with the names of a node's tensors.
 * @param {import('./data.js').Graph} g
 * @param {number} node
 * @param {number[]} indices
 * @returns {[string, string][]} titles and commands
 */
export function commandsOf(g, node, indices) {
    const read = g.node.inputs[node].filter((t) => t >= 0 && g.tensor.kind[t] !== WEIGHT && g.tensor.kind[t] !== CONSTANT);
    /** @type {Map<string, string>} */
    const parts = new Map([['inputs', words(g, read, ':auto:auto')], ['outputs', words(g, g.node.outputs[node], ':auto')], ['names', words(g, g.node.outputs[node], '')]]);
    return indices.filter((i) => i < g.commands.length).map((i) => [g.commands[i][0], g.commands[i][1].replace(/\{(inputs|outputs|names)\}/g, (_, part) => parts.get(part) ?? '')]);
}
