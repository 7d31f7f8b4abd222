// The map: an icicle in which each branch is as wide as its number of labels, drawn on a canvas.
import { find, framed, make, settled, tell } from "./dom.js";
import { ask, marking, newest } from "./service.js";
import { words } from "./words.js";

const LOWEST = 28, HIGHEST = 60; // pixels of a row
const LEAST_HAND = 6; // pixels of the label in hand below which the map zooms to it
const SHOWN = 3; // labels above the map that are named
const NEAR = 4; // levels above the label in hand that it then shows
const STRONG = new Set(["t4", "t5", "p3", "obs", "h1", "h2"]); // colors on which the ink is that of the card
const LEAST_MARK = 2; // pixels of a cell with marked labels
const LEAST_NAME = 40; // pixels of a cell in which a name is written
const LETTERS = 5; // a name is cut only if this many letters remain
const WHEEL = 220; // milliseconds between two steps of the wheel
const REST = 80; // milliseconds after which the pointer rests on a place
const LEAST_POINT = 3; // pixels of a label that a result names itself
const APART = 8; // pixels between two diamonds
const BESIDE = 24; // pixels of a cell in which a diamond has its place before the name
const POINTS = { OBSERVES: "obs", INCLUDES: "p3", PICKS: "p3", ANSWERS: "ink" }; // colors of the diamonds; the first is filled, the last a frame

/**
 * The map in `#stage`; `take(key, how)` is called for the label that the reader chose.
 * `source(query, signal)` returns the document of a map, in which labels are `marked` or not; with `zooms`, a click also
 * zooms, otherwise a double click does; `failed` tells an error.
 */
export class LabelMap {
  constructor(take, { source = (query, signal) => ask("map", { ...query, marks: marking }, signal), marked = marking !== null, zooms = true, failed = error => tell(error.message) } = {}) {
    this.take = take;
    this.source = source;
    this.marked = marked;
    this.zooms = zooms;
    this.failed = failed;
    this.stage = find("stage");
    this.canvas = make("canvas", { tabindex: "0", role: "application", "aria-roledescription": words.mapRole, "aria-label": words.map, "aria-describedby": "maphelp" });
    this.tip = make("div", { class: "tip", hidden: true });
    this.out = make("button", { type: "button", disabled: true, onclick: () => this.zoomOut() }, words.zoomOut);
    this.focus = null; // key of the label on top; null for all roots
    this.drawing = null; // the document of the map
    this.cells = []; // one list of {label, left, width} for each row
    this.hand = null; // the document of the label in hand
    this.way = new Set(); // idx of all labels on its path
    this.over = null;
    this.row = LOWEST;
    this.whole = 0; // labels of the map of all roots
    this.wheeled = 0;
    this.keys = new Map(); // idx, or idx and depth -> item, as the service told
    this.named = settled((place, crowd) => this.nameCrowd(place, crowd), REST);
    this.asked = ""; // the size of the map that was requested last
    this.paint = null; // (cell, row) -> name of its color, if the page colors cells by something else; a narrow cell is a pixel
    this.told = () => null; // (cell, row) -> what the tip says of it as well
    this.loaded = () => {}; // called whenever there are other cells
    this.near = false; // whether to zoom to the label in hand once there is a map
    this.load = newest(async signal => {
      this.asked = this.room();
      const [width, levels] = this.asked.split(" ");
      const found = await this.source({ focus: this.focus, width, levels }, signal);
      this.drawing = found;
      if (this.focus === null) this.whole = found.n_labels;
      this.cells = found.rows.map(row => row.cells.map(([label, left, wide], i) => ({ label, place: i, left, width: wide, depth: row.depth, marked: counts(row.marked, i) })));
      this.crumbs();
      this.legend();
      this.draw();
      this.approach();
      this.loaded();
    });
  }

  /** Pixels and levels for which there is room, as one text. */
  room() { return `${Math.max(16, Math.round(this.stage.clientWidth))} ${Math.max(1, Math.min(64, Math.floor(this.stage.clientHeight / LOWEST)))}`; }

  /** Draw the map, and listen. */
  start() {
    this.stage.replaceChildren(this.canvas, this.tip);
    this.stage.after(make("p", { class: "sr", id: "maphelp" }, words.mapHelp));
    find("maptools").append(this.out);
    const again = settled(() => { if (this.room() !== this.asked) this.reload(); }, 80);
    new ResizeObserver(framed(() => { this.draw(); again(); })).observe(this.stage);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.watchPixels();
    this.canvas.addEventListener("pointermove", event => this.hovered(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("click", event => this.clicked(event));
    if (!this.zooms) this.canvas.addEventListener("dblclick", event => this.doubleClicked(event));
    this.canvas.addEventListener("wheel", event => this.wheel(event), { passive: false });
    this.canvas.addEventListener("keydown", event => this.pressed(event));
    return this.reload();
  }

  /** Draw again whenever a pixel of the page has another size, as on another screen. */
  watchPixels() {
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", () => { this.draw(); this.watchPixels(); }, { once: true });
  }

  reload() { return this.load().catch(this.failed); }

  /** Show which label is in hand: `label` is its document. With `near`, zoom if it can hardly be seen. */
  show(label, near) {
    this.hand = label;
    this.way = new Set(label.path.map(item => item.idx));
    this.near = near;
    this.draw();
    this.approach();
  }

  /** Color each cell as `paint` says, and mark labels: relation -> places, for each row. */
  recolor(paint, points) {
    this.paint = paint;
    this.drawing?.rows.forEach((row, y) => { row.points = points[y]; });
    this.draw();
  }

  /** Zoom to the label in hand if it can hardly be seen, once. */
  approach() {
    if (!this.near || !this.drawing) return;
    this.near = false;
    const { key, path } = this.hand;
    if (key === this.focus) return; // as after a double click
    const cell = this.handCell, seen = cell && cell.width * this.stage.clientWidth / this.drawing.width >= LEAST_HAND;
    const deepest = path.length - 1, top = deepest < 2 ? 0 : Math.min(deepest - 1, Math.max(1, deepest - NEAR));
    if (!seen) this.zoomTo(path[top].key);
  }

  zoomTo(key) {
    if (key === undefined || key === this.focus) return;
    this.focus = key;
    this.over = null;
    this.tip.hidden = true;
    this.load().then(() => { if (this.drawing?.focus) tell(words.zoomed(this.drawing.focus.name, this.drawing.n_labels)); }).catch(this.failed);
  }

  zoomOut() {
    if (this.out.disabled) return;
    const above = this.drawing?.above ?? [];
    this.zoomTo(above.length ? above.at(-1).key : null);
  }

  crumbs() {
    const { above, focus } = this.drawing, top = [...above, ...(focus ? [focus] : [])];
    const step = (item, i) => [i > 0 && make("i", { "aria-hidden": "true" }, "›"),
      make("button", { type: "button", "aria-current": item === focus ? "true" : null, title: item.name.slice(0, 500), onclick: () => this.zoomTo(item.key) }, make("bdi", {}, item.name.slice(0, 60)))];
    const named = top.length > SHOWN + 2 ? [...step(top[0], 0), make("i", {}, "› …\u00a0"), ...top.slice(-SHOWN - 1).flatMap((item, i) => step(item, i + 1))] : top.flatMap(step);
    const parts = named.filter(Boolean);
    find("crumbs").replaceChildren(...(parts.length ? parts : [make("span", {}, words.all)]), make("span", { class: "c" }, words.labels(this.drawing.n_labels)));
    this.out.disabled = this.drawing.n_labels === this.whole;
    this.canvas.setAttribute("aria-label", focus ? words.zoomed(focus.name.slice(0, 200), this.drawing.n_labels) : words.map);
  }

  legend() {
    const some = (...kinds) => this.drawing.rows.some(row => kinds.some(kind => row.marked?.[kind]?.some(Boolean)));
    const planned = some("INCLUDES", "PICKS", "ADDS"), left = { plan: !planned, locus: planned && !some("OBSERVES", "REACHES") };
    const shown = this.marked ? words.marked.filter(([, , relation]) => !left[relation]) : words.legend;
    find("legend").replaceChildren(...shown.map(([kind, text]) => make("span", {}, make("i", { class: kind }), text)));
  }

  // ---- drawing ----------------------------------------------------------------------------------

  draw() {
    const { clientWidth: width, clientHeight: height } = this.stage, ratio = devicePixelRatio || 1;
    if (!this.drawing || !width || !height) return;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const pen = this.canvas.getContext("2d"), style = getComputedStyle(document.body);
    const colors = new Map();
    this.color = name => { if (!colors.has(name)) colors.set(name, style.getPropertyValue(`--${name}`).trim()); return colors.get(name); };
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.handCell = this.placed(this.hand);
    this.row = Math.max(LOWEST, Math.min(HIGHEST, Math.floor(height / this.drawing.rows.length)));
    const stretch = width / this.drawing.width;
    this.points = this.drawing.rows.map(row => new Set(Object.values(row.points ?? {}).flatMap(points => points.map(([label]) => label))));
    this.drawing.rows.forEach((row, y) => {
      if (this.paint) this.paintCrowd(pen, row, y, stretch);
      else this.drawCrowd(pen, row.crowded, y * this.row, stretch);
      for (const cell of this.cells[y]) this.drawCell(pen, cell, y, stretch);
    });
    this.drawing.rows.forEach((row, y) => {
      for (const [relation, points] of Object.entries(row.points ?? {})) {
        let last = -APART;
        for (const point of points) last = this.drawPoint(pen, relation, point, y * this.row, stretch, last);
      }
    });
    this.drawHand(pen, stretch, width);
  }

  /** Branches narrower than a pixel are lines, every other one, so that they look like many. */
  drawCrowd(pen, runs, top, stretch) {
    pen.fillStyle = this.color("cell");
    for (const [first, n] of runs) {
      for (let x = first - (first % 3); x < first + n; x += 3) pen.fillRect(Math.max(first, x) * stretch, top, Math.max(1, stretch), this.row - 1);
    }
  }

  /** Where branches are narrower than a pixel, color each pixel. */
  paintCrowd(pen, row, y, stretch) {
    let place = 0;
    for (const [first, n] of row.crowded) {
      for (let x = first; x < first + n; x++, place++) {
        pen.fillStyle = this.color(this.paint({ place, narrow: true }, y));
        pen.fillRect(x * stretch, y * this.row, Math.max(1, stretch), this.row - 1);
      }
    }
  }

  drawCell(pen, cell, y, stretch) {
    const top = y * this.row;
    const left = cell.left * stretch, wide = cell.width * stretch, seen = wide > 3 ? wide - 1 : Math.max(wide * 0.75, 0.6);
    const isHand = this.hand?.idx === cell.label, isWay = this.way.has(cell.label) || this.isBelow(cell);
    const tone = this.paint ? this.paint(cell, y) : this.marked ? this.tone(cell) : isHand ? "here" : isWay ? "way" : "cell";
    pen.fillStyle = this.color(tone);
    pen.fillRect(left, top, tone === "cell" ? seen : Math.max(seen, LEAST_MARK), this.row - 1);
    if (this.over === cell) { pen.strokeStyle = this.color("ink"); pen.lineWidth = 1; pen.strokeRect(left + 0.5, top + 0.5, Math.max(1, seen - 1), this.row - 2); }
    const name = this.drawing.names[cell.label];
    const indent = this.points[y].has(cell.label) ? 20 : 6;
    if (name && wide >= LEAST_NAME) this.write(pen, name, left + indent, top, wide - indent - 6, isHand || cell.depth === this.drawing.rows[0].depth, STRONG.has(tone) ? "on" : "ink");
  }

  /** Return the cell of a label; there is one even if it is too narrow for the service to send. */
  placed(label) {
    const { rows, n_labels: n, width } = this.drawing;
    const { first } = this.drawing;
    if (!label || label.idx < first || label.idx >= first + n || label.depth >= rows[0].depth + rows.length) return undefined;
    const sent = this.cells[label.depth - rows[0].depth]?.find(cell => cell.label === label.idx);
    return sent ?? { label: label.idx, depth: label.depth, left: (label.idx - first) * width / n, width: width / n };
  }

  /** Whether a cell is in the branch of the label in hand. */
  isBelow(cell) {
    const hand = this.handCell;
    return hand !== undefined && cell.depth > hand.depth && cell.left >= hand.left - 0.05 && cell.left + cell.width <= hand.left + hand.width + 0.15;
  }

  labelsIn(cell) { return Math.max(1, Math.round(cell.width * this.drawing.n_labels / this.drawing.width)); }

  /** Return the color of a cell whose branch has marked labels: hue is the state, strength is the share. */
  tone(cell) {
    const { OBSERVES = 0, REACHES = 0, ADDS = 0, INCLUDES = 0, PICKS = 0 } = cell.marked, size = this.labelsIn(cell);
    if (OBSERVES && size === 1) return "obs";
    if (ADDS > REACHES) return ADDS + REACHES < 0.3 * size ? "p1" : ADDS + REACHES < 0.6 * size ? "p2" : "p3";
    const reached = Math.min(1, (REACHES + ADDS) / size), planned = Math.min(1, (INCLUDES + PICKS) / size);
    if (reached) return reached < 0.1 ? "t1" : reached < 0.3 ? "t2" : reached < 0.6 ? "t3" : reached < 1 ? "t4" : "t5";
    return planned ? (planned < 0.3 ? "p1" : planned < 0.6 ? "p2" : "p3") : "cell";
  }

  /** A label that a result names never vanishes: it is a line at least 3 pixels wide, with a diamond where there is room. */
  drawPoint(pen, relation, [, from, width], top, stretch, last) {
    const left = from * stretch, wide = width * stretch, color = this.color(POINTS[relation]);
    if (wide < LEAST_POINT) {
      pen.fillStyle = color;
      pen.fillRect(left, top, LEAST_POINT, this.row - 1);
    }
    const middle = left + (wide > BESIDE ? 11 : Math.max(wide, LEAST_POINT) / 2), x = Math.max(6, Math.min(this.stage.clientWidth - 6, middle));
    if (x < last + APART) return last;
    this.drawDiamond(pen, x, top + this.row / 2, color, relation === "OBSERVES", relation === "ANSWERS");
    return x;
  }

  drawDiamond(pen, x, y, color, filled, framed) {
    pen.beginPath();
    pen.moveTo(x, y - 6);
    pen.lineTo(x + 6, y);
    pen.lineTo(x, y + 6);
    pen.lineTo(x - 6, y);
    pen.closePath();
    pen.fillStyle = filled ? color : this.color("card");
    if (framed) { pen.lineWidth = 5; pen.strokeStyle = this.color("card"); pen.stroke(); } else pen.fill();
    pen.strokeStyle = filled ? this.color("card") : color;
    pen.lineWidth = filled ? 1 : 2;
    pen.stroke();
  }

  write(pen, name, x, top, room, strong, ink) {
    pen.font = `${strong ? 600 : 400} 12px system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif`;
    pen.textBaseline = "middle";
    pen.fillStyle = this.color(ink);
    let text = name.slice(0, 200);
    if (pen.measureText(text).width > room) {
      let n = Math.min(text.length, Math.floor(room / 5));
      while (n >= LETTERS && pen.measureText(`${text.slice(0, n)}…`).width > room) n--;
      if (n < LETTERS) return;
      text = `${text.slice(0, n)}…`;
    }
    pen.fillText(text, x, top + this.row / 2);
  }

  /** The label in hand never vanishes: it is framed, at least 3 pixels wide, and named above itself if narrow. */
  drawHand(pen, stretch, width) {
    const cell = this.handCell;
    if (!cell) return;
    const y = cell.depth - this.drawing.rows[0].depth, wide = Math.max(3, cell.width * stretch - 1), left = Math.min(cell.left * stretch, width - wide);
    pen.strokeStyle = this.color("ink");
    pen.lineWidth = 2;
    pen.strokeRect(left + 1, y * this.row + 1, Math.max(1, wide - 2), this.row - 3);
    const { name } = this.hand;
    if (!name || cell.width * stretch >= LEAST_NAME + 20 || y === 0) return;
    pen.font = "600 12px system-ui, sans-serif";
    const text = name.slice(0, 30), long = pen.measureText(text).width + 8, x = Math.max(0, Math.min(width - long, left + wide / 2 - long / 2));
    pen.fillStyle = this.color("ink");
    pen.fillRect(x, y * this.row - 18, long, 17);
    pen.fillStyle = this.color("card");
    pen.fillText(text, x + 4, y * this.row - 9);
  }

  // ---- pointer and keyboard -----------------------------------------------------------------------

  /** Return the cell at a place, {row, place} for branches too narrow to draw, or null. */
  at(x, y) {
    const row = Math.floor(y / this.row), place = x * this.drawing.width / this.stage.clientWidth;
    const near = (this.cells[row] ?? []).find(cell => place >= cell.left && place < cell.left + Math.max(cell.width, 1));
    if (near) return near;
    return this.drawing.rows[row]?.crowded.some(([first, n]) => place >= first && place < first + n) ? { row, place } : null;
  }

  /** Return the item of the label at a place where branches are too narrow to draw. */
  crowded({ row, place }) {
    const { first, n_labels: n, width, rows } = this.drawing;
    return this.item(first + Math.min(n - 1, Math.floor(place * n / width)), rows[row].depth);
  }

  itemAt(cell) { return cell.label === undefined ? this.crowded(cell) : this.item(cell.label); }

  hovered(event) {
    if (!this.drawing) return;
    const cell = this.at(event.offsetX, event.offsetY), before = this.over;
    this.over = cell;
    if (this.over !== before && (before?.label ?? cell?.label) !== undefined) this.draw();
    if (!cell) { this.tip.hidden = true; return; }
    if (cell.label !== undefined) this.describe(cell);
    else { this.tip.replaceChildren(words.crowded); this.named(cell); }
    this.tip.hidden = false;
    this.placeTip(event);
  }

  placeTip(event) {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const x = Math.min(event.offsetX + 12, width - this.tip.offsetWidth), y = event.offsetY + 16 + this.tip.offsetHeight > height ? event.offsetY - this.tip.offsetHeight - 8 : event.offsetY + 16;
    this.tip.style.transform = `translate(${Math.max(0, x)}px, ${Math.max(0, y)}px)`;
  }

  /** Say which label is under the pointer where branches are too narrow to draw. */
  async nameCrowd(cell) {
    if (this.over !== cell) return;
    const item = await this.crowded(cell).catch(() => null); // there may be none so far to the right
    if (item && this.over === cell) this.tip.replaceChildren(make("b", {}, make("bdi", {}, item.name.slice(0, 200))), words.crowded);
  }

  /** Fill the tip; a cell too narrow for a name asks the service for the name of its label. */
  describe(cell) {
    const size = this.labelsIn(cell), marked = Object.entries(cell.marked).filter(([name, n]) => n && words.count[name]);
    const known = this.drawing.names[cell.label] ?? this.keys.get(cell.label)?.name ?? words.waiting;
    this.tip.replaceChildren(make("b", {}, make("bdi", {}, known.slice(0, 200))), words.labels(size), ...(this.told(cell, cell.depth - this.drawing.rows[0].depth) || []).map(text => make("div", {}, text)), ...marked.map(([name, n]) => make("div", {}, `${n.toLocaleString("en")} ${words.count[name]}`)));
    if (known === words.waiting) this.item(cell.label).then(() => { if (this.over === cell) this.describe(cell); }).catch(error => tell(error.message));
  }

  leave() { this.over = null; this.tip.hidden = true; this.draw(); }

  /** Return the item of a label by its index, or of the label of a depth at the place of that label. */
  async item(idx, depth) {
    const name = depth === undefined ? idx : `${idx} ${depth}`;
    if (!this.keys.has(name)) this.keys.set(name, await ask("item", { idx, depth }));
    return this.keys.get(name);
  }

  async clicked(event) {
    const cell = this.drawing && this.at(event.offsetX, event.offsetY);
    if (cell) await this.enter(cell).catch(error => tell(error.message));
  }

  /** Take a label and zoom to it; on the label on top, zoom out. */
  async enter(cell) {
    const item = await this.itemAt(cell);
    this.take(item.key, "click");
    if (!this.zooms) return;
    if (item.key === this.drawing.focus?.key) this.zoomOut();
    else if (!item.leaf) this.zoomTo(item.key);
  }

  /** Zoom to a branch; the two clicks before undid each other. */
  async doubleClicked(event) {
    const cell = this.drawing && this.at(event.offsetX, event.offsetY), item = cell && await this.itemAt(cell).catch(() => null);
    if (item?.key === this.drawing.focus?.key) this.zoomOut();
    else if (item && !item.leaf) this.zoomTo(item.key);
  }

  async wheel(event) {
    event.preventDefault();
    if (!this.drawing || event.timeStamp - this.wheeled < WHEEL) return;
    this.wheeled = event.timeStamp;
    if (event.deltaY > 0) { this.zoomOut(); return; }
    const cell = this.at(event.offsetX, this.row * 1.5); // one level nearer to the pointer
    if (!cell || !this.at(event.offsetX, event.offsetY)) return;
    const item = await this.itemAt(cell).catch(() => null);
    if (item && !item.leaf) this.zoomTo(item.key);
  }

  /** Return the cell of the label in hand, or the first one. */
  current() {
    return this.handCell ?? this.cells[0]?.[0];
  }

  async pressed(event) {
    if (!this.drawing || event.ctrlKey || event.metaKey || event.altKey) return;
    const cell = this.current(), top = this.drawing.rows[0].depth;
    if (!cell) return;
    const row = this.cells[cell.depth - top], place = row.indexOf(cell);
    const middle = cell.left + cell.width / 2;
    const inside = (other, one) => other && one.left <= other.left + 0.05 && one.left + one.width >= other.left - 0.05;
    let next = null;
    if (event.key === "ArrowRight") next = place < 0 ? null : row[place + 1];
    else if (event.key === "ArrowLeft") next = place < 0 ? null : row[place - 1];
    else if (event.key === "ArrowUp") next = (this.cells[cell.depth - top - 1] ?? []).find(one => inside(cell, one) && one.left + one.width > middle - 0.05);
    else if (event.key === "ArrowDown") next = (this.cells[cell.depth - top + 1] ?? []).find(one => one.left >= cell.left - 0.05 && one.left < cell.left + cell.width);
    else if (event.key === "Enter") { event.preventDefault(); await this.enter(cell); return; }
    else if (event.key === "Escape") { event.preventDefault(); this.zoomOut(); return; }
    else return;
    event.preventDefault();
    if (next) this.take((await this.item(next.label)).key, "key");
  }
}

/** Return the counts of one cell: relation -> number of marked labels in its branch. */
const counts = (marked, i) => Object.fromEntries(Object.entries(marked ?? {}).map(([name, values]) => [name, values[i]]));
