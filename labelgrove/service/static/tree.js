// The tree: rows of a window that the service answers, whatever the size of the tree.
import { find, framed, make, tell, thousands } from "./dom.js";
import { ask } from "./service.js";
import { words } from "./words.js";

const BLOCK = 100; // rows of one request
const LARGEST = 8e6; // pixels: browsers do not draw higher elements exactly
const MOST_OPEN = 2000; // branches, a limit of the service
const AHEAD = 1000; // rows in which typing finds
const FULL = 6; // levels that are indented fully
const PAUSE = 700; // milliseconds after which typing begins anew

/**
 * The tree in `#tree`; `take(key, how)` is called for the label that the reader chose. With `chosen(key)`, which tells
 * whether a label is one of several that are chosen, these are shown as selected, and not the label in hand.
 */
export class Tree {
  constructor(take, zoom, { chosen = null, help = words.treeHelp } = {}) {
    this.take = take;
    this.zoom = zoom;
    this.chosen = chosen;
    this.help = help;
    this.box = find("tree");
    this.open = new Set();
    this.blocks = new Map(); // number of the block -> its rows, or null while it is requested
    this.total = 0;
    this.at = 0; // position of the row that the keyboard is on
    this.hand = null;
    this.typed = "";
    this.typedAt = 0;
    this.doing = Promise.resolve();
    this.made = 0; // counts changes of what is open, so that late answers are told apart
    this.pad = make("div", { class: "pad", role: "none" });
    this.win = make("div", { class: "win", role: "group" });
    this.pad.append(this.win);
  }

  /** Draw the tree in place of the one that the page came with. */
  start() {
    const help = make("p", { class: "sr", id: "treehelp" }, this.help);
    this.box.replaceChildren(this.pad);
    this.box.after(help);
    for (const [name, value] of Object.entries({ role: "tree", "aria-label": words.tree, "aria-describedby": "treehelp", ...(this.chosen && { "aria-multiselectable": "true" }) })) this.box.setAttribute(name, value);
    const fold = make("button", { type: "button", onclick: () => this.collapse() }, words.collapse);
    find("treetools").append(fold);
    const draw = framed(() => this.draw());
    this.box.addEventListener("scroll", draw, { passive: true });
    new ResizeObserver(draw).observe(this.box);
    this.box.addEventListener("click", event => this.clicked(event));
    this.box.addEventListener("keydown", event => this.pressed(event));
  }

  get height() { return matchMedia("(max-width: 719px)").matches ? 32 : 24; }
  get full() { return this.total * this.height; }
  get shown() { return this.box.clientHeight; }

  /** How many pixels of the whole tree one pixel of the scroll bar stands for. */
  get scale() { return this.full <= LARGEST ? 1 : (this.full - this.shown) / (LARGEST - this.shown); }

  row(position) { return this.blocks.get(Math.floor(position / BLOCK))?.[position % BLOCK]; }

  query() { return [...this.open].sort((a, b) => a - b).join(","); }

  /** Forget the rows, as other branches are open now; the rows on the screen stay until new ones come. */
  changed() { this.made++; this.blocks.clear(); }

  /** Request the blocks of rows that are missing between two positions. */
  async load(first, last) {
    const missing = [];
    for (let n = Math.floor(first / BLOCK); n <= Math.floor(Math.max(first, last) / BLOCK); n++) if (!this.blocks.has(n)) missing.push(n);
    const made = this.made;
    await Promise.all(missing.map(async n => {
      this.blocks.set(n, null);
      try {
        const found = await ask("window", { at: n * BLOCK, rows: BLOCK, open: this.query() });
        if (made !== this.made) return;
        this.blocks.set(n, found.items);
        this.total = found.total;
      } catch (error) {
        if (made === this.made) this.blocks.delete(n);
        tell(error.message);
      }
    }));
    if (missing.length && made === this.made) this.draw();
  }

  /** Open all that is above a label, and scroll to its row. */
  async reveal(key) {
    const found = await ask("window", { to: key, rows: BLOCK, open: this.query() });
    this.open = new Set(found.opened);
    this.changed();
    this.total = found.total;
    this.hand = key;
    this.at = found.position;
    await this.load(this.at, this.at);
    this.scrollTo(this.at, true);
    await this.load(this.first(), this.last());
    this.draw();
  }

  first() { return Math.max(0, Math.floor(this.box.scrollTop * this.scale / this.height) - 4); }
  last() { return Math.min(this.total - 1, this.first() + Math.ceil(this.shown / this.height) + 9); }

  scrollTo(position, centered) {
    this.pad.style.height = `${Math.min(this.full, LARGEST)}px`;
    const top = position * this.height, seen = this.box.scrollTop * this.scale;
    if (top >= seen && top + this.height <= seen + this.shown) return;
    const wanted = centered ? top - this.shown / 2 : top < seen ? top : top + this.height - this.shown;
    this.box.scrollTop = Math.max(0, wanted) / this.scale;
  }

  draw() {
    const first = this.first(), last = this.last(), rows = [];
    for (let position = first; position <= last; position++) {
      if (this.row(position) === undefined) {
        this.load(first, last);
        if (this.win.childElementCount) return;
        break;
      }
      rows.push(this.drawn(this.row(position), position));
    }
    this.pad.style.height = `${Math.min(this.full, LARGEST)}px`;
    const seen = this.box.scrollTop * this.scale;
    this.win.style.transform = `translateY(${this.box.scrollTop - (seen - first * this.height)}px)`;
    this.win.replaceChildren(...rows);
    find("rows").textContent = words.rows(this.total);
    if (find(`row${this.at}`)) this.box.setAttribute("aria-activedescendant", `row${this.at}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  drawn(row, position) {
    const guide = make("span", { class: "g" }), twist = make("span", { class: "tw" });
    guide.style.width = `${12 * Math.min(row.level, FULL) + 4 * Math.max(row.level - FULL, 0)}px`;
    const opens = !row.leaf && !row.reference;
    if (opens) twist.append(triangle());
    const hand = this.chosen ? this.chosen(row.key) : row.key === this.hand;
    const says = [row.name, row.n_parents > 1 && words.parents(row.n_parents), row.reference ? words.reference : row.n_below > 0 && words.below(row.n_below)];
    return make("div", {
      class: `row${row.reference ? " ref" : ""}${position === this.at ? " at" : ""}`, role: "treeitem", id: `row${position}`, "data-at": position,
      "aria-level": row.level + 1, "aria-selected": String(hand), "aria-expanded": opens ? String(row.opened) : null,
      "aria-label": says.filter(Boolean).join(", "), title: row.name.length > 24 ? row.name.slice(0, 500) : null,
    }, guide, twist, make("bdi", { class: row.deprecated ? "nm gone" : "nm" }, row.name.slice(0, 300) || row.key.slice(0, 300)),
    row.n_parents > 1 && make("span", { class: "badge" }, words.parents(row.n_parents)),
    row.n_below > 0 && !row.reference && make("span", { class: "c" }, thousands(row.n_below + 1)));
  }

  async go(position, how) {
    position = Math.max(0, Math.min(this.total - 1, position));
    await this.load(position, position);
    const row = this.row(position);
    if (!row) return;
    this.at = position;
    this.hand = row.key;
    this.scrollTo(position, false);
    this.draw();
    this.take(row.key, how);
  }

  async toggle(position) {
    const row = this.row(position);
    if (!row || row.leaf || row.reference) return;
    if (!row.opened && this.open.size >= MOST_OPEN) { tell(words.tooManyOpen); return; }
    if (row.opened) this.open.delete(row.idx);
    else this.open.add(row.idx);
    if (this.at > position) this.at = position;
    this.changed();
    await this.load(position, position);
    await this.load(this.first(), this.last());
    this.draw();
  }

  async collapse() {
    this.open.clear();
    this.at = 0;
    this.changed();
    this.box.scrollTop = 0;
    await this.load(0, 0);
    this.draw();
  }

  clicked(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    const position = Number(row.dataset.at);
    if (event.target.closest(".tw")?.firstChild) this.toggle(position);
    // the first click drew all rows again, and so browsers send no event "dblclick"
    else if (event.detail === 2) this.zoom(this.row(position)?.key);
    else this.go(position, "click");
  }

  /** Go to the row above at which the branch of a row begins. */
  async goUp(position) {
    const level = this.row(position)?.level;
    for (let above = position - 1; above >= 0; above--) {
      await this.load(above, above);
      if (this.row(above)?.level < level) return this.go(above, "key");
    }
    return undefined;
  }

  /** Do one thing after the other, so that keys pressed quickly count from where the last one led. */
  then(action) {
    this.doing = this.doing.then(action).catch(error => tell(error.message));
  }

  async search(text) {
    const from = this.at + (text.length > 1 ? 0 : 1);
    const found = await ask("window", { at: from, rows: AHEAD, open: this.query() });
    const place = found.items.findIndex(row => row.name.toLowerCase().startsWith(text));
    if (place >= 0) await this.go(from + place, "key");
    else tell(words.notFound(text, found.items.length));
  }

  type(letter, time) {
    this.typed = this.typing(time) ? this.typed + letter : letter;
    this.typedAt = time;
    const text = this.typed.toLowerCase();
    this.then(() => this.search(text));
  }

  typing(time) { return this.typed !== "" && time - this.typedAt <= PAUSE; }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "/") return;
    const page = Math.max(1, Math.floor(this.shown / this.height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const acts = {
      ArrowRight: row => (row?.opened ? this.go(this.at + 1, "key") : this.toggle(this.at)),
      ArrowLeft: row => (row?.opened ? this.toggle(this.at) : this.goUp(this.at)),
      Enter: row => { if (row) { this.take(row.key, "click"); this.zoom(row.key); } },
    };
    if (event.key in moves || event.key in acts) this.typed = "";
    if (event.key in moves) this.then(() => this.go(this.at + moves[event.key], "key"));
    else if (event.key in acts) this.then(() => acts[event.key](this.row(this.at)));
    else if (event.key.length === 1 && (event.key !== " " || this.typing(event.timeStamp))) this.type(event.key, event.timeStamp);
    else return;
    event.preventDefault();
  }
}

function triangle() {
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), path = document.createElementNS(space, "path");
  svg.setAttribute("viewBox", "0 0 8 8");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", "M2 0l5 4-5 4z");
  svg.append(path);
  return svg;
}
