// Keep a page about jobs true: whenever the service tells that they changed, put the new page in place of the old.
import { addCopyButtons } from "./page.js";
import { fragment } from "./service.js";

const live = document.querySelector("[data-live]");
let drawn = null, doing = Promise.resolve();

async function again() {
  const fresh = (await fragment(location.href, { cache: "no-cache" })).querySelector("[data-live]");
  if (fresh === null) throw new Error("the page was not answered");
  live.replaceChildren(...fresh.childNodes);
  addCopyButtons(live);
}

if (live) {
  const events = new EventSource(live.dataset.live);
  events.addEventListener("jobs", event => {
    if (event.lastEventId === drawn) return;
    drawn = event.lastEventId;
    doing = doing.then(again).catch(() => { drawn = null; }); // the next event tries again
  });
  addEventListener("pagehide", () => events.close());
}
