import { html, type Html } from '../../../platform/http/page/html.js';
import { layout, type Page } from '../../../platform/http/page/layout.js';
import {
  chooseLanguage as chooseOf,
  CROSS,
  factList,
  QUESTION_STYLE,
  TICK,
  type PageLanguage as LanguageOf,
} from '../../../platform/http/page/question.js';
import { browserOf } from '../../../platform/http/user-agent.js';
import { showUserCode } from '../requests/codes.js';
import type { DeviceRequest } from '../requests/device-request.entity.js';
import { readFileSync } from 'node:fs';
import type { Request } from 'express';

type Problem = 'wrongCode' | 'tooMany' | 'failed' | 'notAllowed' | 'otherAccount';
type End = 'approved' | 'denied' | 'over';

/**
 * Page with a form for the code.
 * @param userCode eight letters, of the address or as they were typed
 * @param other address of a sign-in with another account, after one that was refused
 */
export function codePage(language: PageLanguage, userCode?: string, problem?: Problem, other?: string): Page {
  const { texts } = language;
  const invalid = html`aria-invalid="true" aria-describedby="problem"`;
  return page(
    language,
    html`<h1>${texts.enter}</h1>
      <p class="lead">${texts.enterLead}</p>
      ${problem && html`<p class="problem" id="problem" role="alert">${texts[problem]}</p>`}
      ${
        other &&
        html`<ul class="choices">
          <li><a href="${other}">${texts.useOther}</a></li>
        </ul>`
      }
      <form method="post" action="/device">
        <label for="user_code">${texts.code}</label>
        <input
          id="user_code"
          name="user_code"
          value="${userCode === undefined ? '' : showUserCode(userCode)}"
          maxlength="64"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck="false"
          required
          autofocus
          ${problem && invalid}
        />
        <button>${texts.next}</button>
      </form>
      <p class="foot">${texts.warning}</p>`,
  );
}

/** Page that sends the browser to the sign-in, which a redirect after a form could not. */
export function goOnPage(language: PageLanguage, address: string): Page {
  const { texts } = language;
  return page(
    language,
    html`<h1>${texts.goOn}</h1>
      <p class="lead">${texts.goOnLead}</p>
      <ul class="choices">
        <li><a href="${address}">${texts.next}</a></li>
      </ul>`,
  );
}

/**
 * The question (RFC 8628 §5.4).
 * @param facts.account of the person
 * @param facts.other address of a sign-in with another account
 * @param facts.now milliseconds since the epoch
 */
export function questionPage(
  language: PageLanguage,
  request: DeviceRequest,
  facts: {
    readonly account: string;
    readonly other: string;
    readonly isForeign: boolean;
    readonly now: number;
  },
): Page {
  const { texts } = language;
  const { browser, os } = browserOf(request.userAgent);
  const kind = [browser, os].filter((one) => one !== null).join(', ');
  const rows: readonly (readonly [string, string | Html | null])[] = [
    [texts.device, request.deviceName ?? (kind || texts.unnamed)],
    [texts.program, request.clientId],
    [texts.address, request.address],
    [texts.begun, ago(language.tag, request.createdAt, facts.now)],
    [texts.account, html`${facts.account} <a href="${facts.other}">${texts.useOther}</a>`],
  ];
  return page(
    language,
    html`<h1>${texts.question}</h1>
      ${facts.isForeign ? html`<p class="problem" role="alert">${texts.foreign}</p>` : undefined}
      ${factList(rows)}
      <p class="lead">${texts.warning}</p>
      <form method="post" action="/device/confirm" class="answers">
        <button name="answer" value="no">${CROSS}${texts.no}</button>
        <button name="answer" value="yes">${TICK}${texts.yes}</button>
      </form>`,
  );
}

export function endPage(language: PageLanguage, end: End): Page {
  const { texts } = language;
  return page(
    language,
    html`<h1>${texts[end]}</h1>
      <p class="lead">${texts[`${end}Lead`]}</p>`,
  );
}

const STYLE = `${QUESTION_STYLE}
.answers button[value=yes] { color: var(--accent); border-color: var(--accent); }
`;

function page({ tag, texts }: PageLanguage, content: Html): Page {
  return layout({ title: texts.title, brand: texts.title, language: tag, style: STYLE }, content);
}

function ago(tag: string, at: Date, now: number): string {
  const minutes = Math.max(0, Math.floor((now - at.getTime()) / 60_000));
  return new Intl.RelativeTimeFormat(tag, { numeric: 'auto' }).format(-minutes, 'minute');
}

type Languages = typeof import('./texts.json');
/** Texts of the page for devices without a browser. */
type DeviceTexts = Readonly<Languages['en']>;

type PageLanguage = LanguageOf<DeviceTexts>;

const JSON_TEXTS = readFileSync(new URL('texts.json', import.meta.url), 'utf8');
// The type of the file: the compiler finds a text that a language lacks.
const LANGUAGES: Readonly<Record<string, DeviceTexts>> = JSON.parse(JSON_TEXTS) as Languages;

/** Chooses the language of the page. */
export function chooseLanguage(request: Request): PageLanguage {
  return chooseOf(request, LANGUAGES);
}
