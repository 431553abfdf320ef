import type { Device, Latchkey, RefusedProgram } from '../latchkey.js';
import type {
  DeviceRequestsOptions,
  DevicesOptions,
  IdentitiesOptions,
  IdleNoticeOptions,
  UserOptions,
} from '../options.js';
import english from '../texts/account/account-en.js';
import type { AccountTexts } from '../texts/account/account-texts.js';
import type { Texts } from '../texts/texts.js';
import type { Call } from '../service/service.js';
import { busy, filled, followChannel, icon, keyed, make, mount, type DevicePages, type Kit } from './kit.js';

/** What the client passes, as parameters rather than members: their names would be part of the main file. */
type Parts = [
  client: Latchkey,
  /** Calls the service with the token. */
  api: Call,
  /** The client's texts, which have the application's replacements. */
  texts: Texts & Partial<AccountTexts>,
  /** Loads a module. */
  orNetworkError: Kit['orNetworkError'],
  /** Aborted if the component is removed, or if a later call shows something in the element. */
  claimed: AbortController,
  place: Element,
];

/** Implements `showDevices`. */
export const showDevices = (...parts: [...Parts, options?: DevicesOptions]): Promise<() => void> =>
  show(import('./devices/devices.js'), ...parts);

/** Implements `showUser`. */
export const showUser = (...parts: [...Parts, options?: UserOptions]): Promise<() => void> =>
  show(import('./user.js'), ...parts);

/** Implements `showIdleNotice`. */
export const showIdleNotice = (...parts: [...Parts, options?: IdleNoticeOptions]): Promise<() => void> =>
  show(import('./idle-notice.js'), ...parts);

/** Implements `showDeviceRequests`. */
export const showDeviceRequests = (
  ...parts: [...Parts, options?: DeviceRequestsOptions]
): Promise<() => void> => show(import('./device-requests.js'), ...parts);

/** Implements `showIdentities`. */
export const showIdentities = (...parts: [...Parts, options?: IdentitiesOptions]): Promise<() => void> =>
  show(import('./identities/identities.js'), ...parts);

/** Separate files: each user loads at most one. */
const LANGUAGES: Readonly<Record<string, () => Promise<{ default: AccountTexts }>>> = {
  ar: () => import('../texts/account/account-ar.js'),
  de: () => import('../texts/account/account-de.js'),
  es: () => import('../texts/account/account-es.js'),
  fr: () => import('../texts/account/account-fr.js'),
  he: () => import('../texts/account/account-he.js'),
  it: () => import('../texts/account/account-it.js'),
  ja: () => import('../texts/account/account-ja.js'),
  ko: () => import('../texts/account/account-ko.js'),
  nl: () => import('../texts/account/account-nl.js'),
  pl: () => import('../texts/account/account-pl.js'),
  pt: () => import('../texts/account/account-pt.js'),
  uk: () => import('../texts/account/account-uk.js'),
  zh: () => import('../texts/account/account-zh.js'),
};

/** See texts/texts.ts. */
declare const LATCHKEY_ENGLISH_ONLY: boolean | undefined;
const LOADERS: typeof LANGUAGES =
  typeof LATCHKEY_ENGLISH_ONLY !== 'undefined' && LATCHKEY_ENGLISH_ONLY ? {} : LANGUAGES;

async function show<Options extends object>(
  loading: Promise<{ show: (kit: Kit, place: Element, options: Options) => () => void }>,
  ...[client, api, texts, orNetworkError, claimed, place, options]: [...Parts, options?: Options]
): Promise<() => void> {
  const others = LOADERS[texts.language]?.().catch(() => undefined); // then in English
  const [component, language] = await Promise.all([orNetworkError(loading), others]);
  const words = { ...english, ...language?.default, ...texts, language: localeOf(texts.language) };
  const pages = (most: number): Promise<DevicePages> => loadPages(client, api, most);
  const follow: Kit['follow'] = (events, act) => followChannel(client, events, act);
  const kit = { client, pages, texts: words, orNetworkError, make, filled, keyed, busy, follow, icon, mount };
  if (!claimed.signal.aborted)
    claimed.signal.addEventListener('abort', component.show(kit, place, options ?? ({} as Options)));
  return () => claimed.abort();
}

/** @param language may be the application's, and so invalid, such as `pt_BR`: then dates are in the browser's language */
function localeOf(language: string): string {
  try {
    return new Intl.Locale(language).toString();
  } catch {
    return navigator.language;
  }
}

interface Page {
  readonly devices: Device[];
  readonly next_cursor?: string;
  readonly has_refused_programs?: true;
}

async function loadPages(client: Latchkey, api: Call, most: number): Promise<DevicePages> {
  const devices: Device[] = [];
  let refused: readonly RefusedProgram[] = [];
  let cursor: string | undefined;
  do {
    const query = cursor ? `?cursor=${encodeURIComponent(cursor)}` : '';
    const page = await api<Page>('GET', `/devices${query}`);
    devices.push(...page.devices);
    cursor = page.next_cursor;
    // The list does without them: another instance may not have the feature.
    if (page.has_refused_programs) refused = await client.refusedPrograms().catch(() => []);
  } while (cursor && --most);
  return { devices, isMore: Boolean(cursor), refused };
}
