import type { Request } from 'express';
import { de } from './texts/de.js';
import { en } from './texts/en.js';
import { es } from './texts/es.js';
import { fr } from './texts/fr.js';
import { it } from './texts/it.js';
import { ja } from './texts/ja.js';
import { pt } from './texts/pt.js';
import type { DeviceTexts } from './texts/texts.js';
import { zh } from './texts/zh.js';

const LANGUAGES: Readonly<Record<string, DeviceTexts>> = { en, de, es, fr, it, ja, pt, zh };

/** Chooses the language of a page by `Accept-Language`; English if none fits. */
export function chooseLanguage(request: Request): { readonly tag: string; readonly texts: DeviceTexts } {
  const tags = Object.keys(LANGUAGES);
  const tag = request.acceptsLanguages(tags) || 'en';
  return { tag, texts: LANGUAGES[tag]! };
}
