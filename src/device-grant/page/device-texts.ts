import type { Request } from 'express';
import { de } from './texts/de.js';
import { en } from './texts/en.js';
import { es } from './texts/es.js';
import { fr } from './texts/fr.js';
import { it } from './texts/it.js';
import { ja } from './texts/ja.js';
import { pt } from './texts/pt.js';
import { zh } from './texts/zh.js';

/** Texts of the page for devices without a browser. */
export interface DeviceTexts {
  readonly title: string;
  readonly enter: string;
  readonly enterLead: string;
  readonly code: string;
  readonly next: string;
  readonly warning: string;
  readonly wrongCode: string;
  readonly tooMany: string;
  readonly goOn: string;
  readonly goOnLead: string;
  readonly question: string;
  readonly device: string;
  readonly program: string;
  readonly address: string;
  readonly begun: string;
  readonly account: string;
  readonly unnamed: string;
  readonly foreign: string;
  readonly yes: string;
  readonly no: string;
  readonly approved: string;
  readonly approvedLead: string;
  readonly denied: string;
  readonly deniedLead: string;
  readonly over: string;
  readonly overLead: string;
  readonly failed: string;
  readonly notAllowed: string;
  readonly otherAccount: string;
}

const LANGUAGES: Readonly<Record<string, DeviceTexts>> = { en, de, es, fr, it, ja, pt, zh };

/** Chooses the language of a page by `Accept-Language`; English if none fits. */
export function chooseLanguage(request: Request): { readonly tag: string; readonly texts: DeviceTexts } {
  const tags = Object.keys(LANGUAGES);
  const tag = request.acceptsLanguages(tags) || 'en';
  return { tag, texts: LANGUAGES[tag]! };
}
