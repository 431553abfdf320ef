// The picture of the flow (spec §1). Its steps light up as the client really takes them, and makes its requests.

const items = [...document.querySelectorAll('#steps > li')];
const status = document.getElementById('status');
const [ASK, VISIT, RETURN, EXCHANGE, KEEP, CHANNEL, REFRESH] = items.keys();

/** Which step of the picture begins with each step of the client. */
const BEGINS = { authorize: ASK, provider: VISIT, callback: RETURN, exchange: EXCHANGE };
/** Which request belongs to which step. */
const REQUESTS = { '/oauth2/authorize': ASK, '/oauth2/token': EXCHANGE, '/oauth2/refresh': REFRESH };

/** A sign-in has reached its next step. @param {import('../packages/client/src/index.js').SignInStep} step */
export function showProgress(step) {
  if (step === 'failed') return mark(current(), 'failed');
  if (step === 'authorize') reset();
  const next = BEGINS[step] ?? KEEP;
  for (const index of [ASK, VISIT, RETURN, EXCHANGE].filter((earlier) => earlier < next)) mark(index, 'done');
  mark(next, step === 'signed-in' ? 'done' : 'active');
}

/** The client has called the service. @param {import('../packages/client/src/index.js').ServiceCall} call */
export function showRequest({ path, status: answer, duration }) {
  const step = REQUESTS[path];
  if (step === undefined) return;
  const fact = answer ? `${answer}, ${Math.round(duration)} ms` : 'no answer';
  mark(step, answer < 400 ? 'done' : 'failed', fact);
}

/** There is a session already: from an earlier visit, or from another tab. */
export function showKept() {
  if (!items[KEEP].dataset.state) mark(KEEP, 'done');
}

/** @param {'active' | 'done' | 'failed'} state of the channel @param {string} [fact] */
export function showChannel(state, fact) {
  mark(CHANNEL, state, fact);
}

/** Back to the state before the first step. */
export function reset() {
  for (const item of items) {
    delete item.dataset.state;
    item.removeAttribute('aria-current');
    item.querySelector('.fact').textContent = '';
  }
}

function current() {
  return items.findIndex((item) => item.dataset.state === 'active');
}

function mark(index, state, fact) {
  const item = items[index];
  if (!item || (item.dataset.state === state && fact === undefined)) return;
  item.dataset.state = state;
  if (state === 'active') item.setAttribute('aria-current', 'step');
  else item.removeAttribute('aria-current');
  if (fact !== undefined) item.querySelector('.fact').textContent = fact;
  const title = item.querySelector('h3').textContent;
  status.textContent = `${title}: ${{ active: 'in progress', done: 'done', failed: 'failed' }[state]}`;
}
