// Small helpers for elements, texts and addresses.
export const find = id => document.getElementById(id);
export const thousands = n => n.toLocaleString("en");

/** Make an element; entries that begin with "on" are listeners, null and false are left out. */
export function make(tag, entries = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(entries)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter(child => child !== null && child !== false && child !== undefined));
  return element;
}

/** Say something to screen readers. */
export const tell = text => { find("live").textContent = text; };

/** Call a function once no further call has come for some milliseconds. */
export function settled(action, wait) {
  let timer = 0;
  return (...values) => { clearTimeout(timer); timer = setTimeout(() => action(...values), wait); };
}

/** Call a function at most once in a frame. */
export function framed(action) {
  let asked = false;
  return () => { if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; action(); }); } };
}
