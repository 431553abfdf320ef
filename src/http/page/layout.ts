import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { html, Html } from './html.js';
import { style } from './style.js';

// Not part of the template below: the policy has the hash of the style, so no space may be added.
const STYLE = new Html(`<style>${style}</style>`);
const PERSON = html`<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
  <circle cx="12" cy="8.2" r="3.7" />
  <path d="M4.8 20c.9-3.6 3.7-5.4 7.2-5.4s6.3 1.8 7.2 5.4" />
</svg>`;

/** Makes a page. @param brand the name at its top @param language its tag, English by default */
export function layout(
  {
    title,
    brand,
    language = 'en',
  }: { readonly title: string; readonly brand: string; readonly language?: string },
  content: Html,
): Html {
  return html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        ${STYLE}
      </head>
      <body>
        <main>
          <p class="brand"><span class="mark">${PERSON}</span>${brand}</p>
          ${content}
        </main>
      </body>
    </html> `;
}

/** Host, or the name of an app's private scheme, for people to recognize. */
export function destinationOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : protocol.slice(0, -1);
}

/** Allows the style by its hash; no scripts, and nothing from other origins. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
];

/**
 * Sets the headers of a page.
 * @param more directives: without `frame-ancestors`, any site may frame the page
 */
export function setPageHeaders(response: Response, ...more: readonly string[]): void {
  response.setHeader('Content-Security-Policy', [...POLICY, ...more].join('; '));
  response.setHeader('Content-Type', 'text/html; charset=utf-8'); // spec §4.5.1, 5
}
