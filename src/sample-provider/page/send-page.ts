import type { Response } from 'express';
import type { Html } from '../../http/page/html.js';
import { setPageHeaders } from '../../http/page/page-headers.js';
import { scriptPolicy } from './scripts.js';

/**
 * Answers with a page that may be framed. Two directives are left out on purpose: without `frame-ancestors` any site may frame
 * the page (spec §4.5.1), and `form-action` would block the redirect after the form.
 */
export function sendPage(response: Response, status: number, page: Html): void {
  setPageHeaders(response, scriptPolicy);
  response.status(status).send(page.text);
}
