// What every page has: search with suggestions, `/` to get there, and buttons that copy.
import { find, make, tell } from "./dom.js";
import { offerSuggestions } from "./search.js";
import { words } from "./words.js";

async function copy(text, button) {
  let done = true;
  try { await navigator.clipboard.writeText(text); } catch { done = false; }
  button.textContent = done ? words.copied : words.notCopied;
  tell(button.textContent);
  setTimeout(() => { button.textContent = words.copy; }, 1500);
}

/** Put a button beside each text that is to be copied. */
export function addCopyButtons(within) {
  for (const text of within.querySelectorAll("[data-copy]")) {
    const button = make("button", { type: "button", class: "copy" }, words.copy);
    button.addEventListener("click", () => copy(text.textContent, button));
    text.after(button);
  }
}

const box = find("q");
document.addEventListener("keydown", event => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey || !box) return;
  event.preventDefault();
  box.focus();
  box.select();
});
if (box) offerSuggestions(box);
addCopyButtons(document);
