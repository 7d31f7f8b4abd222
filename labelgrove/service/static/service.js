// Addresses of pages and routes about the version that the page shows, and requests to them.
const { ontology, version, state, pinned, marks } = document.body.dataset;
export { pinned };

function address(path, query) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined) given.set(name, value);
  return given.size ? `${path}?${given}` : path;
}

/** Return the address of a page about an ontology; "" is BROWSE. */
export const page = (name, query, of = ontology) =>
  address(`/o/${encodeURIComponent(of)}${name && "/" + name}`, { ...query, version: pinned ?? null, marks: marks ?? null });

/** The id of the job whose result is marked on the map, or null. */
export const marking = marks ?? null;

/** Return the document that a route about the version answers; it can be kept, as the version cannot change. */
export const ask = (route, query, signal) => fetched(address(`/v1/ontologies/${encodeURIComponent(ontology)}/${route}`, { ...query, version, state }), { signal });

/** The version of the page, as parameters of jobs name it. */
export const subject = `${ontology}@${version}`;

/** Send a document to a route about the version, or to a path, and return what it answers. */
export const post = (route, query, body, signal) => fetched(
  route.startsWith("/") ? route : address(`/v1/ontologies/${encodeURIComponent(ontology)}/${route}`, { ...query, version }),
  { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });

/** Return the labels that the beginning of a text may mean: in the ontology of the page, or else in every one. */
export async function suggest(q, limit, signal) {
  if (ontology !== undefined) return ask("suggest", { q, limit }, signal);
  const found = await fetched(address("/v1/search", { q, limit }), { signal }), best = ["key", "exact", "prefix", "words", "part"];
  const items = found.items.flatMap(one => one.items.map(hit => ({ ...hit, ontology: one.ontology })));
  items.sort((a, b) => best.indexOf(a.match) - best.indexOf(b.match));
  return { items: items.slice(0, limit), total: found.total };
}

/** Return the document that a path answers, or tell why it was refused. */
export async function fetched(url, options) {
  const response = await fetch(url, options);
  const document = await response.json();
  if (!response.ok) throw new Error(document.detail);
  return document;
}

/** Send a body of some type to a path, and return the document that it answers. */
export const send = (path, query, body, type, signal) => fetched(address(path, query), { signal, method: "POST", body, headers: { "Content-Type": type } });

/** Return the nodes of a part of a page. */
export async function fragment(url, options) {
  const response = await fetch(url, options);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

/** Return a function that runs its action with a signal; a newer call aborts the one before it. */
export function newest(action) {
  let running = null;
  return async (...values) => {
    running?.abort();
    const mine = (running = new AbortController());
    try {
      return await action(mine.signal, ...values);
    } catch (error) {
      if (mine.signal.aborted) return undefined;
      throw error;
    }
  };
}
