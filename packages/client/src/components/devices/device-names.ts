import type { Device } from '../../latchkey.js';
import type { FirstAccountTexts } from '../../texts/account/account-texts.js';

/** How a device is shown. */
export interface DeviceName {
  /** Its own name, else browser and system. */
  readonly title: string;
  /** Browser and system, if the title is a name; else empty. */
  readonly agent: string;
  /** E.g. `Last used 2 minutes ago`. */
  readonly lastUsed: string;
  /** Date of the first sign-in. */
  readonly firstUsed: string;
  /** Name that no other device of the list has, e.g. `Chrome 156 on Windows 10/11, last used 2 minutes ago`. */
  readonly label: string;
}

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;
/** Name that the SDK gives by default, e.g. `Chrome on Windows`: browser and system say more. */
const DEFAULT_NAME = /^(\w+) on (?:iPhone|iPad|Android|Windows|macOS|ChromeOS|Linux)$/;

/** Replaces the placeholders of a text. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

/** Returns the names of the devices of a list. @param now milliseconds since the epoch */
export function namesOf(devices: readonly Device[], texts: FirstAccountTexts, now: number): DeviceName[] {
  const relative = new Intl.RelativeTimeFormat(texts.language, { numeric: 'auto' });
  const date = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium' });
  const exact = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium', timeStyle: 'medium' });
  const ago = (time: string): string => {
    const seconds = (now - Date.parse(time)) / 1000;
    const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? ['second', Infinity];
    return relative.format(-Math.floor(seconds / size) || 0, unit);
  };
  const firstUsed = ({ created_at }: Device, format = date): string =>
    fill(texts.firstUsed, { when: format.format(Date.parse(created_at)) });

  const names = devices.map((device) => {
    const agent = agentOf(device, texts);
    const { device_name: own, browser } = device;
    const [, family] = DEFAULT_NAME.exec(own ?? '') ?? [];
    const isOwn = own && !(family && browser?.startsWith(family));
    const lastUsed = fill(texts.lastUsed, { when: ago(device.last_seen_at) });
    const parts = [isOwn ? own : agent || own || texts.unknownDevice, isOwn && agent];
    if (device.current) parts.push(texts.thisDevice);
    const label = [...parts, lowered(lastUsed, texts.language)].filter(Boolean).join(', ');
    const [title, shownAgent] = parts as [string, string];
    return { title, agent: shownAgent || '', lastUsed, firstUsed: firstUsed(device), label };
  });

  // Equal browsers, used in the same minute: the time of the first sign-in differs, at the latest a number does.
  const numbers = new Map<string, number>();
  const unique = (label: string): string => {
    const number = (numbers.get(label) ?? 0) + 1;
    numbers.set(label, number);
    return number > 1 ? `${label} (${number})` : label;
  };
  const counts = new Map<string, number>();
  for (const { label } of names) counts.set(label, (counts.get(label) ?? 0) + 1);
  return names.map((name, index) => {
    const isAlone = counts.get(name.label) === 1;
    const more = isAlone ? '' : `, ${lowered(firstUsed(devices[index]!, exact), texts.language)}`;
    return { ...name, label: unique(name.label + more) };
  });
}

function agentOf({ browser, os }: Device, { browserOnSystem }: FirstAccountTexts): string {
  return browser && os ? fill(browserOnSystem, { browser, system: os }) : (browser ?? os ?? '');
}

/** Inside of a name, a sentence begins with a small letter. */
function lowered(text: string, language: string): string {
  return text.charAt(0).toLocaleLowerCase(language) + text.slice(1);
}
