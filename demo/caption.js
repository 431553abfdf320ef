// One sentence about the step that the flow is at. The steps take milliseconds, so the sentences wait for each other.
const element = document.getElementById('caption');

/** Milliseconds in which one can be read. */
const READING = 1800;
const IDLE = 'Press “Sign in”, and each step lights up here as your browser takes it.';
const DONE = 'That was all. Requests that the page makes from now on show below.';
let waiting = [];
let timer;

/** @param {Element} item the step that the sentence is about */
export function say(text, item) {
  waiting.push({ text, item });
  if (!timer) next();
}

/** Forgets what is waiting, and says this at once. */
export function sayNow(text, item) {
  quiet();
  say(text, item);
}

/** The flow is back at its beginning. */
export function quiet() {
  waiting = [];
  clearTimeout(timer);
  timer = undefined;
  show({ text: IDLE });
}

function next() {
  timer = undefined;
  const one = waiting.shift();
  if (!one) return show({ text: DONE });
  show(one);
  if (waiting.length > 0 || one.item?.dataset.state === 'done') timer = setTimeout(next, READING);
}

function show({ text, item }) {
  element.textContent = text;
  document.querySelector('#steps > .now')?.classList.remove('now');
  item?.classList.add('now');
}
