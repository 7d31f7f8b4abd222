// BROWSE: one label is in hand, and tree, map and label show the same one.
import { find, settled, tell } from "./dom.js";
import { LabelMap } from "./map.js";
import { addCopyButtons } from "./page.js";
import { ask, fragment, newest, page } from "./service.js";
import { Tree } from "./tree.js";
import { words } from "./words.js";

const panel = find("label"), REST = 90; // milliseconds after which a key was the last one
const tree = new Tree(take, key => map.zoomTo(key)), map = new LabelMap((key, how) => take(key, how, { reveal: true, near: false }));
let hand = panel.dataset.key;

const show = newest(async (signal, key, near) => {
  const [label, part] = await Promise.all([ask("label", { key }, signal), fragment(page("label", { key, panel: true }), { signal })]);
  map.show(label, near);
  panel.replaceChildren(...part.body.childNodes);
  panel.scrollTop = 0;
  addCopyButtons(panel);
  document.title = `${label.name.slice(0, 200)} · ${document.body.dataset.ontology} · labelgrove`;
  tell(words.hand(label.name.slice(0, 200)));
});
const showNow = (key, near = false) => show(key, near).catch(error => tell(error.message));
const showSoon = settled(key => { history.replaceState({ key }, "", page("", { key })); showNow(key); }, REST);

/** Take a label in hand; `how` is "click" for a place to come back to, and "key" for one on the way. */
function take(key, how, { reveal = false, near = true } = {}) {
  const changed = key !== hand;
  hand = key;
  if (reveal) tree.reveal(key).catch(error => tell(error.message));
  if (how === "key") { showSoon(key); return; }
  if (changed) history.pushState({ key }, "", page("", { key }));
  showNow(key, near);
}

document.addEventListener("take", event => { event.preventDefault(); take(event.detail, "click", { reveal: true }); });
panel.addEventListener("click", event => {
  const link = event.target.closest("a[data-key]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  take(link.dataset.key, "click", { reveal: true });
});
addEventListener("popstate", event => {
  hand = event.state?.key ?? panel.dataset.key;
  tree.reveal(hand).catch(error => tell(error.message));
  showNow(hand, true);
});

history.replaceState({ key: hand }, "", location.href);
tree.start();
const drawn = map.start();
tree.reveal(hand).then(() => (panel.dataset.chosen === undefined ? tree.toggle(tree.at) : null)).catch(error => tell(error.message));
if (panel.dataset.chosen !== undefined) {
  Promise.all([ask("label", { key: hand }), drawn]).then(([label]) => map.show(label, true)).catch(error => tell(error.message));
}
