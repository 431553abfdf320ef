// The picture of the flow (spec §1). Its steps light up as the client really takes them, and makes its requests.
import { quiet, say, sayNow } from './caption.js';
import { provider } from './client.js';

const items = [...document.querySelectorAll('#steps > li')];
const [ASK, VISIT, RETURN, EXCHANGE, KEEP, CHANNEL, REFRESH] = items.keys();

/** Which step of the picture begins with each step of the client. */
const BEGINS = { authorize: ASK, provider: VISIT, callback: RETURN, exchange: EXCHANGE };
/** Which request belongs to which step. */
const REQUESTS = { '/oauth2/authorize': ASK, '/oauth2/token': EXCHANGE, '/oauth2/refresh': REFRESH };

const SENTENCES = {
  [ASK]:
    'The page asks Latchkey where to send you, and gets the address of the provider and a state that counts once.',
  [VISIT]:
    provider === 'mock'
      ? 'Next is the page of the sample provider, which Latchkey serves for trials. Of your own provider it sees no password.'
      : 'Next is the provider’s page. What you type there is seen by nobody else, not even by Latchkey.',
  [RETURN]:
    'The provider has sent you back with a code. The page checks that the state is the one it was given.',
  [EXCHANGE]: 'The page hands the code to Latchkey, which redeems it at the provider and learns who you are.',
  [KEEP]:
    'Two tokens stay in this browser: one that comes with each request, and one that renews it when it ends.',
  [CHANNEL]: 'The channel is open: what happens on one device reaches all the others through it.',
  [REFRESH]: 'There is a new access token, before the old one has ended. You did not have to do anything.',
};

/** A sign-in has reached its next step. @param {import('../packages/client/src/index.js').SignInStep} step */
export function showProgress(step) {
  document.body.classList.toggle('signing-in', step !== 'signed-in');
  if (step === 'failed') {
    sayNow('This step has failed. Nothing was kept; the dialog says what can be done.', items[current()]);
    return mark(current(), 'failed');
  }
  if (step === 'authorize') reset();
  const next = BEGINS[step] ?? KEEP;
  for (const index of [ASK, VISIT, RETURN, EXCHANGE].filter((earlier) => earlier < next)) mark(index, 'done');
  mark(next, step === 'signed-in' ? 'done' : 'active');
  if (step === 'authorize') document.body.classList.add('signing-in');
  say(SENTENCES[next], items[next]);
}

/** The client has called the service. @param {import('../packages/client/src/index.js').ServiceCall} call */
export function showRequest({ path, status: answer, duration }) {
  const step = REQUESTS[path];
  if (step === undefined) return;
  const fact = answer ? `${answer}, ${Math.round(duration)} ms` : 'no answer';
  mark(step, answer < 400 ? 'done' : 'failed', fact);
  if (step === REFRESH && answer < 400) say(SENTENCES[REFRESH], items[REFRESH]);
}

/** There is a session already: from an earlier visit, or from another tab. */
export function showKept() {
  if (items.some((item) => item.dataset.state)) return; // it begins at this moment
  mark(KEEP, 'done');
  say('You were signed in already: the tokens were kept in this browser.', items[KEEP]);
}

/** @param {'active' | 'done' | 'failed'} state of the channel @param {string} [fact] */
export function showChannel(state, fact) {
  if (state === 'done' && items[CHANNEL].dataset.state !== 'done') say(SENTENCES[CHANNEL], items[CHANNEL]);
  mark(CHANNEL, state, fact);
}

/** Back to the state before the first step. */
export function reset() {
  document.body.classList.remove('signing-in');
  quiet();
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
}

quiet();
