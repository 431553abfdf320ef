// The menu of sign-outs. The one that ends every session asks first.
import { latchkey } from './client.js';
import { explain, notice } from './notice.js';

const element = (id) => document.getElementById(id);
const opener = element('leave');
const menu = element('leave-menu');
const confirm = element('confirm');

async function signOut(scope) {
  opener.disabled = true;
  try {
    await latchkey.signOut(scope);
    if (scope === 'others') notice('All other devices are signed out.');
  } catch (error) {
    explain(error);
  } finally {
    opener.disabled = false;
  }
}

for (const button of menu.querySelectorAll('[data-scope]')) {
  button.addEventListener('click', () => {
    menu.hidePopover();
    if (button.dataset.scope === 'all') confirm.showModal();
    else void signOut(button.dataset.scope);
  });
}
element('confirm-no').addEventListener('click', () => confirm.close());
element('confirm-yes').addEventListener('click', () => {
  confirm.close();
  void signOut('all');
});

// A popover is in the top layer, so it has no position relative to its button.
menu.addEventListener('beforetoggle', ({ newState }) => {
  if (newState !== 'open') return;
  const { bottom, right } = opener.getBoundingClientRect();
  menu.style.top = `${bottom + scrollY + 8}px`;
  menu.style.right = `${document.documentElement.clientWidth - right}px`;
});
addEventListener('resize', () => menu.hidePopover());

/** @param {boolean} is whether there is a session */
export function showLeave(is) {
  opener.hidden = !is;
  if (is) return;
  menu.hidePopover();
  confirm.close();
}
