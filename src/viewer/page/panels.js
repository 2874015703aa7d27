// SPDX-License-Identifier: Apache-2.0
// Makes the panels: after the first picture, one group after the other, or all at once when a key needs them.

import {region} from './dom.js';
import {breathe} from './pane.js';
import {mountTable} from './table_view.js';
import {mountSidebar} from './sidebar.js';
import {mountFind} from './find.js';
import {mountWorst} from './worst.js';
import {mountLegend, mountQuantity} from './legend.js';
import {mountProfile} from './profiles.js';
import {mountSwitches, mountViews} from './views.js';
import {mountSummary} from './summary.js';
import {mountTimeline} from './timeline_view.js';
import {mountSearch} from './search_view.js';
import {mountDiff} from './diff_view.js';
import {mountExport} from './export.js';
import {mountHelp} from './help.js';

/** Groups of panels: first what is seen beside a graph, from the left to the right; then what is opened later. */
const GROUPS_OF_PANELS = [
    () => {
        mountViews(region('views'));
        mountFind(region('find'), region('hits'));
        mountQuantity(region('quantity'));
        mountProfile(region('profile'));
        mountSwitches(region('switches'));
        mountExport(region('export'));
        mountLegend(region('legend'));
        mountWorst(region('worst'));
    },
    () => mountSidebar(region('sidebar')),
    () => {
        mountSummary(region('view-summary'));
        mountTimeline(region('view-timeline'));
        mountSearch(region('view-search'));
        mountDiff(region('view-diff'));
        mountTable(region('view-table'));
        mountHelp(region('help'));
    },
];

const mounting = {done: 0};

function mountNext() {
    GROUPS_OF_PANELS[mounting.done++]();
    if (mounting.done === GROUPS_OF_PANELS.length) document.body.dataset.panels = 'true';
}

/** Makes what is missing at once. */
export function mountPanels() {
    while (mounting.done < GROUPS_OF_PANELS.length) mountNext();
}

/** @returns {Promise<void>} when what is there has been drawn: a second frame begins when the first is seen */
async function drawn() {
    if (document.hidden) return;
    for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
    await breathe();
}

/** Makes the panels one group after the other, so that the page can answer between them. */
export async function mountPanelsInTurn() {
    await drawn();
    while (mounting.done < GROUPS_OF_PANELS.length) {
        mountNext();
        await breathe();
    }
}
