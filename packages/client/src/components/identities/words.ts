import english from '../../texts/identities/identities-en.js';
import type { IdentityTexts } from '../../texts/identities/identities-texts.js';

/** Separate files: each user loads at most one. */
const LANGUAGES: Readonly<Record<string, () => Promise<{ default: IdentityTexts }>>> = {
  ar: () => import('../../texts/identities/identities-ar.js'),
  de: () => import('../../texts/identities/identities-de.js'),
  es: () => import('../../texts/identities/identities-es.js'),
  fr: () => import('../../texts/identities/identities-fr.js'),
  he: () => import('../../texts/identities/identities-he.js'),
  it: () => import('../../texts/identities/identities-it.js'),
  ja: () => import('../../texts/identities/identities-ja.js'),
  ko: () => import('../../texts/identities/identities-ko.js'),
  nl: () => import('../../texts/identities/identities-nl.js'),
  pl: () => import('../../texts/identities/identities-pl.js'),
  pt: () => import('../../texts/identities/identities-pt.js'),
  uk: () => import('../../texts/identities/identities-uk.js'),
  zh: () => import('../../texts/identities/identities-zh.js'),
};

/** See texts/texts.ts. */
declare const LATCHKEY_ENGLISH_ONLY: boolean | undefined;
const LOADERS: typeof LANGUAGES =
  typeof LATCHKEY_ENGLISH_ONLY !== 'undefined' && LATCHKEY_ENGLISH_ONLY ? {} : LANGUAGES;

/** Loads the texts of a language, else English ones. */
export async function loadWords(language: string): Promise<IdentityTexts> {
  const loaded = await LOADERS[language]?.().catch(() => undefined);
  return { ...english, ...loaded?.default };
}
