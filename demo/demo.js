// The demo: the client flow of spec §1, one function a step.
import { deviceId, deviceName } from './device.js';
import {
  closeDialog,
  connectDialog,
  isDialogOpen,
  showProblem,
  showProgress,
  showProvider,
} from './dialog.js';
import { authorize, exchange, refresh } from './latchkey.js';
import { makePkce } from './pkce.js';
import { pending, takeCallback, tokens } from './session.js';
import { fail, mark, reset } from './steps.js';
import { connectTokenButtons, notice, showTimeLeft, showTokens } from './view.js';

const PROVIDER = new URLSearchParams(location.search).get('provider') ?? 'mock';
const REFRESH_LEAD = 5 * 60; // seconds, spec §8
const signInButton = document.getElementById('sign-in');
const refreshButton = document.getElementById('refresh');

/** Steps 1 and 2: ask for the provider's page, and show it in the dialog. */
async function signIn() {
  try {
    reset();
    showProgress('Asking Latchkey where to go');
    mark(1, 'active');
    const redirectUri = new URL('callback', document.baseURI).href;
    const { codeVerifier, codeChallenge } = await makePkce();
    const { body, summary } = await authorize({ provider: PROVIDER, redirectUri, codeChallenge });
    if (!isDialogOpen()) return; // closed while the answer was on its way
    mark(1, 'done', summary);
    // Before anybody leaves: `Open in this tab instead` comes back through it as well.
    pending.put({ state: body.state, codeVerifier, redirectUri, summary });
    mark(2, 'active', new URL(body.redirect_url).host);
    showProgress("Loading the provider's page");
    showProvider(body.redirect_url);
  } catch (error) {
    explain(error);
  }
}

/** Steps 3 to 5: compare the state, exchange the code, keep the tokens. */
async function finish(query) {
  const begun = pending.get();
  pending.drop(); // good for one attempt
  try {
    mark(2, 'done');
    mark(3, 'active');
    showProgress('Finishing the sign-in');
    if (!begun || query.state !== begun.state)
      throw new Error('The answer does not belong to a sign-in of this tab.');
    if (query.code === undefined)
      throw new Error(query.error_description ?? 'The provider did not let you in.');
    mark(3, 'done', '/callback with code and state');
    mark(4, 'active');
    const { body, summary } = await exchange({
      code: query.code,
      state: query.state,
      redirect_uri: begun.redirectUri,
      code_verifier: begun.codeVerifier,
      device_id: deviceId(),
      device_name: deviceName(),
    });
    mark(4, 'done', summary);
    keep(body);
    mark(5, 'done', 'sessionStorage');
    closeDialog();
    document.getElementById('session-title').focus();
  } catch (error) {
    explain(error);
  }
}

/** Step 6: a new access token; the refresh token stays the same (spec §2.2). */
async function renew() {
  refreshButton.disabled = true;
  mark(6, 'active');
  const held = tokens.get();
  try {
    const { body, summary } = await refresh(held.refresh_token);
    mark(6, 'done', summary);
    keep({ ...held, ...body });
    const same =
      'refresh_token' in body ? 'The refresh token was replaced.' : 'The refresh token stayed the same.';
    notice(`A new access token is here. ${same}`);
  } catch (error) {
    if (error.status === 401) {
      forget(); // spec §1: when a refresh fails, the client asks for a new login
      mark(6, 'failed', error.summary);
      showProblem(`Your session has ended: ${error.message}. Please sign in again.`);
    } else {
      fail(error.summary);
      notice(error.message, 'bad');
    }
  } finally {
    refreshButton.disabled = false;
  }
}

function keep(received) {
  tokens.put({ ...received, received_at: Date.now() });
  showTokens(tokens.get());
  tick();
}

function forget() {
  tokens.drop();
  showTokens(null);
  reset();
  signInButton.focus();
}

function explain(error) {
  fail(error.summary);
  showProblem(error.message);
}

/** Seconds until the access token expires; undefined when there is none. */
function timeLeft() {
  const held = tokens.get();
  return held ? held.expires_in - (Date.now() - held.received_at) / 1000 : undefined;
}

/** Once a second, and when the page comes back to the foreground (spec §1, client-side refresh behaviour). */
function tick() {
  const left = timeLeft();
  if (left === undefined || document.hidden) return;
  showTimeLeft(left);
  const lead = Math.min(REFRESH_LEAD, tokens.get().expires_in / 2); // where tokens live for less than ten minutes
  if (left < lead && !refreshButton.disabled) void renew();
}

signInButton.addEventListener('click', signIn);
refreshButton.addEventListener('click', renew);
document.getElementById('forget').addEventListener('click', forget);
connectTokenButtons();
connectDialog({
  onCallback: finish,
  onRetry: signIn,
  onClose() {
    if (!tokens.get()) reset();
  },
});

showTokens(tokens.get());
const query = takeCallback();
if (query) {
  mark(1, 'done', pending.get()?.summary);
  void finish(query);
} else if (tokens.get()) {
  mark(5, 'done', 'sessionStorage');
}
tick();
setInterval(tick, 1000);
document.addEventListener('visibilitychange', tick);
