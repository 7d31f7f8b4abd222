// LIVE LOCUS: classes are chosen, and what they reach is shown at once, as the newest answer tells.
import { find, make, settled, tell, thousands } from "./dom.js";
import { LabelMap } from "./map.js";
import { ask, newest, page, pinned, post, subject } from "./service.js";
import { Tree } from "./tree.js";
import { words } from "./words.js";

const LONGEST_ADDRESS = 4_000; // characters; more classes are kept with the entry of the history alone
const WIDE = /[\t,;]/; // what separates columns of a pasted table
const REST = 60; // milliseconds after which a slider or a burst of clicks rests

const add = find("add"), adopt = find("adopt"), how = find("how"), list = find("classes"), drawn = find("stage").dataset.map !== undefined;
const chosen = new Map(); // key -> name
let streams = [], steps = 0, answered = null;
for (const row of list.children) chosen.set(row.dataset.key, row.textContent);

/** What is asked: the body of a request. */
function asked() {
  const picks = Math.max(1, Math.min(1000, Number(how.picks.value) || 10));
  return { observed: [...chosen.keys()], metric: how.metric.value, labels: how.labels.value, picks, taken: Math.min(picks, Number(how.taken.value)) };
}

// ---- asking ---------------------------------------------------------------------------------------

/** Ask what is reached, with a part of the map, and show the figures. */
async function reach(query, signal) {
  const atOnce = how.dataset.atOnce.split(" ").includes(`${how.metric.value},${how.labels.value}`);
  if (!atOnce && how.dataset.work === undefined) throw new Error(words.needsWork);
  const found = await post("reach", query, asked(), signal);
  answered = found;
  showFigures(found);
  showPicks(found);
  follow(found.jobs.filter(job => job.state !== "done"));
  return found.map;
}

const failed = error => { find("reached").replaceChildren(make("p", { class: "problem" }, error.message)); tell(error.message); };
const map = drawn ? new LabelMap(toggleOrShow, { source: (query, signal) => reach(query, signal), marked: true, zooms: false, failed }) : null;
const tree = drawn ? new Tree(toggleOrShow, () => {}, { chosen: key => chosen.has(key), help: words.treeChooses }) : null;
const unmapped = newest(signal => reach({}, signal));
const update = () => (map ? map.reload() : unmapped().catch(failed));
const updateSoon = settled(update, REST);

/** Jobs that compute what is reached: whenever one of them changes, ask again. */
function follow(jobs) {
  streams.forEach(stream => stream.close());
  streams = jobs.map(({ job, state }) => {
    const stream = new EventSource(`/v1/jobs/${job}/events`);
    stream.addEventListener("jobs", event => { if (JSON.parse(event.data).some(one => one.state !== state)) updateSoon(); });
    return stream;
  });
}
addEventListener("pagehide", () => follow([]));

// ---- showing --------------------------------------------------------------------------------------

const percent = share => `${(100 * share).toLocaleString("en", { maximumSignificantDigits: 3 })} %`;

/** Say that jobs compute something, with a link to each that has not ended well. */
const computing = (text, jobs) => [text, ...jobs.filter(job => job.state !== "done").flatMap(job => [" ", make("a", { href: `/jobs/${job.job}` }, job.kind), ` (${job.state})`])];

function showFigures({ n_labels: n, before, after, jobs, taken }) {
  const now = after ?? before, place = find("reached");
  if (!now) {
    place.replaceChildren(make("p", { class: "quiet" }, ...computing(words.computing, jobs)));
    return;
  }
  const tied = now.reached - now.unique, first = Math.min(before?.reached ?? now.reached, now.reached), parts = [["unique", first], ["adds", now.reached - first], ["none", now.unreached]];
  const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  bar.setAttribute("class", "shares");
  bar.setAttribute("viewBox", `0 0 ${n} 1`);
  bar.setAttribute("preserveAspectRatio", "none");
  bar.setAttribute("aria-hidden", "true");
  let x = 0;
  for (const [kind, wide] of parts) {
    const part = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ class: kind, x, y: 0, width: wide, height: 1 })) part.setAttribute(name, value);
    bar.append(part);
    x += wide;
  }
  place.replaceChildren(
    make("p", { class: "figure" }, make("b", {}, thousands(now.reached)), ` ${words.reachedOf(n)} (${percent(now.share)})${now.status === "exact" ? "" : words.atLeast}`, taken ? make("span", { class: "quiet" }, ` ${words.withPicks(taken, now.reached - first)}`) : null),
    bar,
    make("p", { class: "quiet" }, words.uniquely(now.unique, tied, now.unreached)));
  tell(`${thousands(now.reached)} ${words.reachedOf(n)}`);
}

function showPicks({ picks, taken, jobs }) {
  const items = picks?.items ?? [];
  find("picks").replaceChildren(...items.map(one => make("li", { class: one.round <= taken ? "taken" : null, "data-key": one.key },
    make("button", { type: "button", title: words.takeIt, onclick: () => choose([[one.key, one.name]]) }, make("bdi", {}, one.name || one.key)),
    make("span", { class: "c" }, `+${thousands(one.gain)} → ${thousands(one.reached)}`))));
  how.taken.max = Math.max(1, items.length);
  find("spent").textContent = taken;
  const selecting = picks ? [] : jobs.filter(job => job.kind === "selection");
  find("bound").replaceChildren(...(selecting.length ? computing(words.computingPicks, selecting) : [picks && picks.status !== "exact" ? words.heuristic(picks.upper_bound) : ""]));
  adopt.hidden = taken === 0;
  adopt.firstElementChild.onclick = () => choose(items.slice(0, taken).map(one => [one.key, one.name]));
}

function showClasses() {
  find("n-classes").textContent = words.classes(chosen.size);
  list.replaceChildren(...[...chosen].map(([key, name]) => make("li", { "data-key": key },
    make("a", { class: "label-link", href: page("", { key }) }, make("bdi", {}, name || key)),
    make("button", { type: "button", class: "c", "aria-label": words.remove(name || key), onclick: () => drop(key) }, "×"))));
  for (const form of [add, how]) form.querySelectorAll(".given").forEach(one => one.remove());
  clear.disabled = chosen.size === 0;
  if (tree?.total) tree.draw();
}

// ---- choosing -------------------------------------------------------------------------------------

/** Change the classes, so that one step back in the history undoes it. */
function changed() {
  steps += 1;
  how.taken.value = 0;
  history.pushState(kept(), "", address());
  showClasses();
  update();
  undo.disabled = false;
}

const kept = () => ({ chosen: [...chosen], steps, how: { metric: how.metric.value, labels: how.labels.value, picks: how.picks.value, taken: how.taken.value } });

function address() {
  const given = new URLSearchParams(pinned ? { version: pinned } : {});
  for (const name of ["metric", "labels", "picks", "taken"]) if (how[name].value !== how[name].dataset.usual) given.set(name, how[name].value);
  for (const key of chosen.keys()) given.append("observed", key);
  const short = given.toString().length <= LONGEST_ADDRESS;
  if (!short) given.delete("observed");
  return `${location.pathname}${given.size ? `?${given}` : ""}${short ? "" : `#${words.classes(chosen.size).replace(" ", "-")}`}`;
}

function choose(pairs) {
  const n = chosen.size;
  for (const [key, name] of pairs) chosen.set(key, name);
  if (chosen.size > n) changed();
}

function drop(key) {
  chosen.delete(key);
  changed();
}

async function toggleOrShow(key, by) {
  try {
    if (by === "key") map.show(await ask("label", { key }), false);
    else if (chosen.has(key)) drop(key);
    else choose([[key, (await ask("label", { key })).name]]);
  } catch (error) { tell(error.message); }
}

/** Read keys or names from a pasted or loaded text: JSON, lines, or the first column of a table. */
function textsIn(text) {
  const plain = text.replace(/^\ufeff/, "").trim();
  if (plain.startsWith("[")) {
    try {
      const found = JSON.parse(plain);
      if (found.every(one => typeof one === "string")) return found.filter(one => one !== "");
    } catch { /* not JSON: lines */ }
  }
  const lines = plain.split(/\r?\n/).map(line => line.trim()).filter(Boolean);
  return lines.length === 1 && WIDE.test(plain) ? plain.split(WIDE).map(one => one.trim()).filter(Boolean) : lines;
}

const cell = line => line.split(WIDE)[0].trim().replace(/^"(.*)"$/, "$1");

async function addTexts(text, before = []) {
  const texts = [...new Set(textsIn(text))];
  if (!texts.length) return;
  let { items } = await post("bind", {}, { texts });
  const wide = items.filter(one => one.key === null && WIDE.test(one.text));
  if (wide.length) { // a table: the first column says which labels
    const first = [...new Set(wide.map(one => cell(one.text)).filter(Boolean))];
    items = items.filter(one => one.key !== null || !WIDE.test(one.text)).concat(first.length ? (await post("bind", {}, { texts: first })).items : []);
  }
  const bound = items.filter(one => one.key !== null);
  choose(bound.map(one => [one.key, one.candidates[0].name]));
  const rest = items.filter(one => one.key === null);
  find("unbound").replaceChildren(...before, ...rest.slice(0, 20).map(one => make("p", { class: "problem" }, make("bdi", {}, one.text.slice(0, 200)), `: ${one.problem} `,
    ...one.candidates.map(label => make("button", { type: "button", onclick: event => { choose([[label.key, label.name]]); event.target.closest("p").remove(); } }, make("code", {}, label.key))),
    ...one.close.slice(0, 3).map(close => make("button", { type: "button", onclick: event => { event.target.closest("p").remove(); addTexts(close, [...find("unbound").children]).catch(failed); } }, make("bdi", {}, close))))),
    rest.length > 20 ? make("p", { class: "quiet" }, words.moreUnknown(rest.length - 20)) : "");
  tell(words.added(bound.length, rest.length));
}

add.addEventListener("submit", event => {
  event.preventDefault();
  addTexts(add.text.value).then(() => { add.text.value = ""; }).catch(failed);
});
add.text.addEventListener("paste", event => { // a browser takes half a minute to put three thousand lines into a field
  const text = event.clipboardData.getData("text");
  if (textsIn(text).length < 2) return;
  event.preventDefault();
  addTexts(text).catch(failed);
});
const file = find("file");
file.hidden = false;
file.querySelector("input").addEventListener("change", async event => {
  const [given] = event.target.files;
  if (given) await addTexts(await given.text()).catch(failed);
  event.target.value = "";
});
document.addEventListener("take", event => { event.preventDefault(); const key = event.detail; if (!chosen.has(key)) ask("label", { key }).then(label => choose([[key, label.name]])).catch(failed); });
const clear = make("button", { type: "button", onclick: () => { chosen.clear(); changed(); } }, words.removeAll);
const undo = make("button", { type: "button", disabled: true, onclick: () => history.back() }, words.undo);
find("classtools").append(undo, clear);

how.addEventListener("submit", event => event.preventDefault());
how.addEventListener("input", () => {
  find("spent").textContent = how.taken.value;
  history.replaceState(kept(), "", address());
  updateSoon();
});
addEventListener("popstate", event => {
  if (!event.state) return;
  chosen.clear();
  for (const [key, name] of event.state.chosen) chosen.set(key, name);
  for (const [name, value] of Object.entries(event.state.how)) how[name].value = value;
  steps = event.state.steps;
  undo.disabled = steps === 0;
  showClasses();
  update();
});

// ---- keeping --------------------------------------------------------------------------------------

let keeping = null; // the events of the job that was submitted last
addEventListener("pagehide", () => keeping?.close());

async function submit(kind, target) {
  const { observed, metric, labels, picks } = asked(), saved = find("saved");
  const parameters = { ontology: subject, metric, labels, observed, ...(kind === "selection" ? { n: picks } : {}) };
  try {
    const job = await post("/v1/jobs", null, { kind, parameters, ...(target ? { target } : {}) });
    keeping?.close();
    keeping = new EventSource(`/v1/jobs/${job.id}/events`);
    keeping.addEventListener("jobs", event => {
      const [{ state }] = JSON.parse(event.data), done = state === "done", at = target && `/bundles/${encodeURIComponent(document.body.dataset.ontology)}/${encodeURIComponent(target.bundle)}`;
      saved.replaceChildren(make("a", { href: `/jobs/${job.id}` }, `${kind} ${job.id.slice(0, 12)}`), ` ${state}`,
        ...(done ? [": ", make("a", { href: at ?? `/jobs/${job.id}/result` }, at ? words.openBundle(target.bundle) : words.openResult)] : []));
      if (["done", "failed", "cancelled"].includes(state)) keeping.close();
    });
  } catch (error) {
    saved.replaceChildren(make("span", { class: "problem" }, error.message));
  }
}
find("save").hidden = false;
for (const button of find("save").querySelectorAll("button[data-kind]")) button.addEventListener("click", () => submit(button.dataset.kind));
find("bundle")?.addEventListener("submit", event => { event.preventDefault(); submit("bundle", { bundle: event.target.bundle.value }); });

for (const [name, usual] of Object.entries({ metric: how.metric.value, labels: "all", picks: "10", taken: "0" })) how[name].dataset.usual = usual;
history.replaceState(history.state?.chosen ? history.state : kept(), "", location.href);
if (history.state.chosen.length !== chosen.size) { // classes too many for the address, after a reload
  for (const [key, name] of history.state.chosen) chosen.set(key, name);
  for (const [name, value] of Object.entries(history.state.how)) how[name].value = value;
}
showClasses();
if (map) {
  find("below").hidden = false;
  tree.start();
  tree.load(0, 0).then(() => tree.toggle(0)).catch(failed);
  map.start();
} else update();
