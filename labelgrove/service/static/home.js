// HOME: show what the check of the deployment found, once it has ended.
import { find, tell } from "./dom.js";
import { fragment } from "./service.js";

const PAUSE = 1500, MOST = 40; // milliseconds between two looks, and looks

async function look(n) {
  const place = (await fragment(location.href)).getElementById("notes");
  if (place && place.dataset.wait === undefined) find("notes").replaceWith(place);
  else if (n > 1) later(n - 1);
}

function later(n) { setTimeout(() => look(n).catch(error => tell(error.message)), PAUSE); }

later(MOST);
