import { readFileSync } from 'node:fs';
import type { Request } from 'express';
import { html, type Html } from '../../../platform/http/page/html.js';
import { destinationOf, layout, type Page } from '../../../platform/http/page/layout.js';
import {
  chooseLanguage as chooseOf,
  CROSS,
  factList,
  QUESTION_STYLE,
  TICK,
  type PageLanguage,
} from '../../../platform/http/page/question.js';
import type { Answered, Question } from './consents.service.js';

type Languages = typeof import('./texts.json');
type Language = PageLanguage<Readonly<Languages['en']>>;

const JSON_TEXTS = readFileSync(new URL('texts.json', import.meta.url), 'utf8');
// The type of the file: the compiler finds a text that a language lacks.
const LANGUAGES: Readonly<Record<string, Language['texts']>> = JSON.parse(JSON_TEXTS) as Languages;

export function chooseLanguage(request: Request): Language {
  return chooseOf(request, LANGUAGES);
}

/** The question: who, to where, as whom, at which API, what, and how long. */
export function questionPage(language: Language, question: Question): Page {
  const { texts, tag } = language;
  const { id, userId, name, host, redirectUri, account, other, resource, scopes, lifetime } = question;
  const program = question.isLocal ? texts.local : host;
  return page(
    language,
    html`<h1>${texts.question}</h1>
      <p class="program">${named(name)}${program === null ? undefined : html`<span>${program}</span>`}</p>
      ${question.isLocal ? html`<p class="problem">${texts.unproven}</p>` : undefined}
      ${factList([
        [texts.account, html`${named(account)} <a href="${other}">${texts.useOther}</a>`],
        [texts.api, html`${named(resource.name)}<small>${new URL(resource.resource).host}</small>`],
        [texts.returnsTo, destinationOf(redirectUri)],
        [texts.howLong, html`${lengthOf(tag, lifetime)}<small>${texts.end}</small>`],
      ])}
      <form method="post" action="/agents/consent">
        <input type="hidden" name="request" value="${id}" />
        <input type="hidden" name="user" value="${userId}" />
        <fieldset>
          <legend>${texts.may}</legend>
          ${scopes.map((scope) => tick(scope, sentenceFor(tag, resource.scopes.get(scope)!)))}
        </fieldset>
        <div class="answers">
          <button name="answer" value="no">${CROSS}${texts.no}</button>
          <button name="answer" value="yes">${TICK}${texts.yes}</button>
        </div>
      </form>`,
  );
}

/** After the answer: the browser continues at the program. */
export function leavePage(language: Language, { isAllowed, address }: Answered): Page {
  const { texts } = language;
  return page(
    language,
    html`<h1>${isAllowed ? texts.allowed : texts.denied}</h1>
      <p class="lead">${texts.leave}</p>
      <ul class="choices">
        <li><a href="${address}">${texts.next}</a></li>
      </ul>`,
  );
}

export function endPage(language: Language, end: 'over'): Page {
  const { texts } = language;
  return page(
    language,
    html`<h1>${texts[end]}</h1>
      <p class="lead">${texts[`${end}Lead`]}</p>`,
  );
}

/** @param host of the program's client-ID URL */
export function untrustedPage(language: Language, host: string): Page {
  const { texts } = language;
  return page(
    language,
    html`<h1>${texts.untrusted}</h1>
      <p class="program">${named(host)}</p>
      <p class="lead">${texts.untrustedLead}</p>`,
  );
}

const STYLE = `${QUESTION_STYLE}
.program { margin-top: 12px; font-size: 18px; font-weight: 600; overflow-wrap: anywhere; }
.program span, small { display: block; color: var(--soft); font-size: 14px; font-weight: 400; overflow-wrap: anywhere; }
fieldset { margin: 0 0 20px; padding: 16px 0 0; border: 0; border-top: 1px solid var(--line); }
legend { float: inline-start; width: 100%; margin-bottom: 8px; padding: 0; font-weight: 600; }
.tick { display: grid; grid-template-columns: auto 1fr; gap: 10px; clear: both; margin: 0; padding: 6px 0; font: inherit; font-weight: 400; cursor: pointer; }
input.box:not([type=hidden]) { width: 20px; height: 20px; margin: 2px 0 0; accent-color: var(--accent); }
.tick span { min-width: 0; overflow-wrap: anywhere; }
`;

/** A text of a third party: it has its own direction, and does not change that of its neighbours. */
function named(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

function tick(scope: string, sentence: string): Html {
  return html`<label class="tick">
    <input type="checkbox" class="box" name="scope" value="${scope}" checked />
    <span>${named(sentence)}</span>
  </label>`;
}

function sentenceFor(tag: string, sentences: Readonly<Record<string, string>>): string {
  return sentences[tag] ?? sentences['en']!;
}

/** @param seconds shown in the largest unit that fits twice */
function lengthOf(tag: string, seconds: number): string {
  const units = [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
  ] as const;
  const [unit, size] = units.find(([, one]) => seconds >= 2 * one) ?? units[2];
  const style = { style: 'unit', unit, unitDisplay: 'long' } as const;
  return new Intl.NumberFormat(tag, style).format(Math.max(1, Math.floor(seconds / size)));
}

function page({ tag, texts }: Language, content: Html): Page {
  return layout({ title: texts.title, brand: texts.title, language: tag, style: STYLE }, content);
}
