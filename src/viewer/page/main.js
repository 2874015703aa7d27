// Starts everything.

import {data} from './data.js';
import {store} from './store.js';
import {shown} from './dom.js';
import {mountSidebar} from './sidebar.js';
import {mountFind} from './find.js';
import {mountWorst} from './worst.js';
import {mountQuantity, mountLegend} from './legend.js';
import {mountViews, mountSwitches} from './views.js';
import {mountSummary} from './summary.js';
import {mountTimeline} from './timeline_view.js';
import {mountSearch} from './search_view.js';
import {mountDiff} from './diff_view.js';
import {mountTable} from './table_view.js';
import {mountExport} from './export.js';
import {mountHelp, openHelp} from './help.js';
import {mountGraph} from './graph_view.js';
import {mountKeys} from './keys.js';
import {mountLink} from './link.js';

/** @param {string} id @returns {HTMLElement} */
function region(id) {
    const element = document.getElementById(id);
    if (!element) throw new Error('index.html has no element #' + id);
    return element;
}

function main() {
    const head = data.head();
    region('title').textContent = shown(head.title);
    mountLink();
    mountViews(region('views'));
    mountGraph();
    mountQuantity(region('quantity'));
    mountSwitches(region('switches'));
    mountLegend(region('legend'));
    mountFind(region('find'), region('hits'));
    mountWorst(region('worst'));
    mountSidebar(region('sidebar'));
    mountSummary(region('view-summary'));
    mountTimeline(region('view-timeline'));
    mountSearch(region('view-search'));
    mountDiff(region('view-diff'));
    mountTable(region('view-table'));
    mountExport(region('export'));
    mountHelp(region('help'));
    region('help-button').addEventListener('click', () => openHelp());
    mountKeys();
    region('app').hidden = false;
    store.tell();
}

main();
