// The list of spec §1's six steps; each lights up when it really happens.

const items = [...document.querySelectorAll('#steps > li')];
const status = document.getElementById('status');

/**
 * @param {number} number 1 to 6
 * @param {'active' | 'done' | 'failed'} state
 * @param {string} [summary] what happened, in one line
 */
export function mark(number, state, summary) {
  const item = items[number - 1];
  item.dataset.state = state;
  if (state === 'active') item.setAttribute('aria-current', 'step');
  else item.removeAttribute('aria-current');
  if (summary !== undefined) item.querySelector('.request').textContent = summary;
  const title = item.querySelector('h3').textContent;
  status.textContent = `Step ${number}, ${title}: ${{ active: 'in progress', done: 'done', failed: 'failed' }[state]}`;
}

/** The step that is going on fails. */
export function fail(summary) {
  const number = items.findIndex((item) => item.dataset.state === 'active') + 1;
  if (number > 0) mark(number, 'failed', summary);
}

/** Back to before the first step. */
export function reset() {
  for (const item of items) {
    delete item.dataset.state;
    item.removeAttribute('aria-current');
    item.querySelector('.request').textContent = '';
  }
}
