import { ERROR_STATUS, type ErrorCode } from '../../src/errors/oauth-error.js';
import { html, Html } from '../../src/http/page/html.js';
import { ERRORS } from '../errors.js';
import type { Document, Operation } from './document.js';
import { inline, markdown } from './markdown.js';
import { operationSection } from './operation.js';
import { style } from './style.js';

interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%233a48d4'/%3E%3Cg fill='none' stroke='%23fff' stroke-width='2.4' stroke-linecap='round' stroke-linejoin='round'%3E%3Ccircle cx='12' cy='12.5' r='4.5'/%3E%3Cpath d='m15.3 15.7 8.2 8.1m-3.4-3.4 2.5-2.5'/%3E%3C/g%3E%3C/svg%3E";

/** The document as a page: one file without scripts, which loads nothing. */
export function pageOf(document: Document): string {
  const { info, servers, tags, components } = document;
  const calls = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Call => ({ method, path, operation })),
  );
  const of = (tag: string): Call[] => calls.filter(({ operation }) => operation.tags.includes(tag));
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${info.title}: HTTP interface</title>
        <link rel="icon" href="${ICON}" />
        <style>
          ${new Html(style)}
        </style>
      </head>
      <body>
        <a class="skip" href="#top">Skip to the text</a>
        <nav aria-label="Calls">
          <p class="name"><a href="#top">${info.title}</a> <span>${info.version}</span></p>
          ${tags.map(
            ({ name }) =>
              html`<h2>${name}</h2>
                <ul>
                  ${of(name).map(
                    ({ method, path, operation }) =>
                      html`<li>
                        <a href="#${operation.operationId}"
                          ><span class="method ${method}">${method.toUpperCase()}</span> ${breakable(path)}</a
                        >
                      </li> `,
                  )}
                </ul> `,
          )}
          <h2>More</h2>
          <ul class="plain">
            <li><a href="#tokens">Tokens and keys</a></li>
            <li><a href="#errors">Errors</a></li>
          </ul>
        </nav>
        <main id="top">
          <h1>${info.title}: HTTP interface</h1>
          <p class="who">
            At <code>${servers[0]!.url}</code>. For programs:
            <a href="/docs/openapi.json">openapi.json</a> (OpenAPI 3.1).
          </p>
          ${markdown(info.description)}
          ${tags.map(
            ({ name, description }) =>
              html`<h2>${name}</h2>
                <p>${inline(description)}</p>
                ${of(name).map(({ method, path, operation }) => operationSection(method, path, operation, document))} `,
          )}
          <h2 id="tokens">Tokens and keys</h2>
          <dl class="members">
            ${Object.entries(components.securitySchemes).map(
              ([name, { description }]) =>
                html`<div>
                  <dt><code>${name}</code></dt>
                  <dd>${inline(description)}</dd>
                </div>`,
            )}
          </dl>
          <h2 id="errors">Errors</h2>
          <dl class="members">
            ${(Object.entries(ERRORS) as [ErrorCode, { when: string }][]).map(
              ([code, { when }]) =>
                html`<div id="error-${code}">
                  <dt><code>${code}</code> <span class="kind">${ERROR_STATUS[code]}</span></dt>
                  <dd>${inline(when)}</dd>
                </div>`,
            )}
          </dl>
        </main>
      </body>
    </html> `;
  return page.text;
}

/** Long paths may break at their slashes. */
function breakable(path: string): Html[] {
  return path.split(/(?=[/{])/).map((part) => html`<wbr />${part}`);
}
