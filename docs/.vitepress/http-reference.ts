import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { operationBody } from '../../openapi/page/operation.js';
import type { Document } from '../../openapi/page/document.js';
import { GENERATED, ROOT } from './places.js';

const document = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')) as Document;

/** A page for each group of calls in docs/openapi.json. */
export function httpPages(): { name: string; file: string; description: string }[] {
  return document.tags.map(({ name, description }) => {
    const file = `${GENERATED}/http/${name.toLowerCase().replaceAll(/\W+/g, '-')}.md`;
    return { name, file, description };
  });
}

/** The same sections as the page that the service serves at /docs, under headings that the site's search knows. */
export function writeHttpReference(): void {
  for (const { name, file, description } of httpPages()) {
    const calls = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([, { tags }]) => tags.includes(name))
        .map(([method, operation]) => {
          const body = operationBody(method, path, operation, document, '../../errors.html#').text;
          // A blank line would end the HTML, and what follows be Markdown.
          const html = body.replaceAll(/\n(\s*\n)+/g, '\n').replaceAll('h4>', 'h3>'); // a call is an h2 here
          return `## ${operation.summary} {#${operation.operationId}}\n\n<div v-pre class="call">${html}\n</div>\n`;
        }),
    );
    mkdirSync(dirname(join(ROOT, file)), { recursive: true });
    writeFileSync(join(ROOT, file), [`# ${name}\n`, `${description}\n`, ...calls].join('\n'));
  }
}
