import { html, type Html } from '../../src/http/page/html.js';
import type { Content, Document, Operation, Response } from './document.js';
import { inline, markdown } from './markdown.js';
import { memberList, parameterList } from './members.js';

/** One call: what it takes, what it answers, how it fails. */
export function operationSection(
  method: string,
  path: string,
  operation: Operation,
  document: Document,
): Html {
  const { operationId, summary } = operation;
  return html`<section class="call" id="${operationId}" aria-labelledby="${operationId}-title">
    <h3 id="${operationId}-title">${summary}</h3>
    ${operationBody(method, path, operation, document)}
  </section>`;
}

/** The same without its heading. @param errorAt what the address of an error's description begins with */
export function operationBody(
  method: string,
  path: string,
  operation: Operation,
  document: Document,
  errorAt = '#error-',
): Html {
  const { description = '', parameters, requestBody, responses } = operation;
  const answers = Object.entries(responses).filter(([, { $ref }]) => $ref === undefined);
  return html`<p class="address">
      <span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code>
    </p>
    <p class="who">${inline(whoMayCall(operation))}</p>
    ${description ? markdown(description) : undefined}
    ${
      parameters &&
      html`<h4>Parameters</h4>
        ${parameterList(parameters)}`
    }
    ${requestBody && body(requestBody, document)}
    ${answers.map(([status, response]) => answer(status, response, document))}
    <h4>Errors</h4>
    ${errors(responses, document, errorAt)}`;
}

function whoMayCall({ security }: Operation): string {
  const names = security.flatMap((one) => Object.entries(one));
  const key = names.find(([name]) => name === 'serviceKey');
  const ways = [
    names.some(([name]) => name === 'accessToken') && 'With an access token.',
    key && `With a service key that has the right \`${key[1].join()}\`.`,
    names.some(([name]) => name === 'basic') && 'The key may be the password of Basic.',
    names.some(([name]) => name === 'proof') && 'Public; a `DPoP` proof may be sent.',
  ];
  return ways.filter(Boolean).join(' ') || 'Public.';
}

function body({ required, content }: NonNullable<Operation['requestBody']>, document: Document): Html {
  const [first] = Object.values(content);
  const kinds = Object.keys(content).map((type) => (type.endsWith('json') ? 'JSON' : 'a form'));
  return html`<h4>Body</h4>
    <p class="who">${kinds.join(' or ')}${required ? '' : '; may be left out'}</p>
    ${memberList(first!.schema, document, false)} ${examples(first!)}`;
}

function answer(status: string, { description, content }: Response, document: Document): Html {
  const [type, first] = Object.entries(content ?? {})[0] ?? [];
  return html`<h4>Answer ${status}</h4>
    <p>${inline(description)} ${type && !type.endsWith('json') ? html`<code>${type}</code>` : undefined}</p>
    ${first && memberList(first.schema, document, true)} ${first && examples(first)}`;
}

function examples({ examples: all = {} }: Content): Html[] {
  return Object.values(all).map(({ summary, value }) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
    return html`<figure>
      <figcaption>Example: ${summary}</figcaption>
      <pre tabindex="0">${text}</pre>
    </figure>`;
  });
}

function errors(responses: Operation['responses'], { components }: Document, errorAt: string): Html {
  const rows = Object.entries(responses).flatMap(([status, { $ref }]) => {
    if ($ref === undefined) return [];
    const { content } = components.responses[$ref.split('/').at(-1)!]!;
    return Object.keys(content!['application/json']!.examples!).map((code) => ({ status, code }));
  });
  return html`<ul class="errors">
    ${rows.map(
      ({ status, code }) =>
        html`<li>
          <a href="${errorAt}${code}">${status} <code>${code}</code></a>
        </li>`,
    )}
  </ul>`;
}
