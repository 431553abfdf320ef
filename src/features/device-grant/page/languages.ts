import { readFileSync } from 'node:fs';
import type { Request } from 'express';

type Languages = typeof import('./texts.json');
/** Texts of the page for devices without a browser. */
type DeviceTexts = Readonly<Languages['en']>;

/** Language of a page, and its texts. */
export interface PageLanguage {
  readonly tag: string;
  readonly texts: DeviceTexts;
}

const JSON_TEXTS = readFileSync(new URL('texts.json', import.meta.url), 'utf8');
// The type of the file: the compiler finds a text that a language lacks.
const LANGUAGES: Readonly<Record<string, DeviceTexts>> = JSON.parse(JSON_TEXTS) as Languages;

/** Chooses the language of a page by `Accept-Language`; English if none fits. */
export function chooseLanguage(request: Request): PageLanguage {
  const tag = request.acceptsLanguages(Object.keys(LANGUAGES)) || 'en';
  return { tag, texts: LANGUAGES[tag]! };
}
