// A short message at the bottom of the page about what has just happened.
const element = document.getElementById('notice');
let timer;

/** @param {string} text @param {'good' | 'bad'} [kind] */
export function notice(text, kind = 'good') {
  clearTimeout(timer);
  element.className = `notice toast ${kind}`;
  element.textContent = text;
  element.hidden = false;
  timer = setTimeout(() => (element.hidden = true), 6000);
}

/** Errors that the page itself, or the client's dialog, shows in its own way. */
const SHOWN_ELSEWHERE = ['signed_out', 'invalid_token', 'cancelled'];

/** What went wrong, in a sentence. */
export function explain(error) {
  if (SHOWN_ELSEWHERE.includes(error.code)) return;
  const text = error.code === 'network' ? 'Latchkey cannot be reached.' : error.message;
  notice(text.charAt(0).toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? '' : '.'), 'bad');
}
