// SPDX-License-Identifier: Apache-2.0
// The column of details: of what is selected, of what was found, or of the model.

import {store} from './store.js';
import {button, el, fill} from './dom.js';
import {nodePanel} from './sidebar_node.js';
import {tensorPanel} from './sidebar_tensor.js';
import {containerPanel, hitsPanel, modelPanel} from './sidebar_model.js';

/** @param {HTMLElement} element */
export function mountSidebar(element) {
    const content = el('div', {class: 'sidebar-content', tabindex: -1});
    /** @param {boolean} sidebar @param {HTMLElement} next  has the focus then: what was pressed is gone */
    const turn = (sidebar, next) => {
        store.set({sidebar});
        store.tell();
        next.focus();
    };
    const close = button('\u00d7', () => turn(false, reopen), {class: 'close', 'aria-label': 'Close the details', title: 'Close'});
    const reopen = button('Details', () => turn(true, content), {class: 'reopen', title: 'Show the details'});
    fill(element, close, content, reopen);
    /** @param {Set<string> | null} changed */
    const update = (changed) => {
        const state = store.get();
        content.hidden = !state.sidebar;
        close.hidden = !state.sidebar;
        reopen.hidden = state.sidebar;
        element.classList.toggle('closed', !state.sidebar);
        if (!state.sidebar) return;
        const causes = ['selected', 'hits', 'graph', 'root', 'sidebar', 'bookmarks', ...(state.selected ? ['quantity'] : [])];
        if (changed && !causes.some((name) => changed.has(name))) return;
        const keep = changed && !changed.has('selected') && !changed.has('graph') && !changed.has('hits') ? content.scrollTop : 0;
        fill(content, panelOf());
        content.scrollTop = keep;
    };
    store.on(update);
    update(null);
}

function panelOf() {
    const {selected, hits, graph, root} = store.get();
    if (selected?.kind === 'node') return nodePanel(selected);
    if (selected?.kind === 'tensor') return tensorPanel(selected);
    if (selected?.kind === 'container') return containerPanel(selected);
    return hits && hits.nodes.size + hits.tensors.size > 0 ? hitsPanel(hits) : root > 0 ? containerPanel({kind: 'container', id: root, graph}) : modelPanel(graph);
}
