// Forms whose answer is shown on the same page: the part of the answer with the same id takes its place.
import { find, make, tell } from "./dom.js";
import { addCopyButtons } from "./page.js";
import { fragment } from "./service.js";
import { words } from "./words.js";

for (const form of document.querySelectorAll("form[data-swap]")) {
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const place = find(form.dataset.swap), buttons = form.querySelectorAll("button");
    const multipart = form.getAttribute("enctype") === "multipart/form-data", sent = new FormData(form, event.submitter);
    buttons.forEach(button => { button.disabled = true; });
    place.setAttribute("aria-busy", "true");
    tell(words.sending);
    try {
      const answered = await fragment(form.getAttribute("action"), { method: "POST", body: multipart ? sent : new URLSearchParams(sent) });
      const found = answered.getElementById(place.id) ?? answered.querySelector(".problem");
      place.replaceChildren(...(found.id === place.id ? found.childNodes : [found]));
      addCopyButtons(place);
      tell(place.querySelector("h2, p")?.textContent ?? "");
    } catch {
      place.replaceChildren(make("p", { class: "problem", role: "alert" }, words.failed));
    } finally {
      place.removeAttribute("aria-busy");
      buttons.forEach(button => { button.disabled = false; });
    }
  });
}

for (const form of document.querySelectorAll("form[data-reload]")) { // another choice is another form
  form.addEventListener("change", () => {
    form.elements.ontology.value = document.querySelector("[name='p.ontology']").value;
    form.requestSubmit();
  });
}

for (const area of document.querySelectorAll("[data-drop]")) {
  const input = area.querySelector("input[type=file]");
  area.addEventListener("dragover", event => { event.preventDefault(); area.classList.add("over"); });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", event => {
    event.preventDefault();
    area.classList.remove("over");
    if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
  });
}
