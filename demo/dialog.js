// The sign-in dialog: the provider's page in a frame (spec §1, step 2), what is going on, and what went wrong.

const element = (name) => document.getElementById(name);
const dialog = element('dialog');
const body = dialog.querySelector('.dialog-body');
const loading = element('dialog-loading');
const problem = element('dialog-problem');
const foot = dialog.querySelector('.dialog-foot');
let frame;

/** @typedef {{onCallback: (query: object) => void, onRetry: () => void, onClose: () => void}} Handlers */

/** @param {Handlers} handlers what the page does about the dialog's events */
export function connectDialog({ onCallback, onRetry, onClose }) {
  element('dialog-close').addEventListener('click', () => dialog.close());
  element('dialog-retry').addEventListener('click', onRetry);
  dialog.addEventListener('close', () => {
    removeFrame();
    onClose();
  });
  window.addEventListener('message', ({ origin, source, data }) => {
    // Only our own callback page, and only in our own frame; any page may post messages.
    if (origin !== location.origin || !frame || source !== frame.contentWindow) return;
    if (data?.type === 'latchkey-callback') onCallback(data.query);
  });
}

/** Shows that something is going on, e.g. `Loading the provider's page`. */
export function showProgress(text) {
  problem.hidden = true;
  loading.hidden = false;
  element('dialog-progress').textContent = text;
  if (!dialog.open) {
    foot.hidden = true;
    dialog.showModal();
  }
}

/** Shows the provider's page, once it has loaded. */
export function showProvider(url) {
  removeFrame();
  frame = document.createElement('iframe');
  frame.title = "The identity provider's sign-in page";
  frame.addEventListener('load', () => (loading.hidden = true), { once: true });
  frame.src = url;
  body.prepend(frame);
  element('dialog-redirect').href = url;
  foot.hidden = false;
}

/** Shows what went wrong, with a way to try again (spec §1, client-visible failure behaviour). */
export function showProblem(message) {
  showProgress('');
  removeFrame();
  loading.hidden = true;
  foot.hidden = true;
  element('dialog-message').textContent = sentence(message);
  problem.hidden = false;
  element('dialog-retry').focus();
}

/** Whether the user has not closed it. */
export function isDialogOpen() {
  return dialog.open;
}

export function closeDialog() {
  dialog.close();
}

/** Error descriptions begin in lower case and have no full stop. */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? '' : '.');
}

function removeFrame() {
  frame?.remove();
  frame = undefined;
}
