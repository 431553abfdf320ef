import type { Response } from 'express';
import { hashOf, LOGO_PATH, type Brand } from './brand.js';
import { html, Html } from './html.js';
import { style } from './style.js';

// Not part of the template below: the policy has the hash of the style, so no space may be added.
const styleElement = (text: string): Html => new Html(`<style>${text}</style>`);
const STYLE = styleElement(style);
const PERSON = html`<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
  <circle cx="12" cy="8.2" r="3.7" />
  <path d="M4.8 20c.9-3.6 3.7-5.4 7.2-5.4s6.3 1.8 7.2 5.4" />
</svg>`;

interface PageFacts {
  readonly title: string;
  /** Name at its top, unless the operator has set one. */
  readonly brand: string;
  /** Its tag. */
  readonly language?: string;
  /** CSS of this page alone. */
  readonly style?: string;
}

/** A page without the brand of the service, which is known when it is sent. */
export class Page {
  constructor(
    readonly facts: PageFacts,
    private readonly content: Html,
  ) {}

  render(look: Brand | undefined): string {
    const { title, brand, language = 'en', style: own } = this.facts;
    const name = look?.name ?? brand;
    const logo = look?.hasLogo
      ? html`<img class="logo" src="${LOGO_PATH}" alt="" />`
      : html`<span class="mark">${PERSON}</span>`;
    return html`<!doctype html>
      <html lang="${language}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <meta name="robots" content="noindex" />
          <title>${title}</title>
          <link rel="icon" href="data:," />
          ${look ? styleElement(look.style) : STYLE}${own && styleElement(own)}
        </head>
        <body>
          <main>
            <p class="brand">${logo}${name}</p>
            ${this.content}
          </main>
        </body>
      </html> `.text;
  }
}

/** Makes a page. */
export function layout(facts: PageFacts, content: Html): Page {
  return new Page(facts, content);
}

/** Host, or the name of an app's private scheme, for people to recognize. */
export function destinationOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : protocol.slice(0, -1);
}

const STYLE_HASH = hashOf(style);

/** Allows the styles by their hashes; no scripts, and nothing from other origins. */
function policyOf(look: Brand | undefined, own: string | undefined): readonly string[] {
  const styles = [look?.styleHash ?? STYLE_HASH, ...(own === undefined ? [] : [hashOf(own)])];
  return [
    "default-src 'none'",
    `style-src ${styles.join(' ')}`,
    look?.hasLogo ? "img-src 'self' data:" : 'img-src data:',
    "base-uri 'none'",
  ];
}

/** Sets a page's headers; returns its text. @param more without `frame-ancestors`, any site may frame it */
export function renderPage(response: Response, page: Page, ...more: readonly string[]): string {
  const { brand } = response.app.locals as { readonly brand?: Brand };
  response.setHeader('Content-Security-Policy', [...policyOf(brand, page.facts.style), ...more].join('; '));
  response.setHeader('Content-Type', 'text/html; charset=utf-8'); // spec §4.5.1, 5
  return page.render(brand);
}
