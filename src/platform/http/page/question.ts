import type { Request } from 'express';
import { OAuthError } from '../../errors/oauth-error.js';
import { html, type Html } from './html.js';

const icon = (path: string): Html =>
  html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true"><path d="${path}" /></svg>`;
/** Of the answers. @public */
export const CROSS = icon('M6 6l12 12M18 6L6 18');
/** @public */
export const TICK = icon('M4.5 12.5l5 5 10-11');

/** List of what a person decides on; a value of null is left out. @public */
export function factList(rows: readonly (readonly [name: string, value: string | Html | null])[]): Html {
  return html`<dl class="facts">
    ${rows.flatMap(([name, value]) =>
      value === null
        ? []
        : [
            html`<dt>${name}</dt>
              <dd>${value}</dd>`,
          ],
    )}
  </dl>`;
}

/** CSS of pages with a question. @public */
export const QUESTION_STYLE = `
.facts { display: grid; grid-template-columns: auto 1fr; gap: 6px 16px; margin: 20px 0 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; font-weight: 550; overflow-wrap: anywhere; }
.facts + .lead { margin-top: 16px; font-size: 14px; }
.facts a { display: block; width: fit-content; color: var(--accent); font-size: 14px; font-weight: 400; }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); gap: 12px; }
.answers button {
  display: flex; align-items: center; justify-content: center; gap: 6px; margin: 0; padding: 10px 8px;
  color: var(--ink); background: var(--card); border-color: var(--field);
}
.answers button:hover { background: var(--tint); }
.answers svg { flex: none; }
`;

/**
 * Refuses a form of another site; its cookie, `SameSite=Lax`, does not come with it either.
 * @throws OAuthError `invalid_request`
 * @public
 */
export function requireOwnForm({ headers }: Request, publicUrl: string): void {
  // Without a referrer, `Origin` is "null".
  const { origin = 'null', 'sec-fetch-site': site } = headers;
  const isOwn = ['null', new URL(publicUrl).origin].includes(origin);
  if (isOwn && (site === undefined || site === 'same-origin')) return;
  throw new OAuthError('invalid_request', 'the form is of another site');
}

/** Language of a page, and its texts. @public */
export interface PageLanguage<Texts> {
  readonly tag: string;
  readonly texts: Texts;
}

/** Chooses the language of a page by `Accept-Language`; English if none fits. @public */
export function chooseLanguage<Texts>(
  request: Request,
  languages: Readonly<Record<string, Texts>>,
): PageLanguage<Texts> {
  const tag = request.acceptsLanguages(Object.keys(languages)) || 'en';
  return { tag, texts: languages[tag]! };
}
