// WHAT-IF: one row of outputs as text and sliders, its answer, and the variances of all labels on the map.
import { find, make, settled, tell } from "./dom.js";
import { LabelMap } from "./map.js";
import { ask, fetched, newest, page, send } from "./service.js";
import { words } from "./words.js";

const TYPED = 200, SLID = 30, MOVED = 400; // milliseconds after which a text, a slider and the address are still
const SLIDERS = 12, SHOWN = 40, LONGEST = 6000; // sliders, classes with their pull, characters of a row in the address

const form = find("given"), outcome = find("outcome"), base = form.dataset.bundle;
const types = JSON.parse(form.dataset.types); // ending of a file -> type of a body that is such a file
const field = name => form.elements[name];
const map = form.dataset.mapped === undefined ? null : new LabelMap(taken);
let row = null; // the numbers, in the order of the bundle
let places = new Map(); // key of an observed label -> its place in the row
let held = null; // the row when the slider in hand began to move
let sliders = []; // {place, range, number}

const sum = values => values.reduce((total, x) => total + x, 0);
// Spread into Math.max, the numbers of 100,000 classes are more arguments than a call may have.
const largest = values => values.reduce((most, x) => Math.max(most, x), -Infinity);
const smallest = values => -largest(values.map(x => -x));
const figure = (x, digits = 6) => (x === null ? "" : String(Number(x.toPrecision(digits))));
const wait = () => { outcome.setAttribute("aria-busy", "true"); };
const isShare = () => field("outputs").value === "probabilities";
const query = () => ({ outputs: field("outputs").value, temperature: isShare() ? 1 : field("temperature").value || 1, candidates: field("candidates").value.trim() || null });

// ---- the row ----------------------------------------------------------------------------------------

/** Read the row from the file or the text, as the service reads it, and answer it. */
const read = newest(async signal => {
  const file = field("file").files[0], text = field("row").value;
  if (!file && !text.trim()) { nothing(make("p", { class: "empty" }, words.noRow)); return; }
  const ending = file && `.${file.name.split(".").pop().toLowerCase()}`;
  const type = file ? types[ending] ?? "application/octet-stream" : "text/plain";
  wait();
  const found = await send(`${base}/row`, { outputs: field("outputs").value, row: file ? field("number").value || 0 : 0 }, file ?? text, type, signal);
  row = found.row;
  if (file) field("row").value = row.join(", ");
  sliders = [];
  await updateNow();
});

/** Answer the row as it is now; an answer to an earlier one is dropped. */
const update = newest(async signal => {
  if (!row) return;
  wait();
  const drawing = map?.drawing, body = JSON.stringify({ rows: [row] });
  const where = drawing && { focus: drawing.focus?.key, width: drawing.width, levels: drawing.rows.length };
  const found = await send(`${base}/${drawing ? "heat" : "explain"}`, { ...query(), ...where }, body, "application/json", signal);
  const explained = drawing ? found.explained : found;
  show(explained);
  if (!sliders.length) slide(explained);
  if (drawing && map.drawing === drawing) heat(found, drawing);
  moved();
});

/** Show that there is no row, and drop an answer that is still on its way. */
function nothing(said) {
  row = null;
  update();
  clear(said);
  find("sliders").hidden = true;
  moved();
}

function clear(said) {
  outcome.setAttribute("aria-busy", "false");
  outcome.replaceChildren(said);
  if (map?.drawing) { map.hand = null; map.recolor(() => "cell", []); }
}

const problem = error => make("p", { class: "problem", role: "alert" }, error.message);
const failed = error => clear(problem(error));
const readNow = () => read().catch(error => nothing(problem(error))), updateNow = () => update().catch(failed);
const readSoon = settled(readNow, TYPED), updateSoon = settled(updateNow, SLID);

/** Put what the page shows into the address, if it is small enough. */
const moved = settled(() => {
  const text = field("row").value, { outputs, temperature, candidates } = query(), given = new URLSearchParams();
  const small = text.length <= LONGEST;
  if (small) given.set("row", text);
  if (!isShare()) { given.set("outputs", outputs); given.set("temperature", temperature); }
  if (candidates) given.set("candidates", candidates);
  history.replaceState(null, "", `${location.pathname}?${given}`);
  find("said").textContent = small ? "" : words.longRow;
}, MOVED);

// ---- sliders ----------------------------------------------------------------------------------------

/** Make a slider for each of the heaviest classes. */
function slide(explained) {
  const heaviest = [...explained.contributions].sort((a, b) => b.weight - a.weight).slice(0, SLIDERS);
  find("slide").replaceChildren();
  for (const { key } of heaviest) add(key, explained.names[key] ?? key);
  find("rule").textContent = isShare() ? words.shares(figure(sum(row))) : words.alone;
  find("sliders").hidden = false;
}

function add(key, name) {
  const place = places.get(key), known = sliders.find(one => one.place === place);
  if (known) { known.range.focus(); return; }
  const finite = row.filter(x => x > -1e29);
  const [low, high] = isShare() ? [0, sum(row)] : [Math.floor(smallest(finite)) - 5, Math.ceil(largest(finite)) + 5];
  const range = make("input", { type: "range", min: low, max: high, step: (high - low) / 1000 || 1, "aria-label": name.slice(0, 200) });
  const number = make("input", { type: "number", min: isShare() ? 0 : null, step: "any", "aria-label": words.numberOf(name.slice(0, 200)) });
  for (const input of [range, number]) {
    input.addEventListener("input", () => { if (input.value !== "") set(place, Number(input.value), input); });
    input.addEventListener("change", () => { held = null; put(null); });
  }
  sliders.push({ place, range, number });
  find("slide").append(make("li", {}, make("span", { class: "nm", title: key }, make("bdi", {}, name)), number, range));
  put(null);
}

/** Give a class another number; shares of the others change so that the sum stays. */
function set(place, value, input) {
  held ??= row;
  if (isShare()) {
    const total = sum(held), mine = Math.min(value, total), rest = total - held[place], left = total - mine;
    row = held.map((x, i) => (i === place ? mine : rest > 0 ? x * (left / rest) : left / (held.length - 1)));
  } else row = held.map((x, i) => (i === place ? value : x));
  field("file").value = "";
  field("row").value = row.join(", ");
  put(input);
  wait();
  updateSoon();
}

/** Show the numbers of the row in all sliders but the one in hand. */
function put(hand) {
  for (const { place, range, number } of sliders) {
    if (range !== hand) range.value = row[place];
    if (number !== hand) number.value = Number(row[place].toPrecision(6));
  }
}

async function adding() {
  const text = find("add").value.trim();
  if (!text || !row) return;
  const { items: [found] } = await send(`${base}/bind`, {}, JSON.stringify({ columns: [text] }), "application/json");
  find("said").textContent = found.problem ?? "";
  if (!found.key) return;
  add(found.key, found.candidates[0].name);
  find("add").value = "";
}

// ---- the answer -------------------------------------------------------------------------------------

function show(found) {
  const label = key => make("a", { class: "label-link", href: page("", { key }), "data-key": key }, make("bdi", {}, found.names[key] ?? key));
  const entry = (name, ...parts) => [make("dt", {}, name), make("dd", {}, ...parts)];
  const value = (x, entries = {}) => make("span", { ...entries, "data-value": x }, figure(x));
  const quiet = x => x !== null && make("span", { class: "c", "data-value": x }, figure(x));
  const most = Math.max(largest(found.contributions.map(one => Math.max(one.pull, one.pull_at_argmax ?? 0))), Number.MIN_VALUE);
  const bars = one => {
    const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, pull, y] of [["at", one.pull, 0], ["arg", one.pull_at_argmax ?? 0, 5]]) {
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      for (const [key, text] of Object.entries({ class: name, y, height: 4, width: `${(100 * pull) / most}%` })) bar.setAttribute(key, text);
      drawn.append(bar);
    }
    drawn.setAttribute("aria-hidden", "true");
    return drawn;
  };
  const pulls = found.contributions.slice(0, SHOWN).map(one => make("li", { "data-key": one.key }, label(one.key), make("span", { class: "c" }, value(one.pull), one.pull_at_argmax !== null && make("small", { "data-value": one.pull_at_argmax }, `, ${words.atArgmax(figure(one.pull_at_argmax))}`)), bars(one)));
  const rest = found.contributions.length - pulls.length;
  outcome.replaceChildren(
    make("h2", { class: "sub", id: "answer-h" }, words.answer), make("p", { id: "name" }, label(found.answer)), make("p", { class: "sub" }, make("code", { class: "key", dir: "ltr" }, found.answer)),
    make("dl", { class: "kv", id: "facts" },
      ...entry(words.variance, value(found.value)), ...entry(words.tied, make("span", { "data-value": found.n_tied }, words.ties(found.n_tied))),
      ...entry(words.argmax, label(found.argmax), quiet(found.argmax_value)),
      ...(found.runner_up === null ? [] : [...entry(words.runnerUp, label(found.runner_up), quiet(found.runner_up_value)), ...entry(words.margin, value(found.margin))])),
    ...(found.path.length ? [make("h3", {}, words.path), make("ol", { class: "list", id: "path" }, ...found.path.map(key => make("li", {}, label(key))))] : []),
    make("h3", {}, words.pull), make("p", { class: "quiet small" }, words.pullRule), make("ul", { class: "pulls", id: "pulls" }, ...pulls), ...(rest > 0 ? [make("p", { class: "quiet" }, words.moreClasses(rest))] : []));
  outcome.setAttribute("aria-busy", "false");
  tell(words.answered(found.names[found.answer] ?? found.answer, figure(found.value)));
}

// ---- the map ----------------------------------------------------------------------------------------

/** Color the cells by the lowest variance in their branches. */
function heat(found, drawing) {
  const inner = found.edges.slice(1, -1), tone = value => (value === null ? "cell" : `h${1 + inner.filter(edge => value > edge).length}`);
  const tones = found.rows.map(one => one.lowest.map(tone));
  map.told = (cell, y) => found.rows[y].lowest[cell.place] !== null && [words.lowest(figure(found.rows[y].lowest[cell.place])), words.mean(figure(found.rows[y].mean[cell.place]))];
  map.hand = found.answer;
  const color = (cell, y) => (cell.narrow ? (found.rows[y].crowded[cell.place] === "0" ? "cell" : `h${found.rows[y].crowded[cell.place]}`) : tones[y][cell.place]);
  map.recolor((cell, y) => (map.drawing === drawing ? color(cell, y) : "cell"), found.rows.map(one => ({ OBSERVES: one.observed, ANSWERS: one.answer })));
  const step = (low, i) => make("span", {}, make("i", { class: `h${i + 1}` }), words.from(figure(low, 4), figure(found.edges[i + 1], 4)));
  find("legend").replaceChildren(words.heat, ...(found.edges.at(-1) > found.edges[0] ? found.edges.slice(0, -1).map(step) : [step(found.edges[0], 0)]),
    ...words.heatMarks.map(([kind, text]) => make("span", {}, make("i", { class: kind }), text)));
}

/** Take a label of the map in hand: the frame moves to it, and its page is offered. */
async function taken(key) {
  const label = await ask("label", { key });
  map.show(label, false);
  find("taken").replaceChildren(make("a", { href: page("", { key }) }, make("bdi", {}, label.name.slice(0, 200))));
  tell(words.hand(label.name.slice(0, 200)));
}

// ---- events -----------------------------------------------------------------------------------------

const kindChanged = () => { field("temperature").disabled = isShare(); };
form.addEventListener("submit", event => { event.preventDefault(); readNow(); });
field("row").addEventListener("input", () => { field("file").value = ""; wait(); readSoon(); });
for (const name of ["file", "number"]) field(name).addEventListener("change", readNow);
field("outputs").addEventListener("change", () => { kindChanged(); readNow(); });
for (const name of ["temperature", "candidates"]) field(name).addEventListener("input", () => { wait(); settledUpdate(); });
const settledUpdate = settled(updateNow, TYPED);
find("adding").addEventListener("click", () => adding().catch(failed));
find("add").addEventListener("keydown", event => { if (event.key === "Enter") { event.preventDefault(); adding().catch(failed); } });

kindChanged();
if (map) { map.legend = () => {}; map.loaded = updateNow; }
map?.start();
fetched(base).then(found => { places = new Map(found.observed.map((key, i) => [key, i])); readNow(); }).catch(failed);
