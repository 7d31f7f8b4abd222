// Addresses of pages and routes about the version that the page shows, and requests to them.
const { ontology, version, state, pinned, marks } = document.body.dataset;

function address(path, query) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined) given.set(name, value);
  return given.size ? `${path}?${given}` : path;
}

/** Return the address of a page about the ontology; "" is BROWSE. */
export const page = (name, query) =>
  address(`/o/${encodeURIComponent(ontology)}${name && "/" + name}`, { ...query, version: pinned ?? null, marks: marks ?? null });

/** The id of the job whose result is marked on the map, or null. */
export const marking = marks ?? null;

/** Return the document that a route about the version answers; it can be kept, as the version cannot change. */
export async function ask(route, query, signal) {
  const url = address(`/v1/ontologies/${encodeURIComponent(ontology)}/${route}`, { ...query, version, state });
  const response = await fetch(url, { signal });
  const document = await response.json();
  if (!response.ok) throw new Error(document.detail);
  return document;
}

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
