// SPDX-License-Identifier: Apache-2.0
// The keys: one table, from which the list of keys is made, too.

/** @typedef {{keys: string[], text: string, group: string, action: string}} Key  `keys`: as `pressed` writes them */

/** @type {Key[]} */
export const KEYS = [
    {group: 'Move', keys: ['ArrowUp'], text: 'to the node that makes the input', action: 'up'},
    {group: 'Move', keys: ['ArrowDown'], text: 'to a node that reads the output', action: 'down'},
    {group: 'Move', keys: ['ArrowLeft'], text: 'to the left neighbour', action: 'left'},
    {group: 'Move', keys: ['ArrowRight'], text: 'to the right neighbour', action: 'right'},
    {group: 'Move', keys: ['+', 'Shift+ArrowUp'], text: 'zoom in', action: 'zoom_in'},
    {group: 'Move', keys: ['-', 'Shift+ArrowDown'], text: 'zoom out', action: 'zoom_out'},
    {group: 'Move', keys: ['0'], text: 'whole graph', action: 'fit'},
    {group: 'Move', keys: ['Shift+Backspace'], text: 'first picture again', action: 'reset'},
    {group: 'Move', keys: ['Ctrl+m'], text: 'wheel scrolls or zooms', action: 'zoom_by_wheel'},
    {group: 'Find', keys: ['/', 'Ctrl+f'], text: 'find', action: 'find'},
    {group: 'Find', keys: ['g'], text: 'go to a name', action: 'go'},
    {group: 'Find', keys: ['n'], text: 'next in the worst list', action: 'worst_next'},
    {group: 'Find', keys: ['p'], text: 'previous in the worst list', action: 'worst_previous'},
    {group: 'Find', keys: ['f'], text: 'next failing', action: 'failing'},
    {group: 'Find', keys: ['Escape'], text: 'clear path, search and selection', action: 'clear'},
    {group: 'Show', keys: ['c'], text: 'next quantity for the colours', action: 'quantity_next'},
    {group: 'Show', keys: ['Shift+C'], text: 'previous quantity', action: 'quantity_previous'},
    {group: 'Show', keys: ['d'], text: 'both graphs, or their difference in one picture', action: 'diff'},
    {group: 'Show', keys: ['o'], text: 'next profile of a plan', action: 'profile'},
    {group: 'Show', keys: ['Ctrl+d'], text: 'attributes on the cards', action: 'attributes'},
    {group: 'Show', keys: ['Ctrl+i'], text: 'weights on the cards', action: 'weights'},
    {group: 'Show', keys: ['Ctrl+u'], text: 'names instead of operators and shapes', action: 'names'},
    {group: 'Show', keys: ['Ctrl+k'], text: 'from left to right, or from top to bottom', action: 'horizontal'},
    {group: 'Show', keys: ['w'], text: 'edges as wide as their bytes', action: 'widths'},
    {group: 'Fold', keys: [']'], text: 'unfold the selection, or all', action: 'unfold'},
    {group: 'Fold', keys: ['['], text: 'fold what the selection lies in, or all', action: 'fold'},
    {group: 'Fold', keys: ['Enter'], text: 'open a group, subgraph or function by itself', action: 'enter'},
    {group: 'Fold', keys: ['Backspace'], text: 'out of it again', action: 'leave'},
    {group: 'Fold', keys: [','], text: 'previous instance of a repetition', action: 'instance_previous'},
    {group: 'Fold', keys: ['.'], text: 'next instance of a repetition', action: 'instance_next'},
    {group: 'Follow', keys: ['a'], text: 'all ancestors of the selection', action: 'ancestors'},
    {group: 'Follow', keys: ['s'], text: 'all descendants of the selection', action: 'descendants'},
    {group: 'Follow', keys: ['e'], text: 'chain of failures that leads here', action: 'chain'},
    {group: 'Follow', keys: ['t'], text: 'all nodes of the same operator', action: 'type'},
    {group: 'Follow', keys: ['k'], text: 'only the neighbourhood: 1, 2, 3 steps, all', action: 'near'},
    {group: 'Follow', keys: ['b'], text: 'bookmark the selected node', action: 'bookmark'},
    {group: 'Other', keys: ['Ctrl+Enter'], text: 'properties of the model', action: 'properties'},
    {group: 'Other', keys: ['Ctrl+c'], text: 'copy the names of the selection', action: 'copy'},
    {group: 'Other', keys: ['Ctrl+Shift+E'], text: 'save the picture as PNG', action: 'png'},
    {group: 'Other', keys: ['Ctrl+Alt+e'], text: 'save the picture as SVG', action: 'svg'},
    {group: 'Other', keys: ['?'], text: 'list of keys', action: 'help'},
];

/**
 * The name of what was pressed: `Ctrl+Shift+E`. On a Mac, Cmd is Ctrl.
 * @param {KeyboardEvent} e
 * @returns {string}
 */
export function pressed(e) {
    const hasCommand = e.ctrlKey || e.metaKey;
    const isText = e.key.length === 1;
    const key = isText && e.altKey && /^Key[A-Z]$/.test(e.code) ? e.code.slice(3).toLowerCase() : e.key === '=' && !hasCommand ? '+' : e.key;
    const isLetter = /^[a-z]$/i.test(key);
    const shift = e.shiftKey && (!isText || isLetter);
    return (hasCommand ? 'Ctrl+' : '') + (e.altKey ? 'Alt+' : '') + (shift ? 'Shift+' : '') + (isLetter ? (e.shiftKey ? key.toUpperCase() : key.toLowerCase()) : key);
}

/**
 * True if the focus is where keys have a meaning of their own.
 * @param {EventTarget | null} target
 * @param {string} name
 */
function isBusy(target, name) {
    if (!(target instanceof HTMLElement)) return false;
    if (target.closest('dialog')) return name !== '?';
    if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return !name.startsWith('Ctrl+') || name === 'Ctrl+c';
    if (target instanceof HTMLInputElement) {
        const isText = !['checkbox', 'radio', 'button', 'range'].includes(target.type);
        return isText ? name !== 'Escape' && (!name.startsWith('Ctrl+') || ['Ctrl+c', 'Ctrl+i', 'Ctrl+u', 'Ctrl+k', 'Ctrl+d'].includes(name)) : [' ', 'Enter'].includes(name) || name.startsWith('Arrow');
    }
    if (target.closest('canvas')) return false;
    const isControl = target.closest('button, a, summary, [role="tab"], [role="row"], [role="grid"], table, [role="option"], [role="menuitem"]') !== null;
    return isControl && (name === 'Enter' || name === ' ' || name.startsWith('Arrow') || name === 'Backspace');
}

/** @param {Map<string, () => void>} actions */
export function mountKeys(actions) {
    /** @type {Map<string, () => void>} */
    const byKey = new Map();
    for (const key of KEYS) {
        const action = actions.get(key.action);
        if (!action) throw new Error('the key ' + key.keys[0] + ' has no action "' + key.action + '"');
        for (const name of key.keys) byKey.set(name, action);
    }
    addEventListener('keydown', (e) => {
        const name = pressed(e);
        const action = byKey.get(name);
        if (!action || e.isComposing || e.defaultPrevented || isBusy(e.target, name)) return;
        if (name === 'Ctrl+c' && String(getSelection() ?? '') !== '') return;
        e.preventDefault();
        action();
    });
}
