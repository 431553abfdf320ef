import { hash } from 'node:crypto';
import type { Response } from 'express';
import { ERROR_STATUS } from '../../../platform/errors/oauth-error.js';
import { OAuthErrorFilter } from '../../../platform/http/errors/oauth-error.filter.js';
import { html, Html } from '../../../platform/http/page/html.js';
import { layout as makePage, renderPage, type Page } from '../../../platform/http/page/layout.js';

const NAME = 'Sample identity provider';
/** Form of the login page. It has no `autofocus`, which Chromium blocks in a frame of another site. */
const formScript = `
(() => {
  const form = document.querySelector('form');
  if (!form) return;

  const login = document.getElementById('login');
  const password = document.getElementById('password');
  const first = login.value ? password : login;
  const focus = () => document.activeElement === document.body && first.focus();
  focus();
  // The page around a frame moves the focus into this page, but to no field.
  if (parent !== window) addEventListener('focus', focus, { once: true });

  const show = document.getElementById('show');
  const reveal = (on) => {
    password.type = on ? 'text' : 'password';
    show.setAttribute('aria-pressed', on);
  };
  show.hidden = false;
  show.addEventListener('click', () => reveal(password.type === 'password'));

  const main = document.getElementById('submit');
  const text = main.textContent;
  let sent = false;
  const mark = (on) => {
    sent = on;
    form.ariaBusy = on;
    main.textContent = on ? 'Signing in…' : text;
    for (const button of form.querySelectorAll('button')) button.disabled = on;
  };
  form.addEventListener('submit', (event) => {
    if (sent) return event.preventDefault();
    sent = true;
    reveal(false); // or else the browser would offer the password as a text that it has seen
    setTimeout(mark, 0, true); // a button that is disabled now would be missing in what is sent
    setTimeout(mark, 10000, false); // loading may have been stopped
  });
  addEventListener('pageshow', ({ persisted }) => persisted && mark(false));
})();
`;

/** Reports Escape and the height of the content to the page around the frame (docs/frontend.md). */
const frameScript = `
(() => {
  const asked = new URLSearchParams(location.search).get('redirect_uri') ?? '';
  if (parent === window || !/^https?:/.test(asked) || !URL.canParse(asked)) return;
  const notify = (message) => parent.postMessage(message, new URL(asked).origin);
  addEventListener('keydown', ({ key, isComposing }) => {
    if (key === 'Escape' && !isComposing) notify({ type: 'latchkey:escape' });
  });

  // The page itself is at least as high as the frame.
  const main = document.querySelector('main');
  const observer = new ResizeObserver(() => {
    const bottom = Math.max(...[...main.children].map((part) => part.getBoundingClientRect().bottom));
    const space = parseFloat(getComputedStyle(main).paddingBottom) + 2 * parseFloat(getComputedStyle(document.body).paddingTop);
    notify({ type: 'latchkey:height', height: Math.ceil(bottom - main.getBoundingClientRect().top + space + 2) });
  });
  for (const part of [main, ...main.children]) observer.observe(part);
})();
`;

const SCRIPTS = [formScript, frameScript];
const hashes = SCRIPTS.map((script) => `'sha256-${hash('sha256', script, 'base64')}'`);
// The policy has their hashes, so not even a space may be added.
const scriptElements = SCRIPTS.map((script) => new Html(`<script>${script}</script>`));

/** Style of the provider's pages, beside that of all pages. */
const STYLE = `
.secret { position: relative; }
.secret input:not([type=hidden]) { padding-right: 48px; }
.show {
  position: absolute; top: 0; right: 0; display: grid; place-items: center; width: 46px; min-height: 0; height: 100%; margin: 0; padding: 0;
  color: var(--soft); background: none;
}
.show:hover { color: var(--accent); background: none; }
.show[aria-pressed=true] { color: var(--accent); }
.show:not([aria-pressed=true]) .slash { display: none; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.demo { margin-top: 20px; padding: 14px 16px; border-radius: 12px; background: var(--tint); font-size: 14px; }
#demo { display: flex; align-items: center; gap: 8px; font-weight: 550; }
.accounts { display: grid; grid-template-columns: repeat(auto-fit, minmax(76px, 1fr)); gap: 8px; margin-top: 10px; }
.accounts button { min-height: 40px; margin: 0; padding: 4px 8px; font-size: 15px; color: var(--accent); background: var(--card); border-color: var(--field); }
.accounts button:hover { color: var(--on-accent); background: var(--accent); }
summary { width: fit-content; margin-top: 10px; color: var(--soft); font-size: 13px; border-radius: 4px; cursor: pointer; }
details p { display: grid; grid-template-columns: 5em 1fr; padding-top: 4px; }
details code { user-select: all; -webkit-user-select: all; }
@media (max-width: 460px) and (max-height: 640px) {
  .demo { margin-top: 14px; }
}
`;

export function layout(title: string, content: Html): Page {
  return makePage(
    { title: `${title}: ${NAME}`, brand: NAME, style: STYLE },
    html`${content}${scriptElements}`,
  );
}

/** Sends a page that any site may frame (spec §4.5.1). `form-action` would block the redirect of the form. */
export function sendPage(response: Response, status: number, page: Page): void {
  const text = renderPage(response, page, `script-src ${hashes.join(' ')}`);
  response.status(status).send(text);
}

const FAILURE_PAGE = layout(
  'Something went wrong',
  html`<h1>Something went wrong</h1>
    <p class="lead">This is our fault, not yours. Please go back and try again in a moment.</p>`,
);

/** Answers every error of the authorization page with a page, never with a redirect. */
export const PAGE_ERROR_FILTER = new OAuthErrorFilter(ERROR_STATUS, (error, _request, response) => {
  const content = error.status < 500 ? invalidRequestPage(error.description) : FAILURE_PAGE;
  sendPage(response, error.status, content);
  return true;
});

/** Page for a request that must not be redirected (RFC 6749 §4.1.2.1). @param reason fixed text */
function invalidRequestPage(reason: string): Page {
  return layout(
    'Sign-in is not possible',
    html`<h1>This link does not work</h1>
      <p class="lead">
        The application that sent you here made a mistake in its request. Please go back to it and try again.
      </p>
      <p class="reason">For its developers: <code>${reason}</code></p>`,
  );
}
