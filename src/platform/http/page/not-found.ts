import type { Request, Response } from 'express';
import type { OAuthError } from '../../errors/oauth-error.js';
import { allowedMethods } from '../server/route-table.js';
import { html } from './html.js';
import { layout, renderPage } from './layout.js';

const PAGE = layout(
  { title: 'There is no page here', brand: 'Sign in' },
  html`<h1>There is no page here</h1>
    <p class="lead">Check the address, or go back to the application that you came from.</p>`,
);

/** Shows a page to a browser at a path that does not exist. @returns whether it has: others get JSON */
export function showNotFound({ error }: OAuthError, request: Request, response: Response): boolean {
  if (error !== 'not_found' || request.accepts(['json', 'html']) !== 'html') return false;
  if (allowedMethods(request).length > 0) return false;
  response.send(renderPage(response, PAGE, "frame-ancestors 'none'"));
  return true;
}
