import { hash } from 'node:crypto';
import type { Response } from 'express';
import { ERROR_STATUS } from '../../../platform/errors/oauth-error.js';
import { OAuthErrorFilter } from '../../../platform/http/errors/oauth-error.filter.js';
import { html, Html } from '../../../platform/http/page/html.js';
import { layout as makePage, renderPage, type Page } from '../../../platform/http/page/layout.js';
import { formScript, frameScript } from './scripts.js';
import { style } from './style.js';

const NAME = 'Sample identity provider';
const SCRIPTS = [formScript, frameScript];
const hashes = SCRIPTS.map((script) => `'sha256-${hash('sha256', script, 'base64')}'`);
// The policy has their hashes, so not even a space may be added.
const scriptElements = SCRIPTS.map((script) => new Html(`<script>${script}</script>`));

export function layout(title: string, content: Html): Page {
  return makePage({ title: `${title}: ${NAME}`, brand: NAME, style }, html`${content}${scriptElements}`);
}

/**
 * Sends a page that any site may frame (spec §4.5.1). A policy with `form-action` would block the redirect
 * after the form.
 */
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

/**
 * Page for a request that must not be redirected (RFC 6749 §4.1.2.1).
 * @param reason fixed text, for developers
 */
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
