import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import MarkdownIt from 'markdown-it';
import { document, httpPages, operationsOf, operationText, type Part } from './http-reference.js';
import { ROOT } from './places.js';

// Writes docs/openapi.html, the page at `/docs` of the service, from docs/openapi.json; with `--check`, only compares. The page is
// plain HTML: it needs no script, and is read by keyboard, screen reader and search of the browser.

const markdown = new MarkdownIt();
/** The service sends no other documents. */
const withoutLinks = (text: string): string => text.replaceAll(/\[(`[^`]+`)\]\([^)]*\)/g, '$1');
const toHtml = (text: string): string => markdown.render(withoutLinks(text));
const escape = (text: string): string => markdown.utils.escapeHtml(text);

const sections = httpPages().map(({ name, description }) => ({
  name,
  description,
  operations: operationsOf(name),
}));
const link = ({ operationId, method, path }: Part): string =>
  `<li><a href="#${operationId}"><b>${method.toUpperCase()}</b> ${escape(path)}</a></li>`;
const article = (one: Part): string =>
  `<article id="${one['operationId']}"><h3>${escape(one['summary'])}</h3>\n${toHtml(operationText(one))}</article>`;

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Latchkey: HTTP interface</title>
    <link rel="icon" href="data:," />
    <style>${readFileSync(new URL('http-page.css', import.meta.url), 'utf8')}</style>
  </head>
  <body>
    <header>
      <p class="back"><a href="./">Back to the start page</a></p>
      <h1>Latchkey: HTTP interface</h1>
      <p>Version ${document['info'].version}. For tools: <a href="/docs/openapi.json">OpenAPI 3.1</a>.</p>
    </header>
    <nav aria-label="Operations">
${sections.map(({ name, operations }) => `<h2>${name}</h2><ul>${operations.map(link).join('')}</ul>`).join('\n')}
    </nav>
    <main>
${toHtml(document['info'].description)}
${sections.map((one) => `<section><h2>${one.name}</h2>\n<p>${escape(one.description)}</p>\n${one.operations.map(article).join('\n')}</section>`).join('\n')}
    </main>
  </body>
</html>
`;

const file = join(ROOT, 'docs/openapi.html');
if (!process.argv.includes('--check')) writeFileSync(file, page);
else if (readFileSync(file, 'utf8') !== page) {
  process.stderr.write('docs/openapi.html does not match the code: run `npm run docs:api`\n');
  process.exitCode = 1;
}
