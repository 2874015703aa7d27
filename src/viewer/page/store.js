// SPDX-License-Identifier: Apache-2.0
// The state of the page, and who listens to it. Whatever can be sent to a colleague or undone with "back" is here; what follows from it
// (positions, lists, texts) is not.

/** @typedef {{kind: 'node' | 'tensor' | 'container', id: number, graph: number}} Item  a thing of a graph that can be selected */
/** @typedef {{nodes: Set<number>, tensors: Set<number>}} Marked  nodes and tensors of the shown graph */

/**
 * @typedef {Object} State
 * @property {string} view  `graph`, `summary`, `timeline`, `search`, `diff`, or the id of a table
 * @property {number} graph  the graph shown
 * @property {number} root  the container shown: 0, or a function or body opened by itself
 * @property {Item | null} selected
 * @property {Item | null} other  the second end of a path
 * @property {number} quantity  index in `results.quantities`, or -1
 * @property {[number, number] | null} range  of colours; null: automatic
 * @property {string} query
 * @property {Marked | null} hits  of the query
 * @property {Marked | null} path  what is highlighted
 * @property {number} near  0, or show only so many steps around the selection
 * @property {Map<number, number>} states  container to 0 folded, 1 open, 2 one instance; absent: as in the data
 * @property {Map<number, number>} instance  repeat to index of the instance shown
 * @property {boolean} attributes
 * @property {boolean} weights
 * @property {boolean} names
 * @property {boolean} horizontal
 * @property {boolean} zoom_by_wheel
 * @property {boolean} widths  edges by bytes
 * @property {boolean} diff  the merged picture instead of both graphs
 * @property {Set<number>} bookmarks
 * @property {{x: number, y: number, scale: number}} camera  content point in the middle of the view
 * @property {boolean} sidebar
 * @property {Item | null} hover  what a panel points at
 */

/** @typedef {(changed: Set<string>, state: State) => void} Listener */

/** @returns {State} the state of a page that was just opened */
export function firstState() {
    return {
        view: 'graph',
        graph: 0,
        root: 0,
        selected: null,
        other: null,
        quantity: -1,
        range: null,
        query: '',
        hits: null,
        path: null,
        near: 0,
        states: new Map(),
        instance: new Map(),
        attributes: false,
        weights: false,
        names: false,
        horizontal: false,
        zoom_by_wheel: false,
        widths: false,
        diff: false,
        bookmarks: new Set(),
        camera: {x: 0, y: 0, scale: 0},
        sidebar: true,
        hover: null,
    };
}

/**
 * Calls `f` before the next picture; without pictures (in tests), soon.
 * @param {() => void} f
 */
function soon(f) {
    if (typeof requestAnimationFrame === 'function' && !document.hidden) requestAnimationFrame(f);
    else setTimeout(f, 0);
}

class Store {
    constructor() {
        this.state = firstState();
        /** @type {Listener[]} */
        this.listeners = [];
        /** @type {Set<string>} */
        this.changed = new Set();
    }

    /** @returns {Readonly<State>} */
    get() {
        return this.state;
    }

    /**
     * Changes members. Maps and sets are replaced, not changed in place, so that listeners see the change.
     * @param {Partial<State>} members
     */
    set(members) {
        /** @type {any} */
        const state = this.state;
        const isIdle = this.changed.size === 0;
        for (const [name, value] of Object.entries(members)) {
            if (state[name] === value) continue;
            state[name] = value;
            this.changed.add(name);
        }
        if (isIdle && this.changed.size > 0) soon(() => this.tell());
    }

    /** Calls the listeners now instead of at the next frame. */
    tell() {
        if (this.changed.size === 0) return;
        const changed = this.changed;
        this.changed = new Set();
        for (const listener of this.listeners) listener(changed, this.state);
    }

    /** @param {Listener} listener */
    on(listener) {
        this.listeners.push(listener);
    }
}

export const store = new Store();
