import { createHash } from 'node:crypto';
import type { Response } from 'express';
import type { Html } from './html.js';
import { style } from './style.js';

/**
 * No scripts, nothing from elsewhere, the one style by its hash. Two directives are left out on purpose: without
 * `frame-ancestors` any site may frame the page (spec §4.5.1), and `form-action` would block the redirect after the form.
 */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
].join('; ');

/** Answers with a page that may be framed; all other headers are those of every answer (contract §3). */
export function sendPage(response: Response, status: number, page: Html): void {
  response.status(status);
  response.setHeader('Content-Security-Policy', POLICY);
  response.setHeader('Content-Type', 'text/html; charset=utf-8'); // spec §4.5.1, 5
  response.send(page.text);
}
