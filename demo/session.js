// What this tab remembers. sessionStorage ends with the tab, and no other tab or site can read it.

const stored = (name) => ({
  /** @param {object} value */
  put: (value) => sessionStorage.setItem(`latchkey-demo.${name}`, JSON.stringify(value)),
  get: () => JSON.parse(sessionStorage.getItem(`latchkey-demo.${name}`) ?? 'null'),
  drop: () => sessionStorage.removeItem(`latchkey-demo.${name}`),
});

/** The sign-in that has begun: `{state, codeVerifier, redirectUri, summary}`. */
export const pending = stored('pending');

/** The tokens: the fields of spec §4.3 and `received_at`, in milliseconds. */
export const tokens = stored('tokens');

const callback = stored('callback');

/** Keeps the callback's query while the tab moves on to the demo page. */
export const keepCallback = callback.put;

/** The callback's query, once: null when the tab does not come from there. */
export function takeCallback() {
  const query = callback.get();
  callback.drop();
  return query;
}
