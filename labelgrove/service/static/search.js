// The search box: suggestions while a text is typed; the answer to the newest text wins.
import { find, make, settled, tell } from "./dom.js";
import { newest, page, suggest } from "./service.js";
import { words } from "./words.js";

const DELAY = 60; // milliseconds
const MOST = 8;
const takes = document.body.classList.contains("reach"); // the page takes labels, so Enter must not lead away from it

/** Return whether the page takes the label itself; otherwise its page is opened. */
const offered = key => !document.dispatchEvent(new CustomEvent("take", { detail: key, cancelable: true }));

/** Offer the labels that the text in `box` may mean. */
export function offerSuggestions(box) {
  const pop = find("pop"), list = find("hits"), note = find("hitnote");
  let items = [], chosen = -1, answered = null; // the text whose suggestions are shown
  for (const [name, value] of Object.entries({ role: "combobox", "aria-expanded": "false", "aria-controls": "hits", "aria-autocomplete": "list" })) box.setAttribute(name, value);

  function close() {
    pop.hidden = true;
    chosen = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  function choose(place) {
    chosen = place;
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", i === place));
    if (place < 0) box.removeAttribute("aria-activedescendant");
    else box.setAttribute("aria-activedescendant", `hit${place}`);
    list.children[place]?.scrollIntoView({ block: "nearest" });
  }

  function open({ key, ontology }) {
    close();
    if (offered(key)) { box.value = ""; box.blur(); }
    else location.assign(page("", { key }, ontology));
  }

  function drawn(hit, i) {
    const other = hit.matched.kind !== "key" && hit.matched.text !== hit.name;
    return make("li", { role: "option", id: `hit${i}`, "aria-selected": "false", onmousedown: event => event.preventDefault(), onclick: () => open(hit) },
      make("bdi", {}, hit.name), make("code", { dir: "ltr" }, hit.key),
      hit.ontology && make("small", {}, words.within(hit.ontology)),
      other && make("small", {}, `${words.synonym(hit.matched.kind)}: `, make("bdi", {}, hit.matched.text)));
  }

  const look = newest(async signal => {
    const text = box.value;
    if (!text.trim()) return close();
    const found = await suggest(text, MOST, signal);
    items = found.items;
    answered = text;
    note.textContent = takes && items.length ? words.enterTakes(found.total) : found.total > items.length ? words.moreHits(found.total) : words.suggestions(found.total);
    list.replaceChildren(...items.map(drawn));
    pop.hidden = false;
    box.setAttribute("aria-expanded", "true");
    choose(-1);
    tell(note.textContent);
  });
  const lookSoon = settled(() => look().catch(() => { note.textContent = words.failed; list.replaceChildren(); pop.hidden = false; }), DELAY);

  box.addEventListener("input", lookSoon);
  box.addEventListener("blur", close);
  box.addEventListener("keydown", event => {
    const n = items.length, shown = !pop.hidden;
    if (event.key === "Escape" && shown) close();
    else if (event.key === "ArrowDown" && shown && n) choose((chosen + 2) % (n + 1) - 1);
    else if (event.key === "ArrowUp" && shown && n) choose((chosen + n + 1) % (n + 1) - 1);
    else if (event.key === "ArrowDown" && !shown) lookSoon();
    else if (event.key === "Enter" && shown && chosen >= 0) open(items[chosen]);
    else if (event.key === "Enter" && takes) { if (shown && n && answered === box.value) open(items[0]); }
    else return;
    event.preventDefault();
  });
}
