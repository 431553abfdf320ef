import Bowser from 'bowser';

const LONGEST = 512;

/** Versions that browsers send for every version: left out, or named with the versions that they may be. */
const FROZEN: Readonly<Record<string, string>> = {
  'Windows 10': 'Windows 10/11',
  'macOS 10.15': 'macOS',
  'Android 10': 'Android',
};

/** Longer names are no names of browsers. */
const LONGEST_NAME = 64;

/** Replaces control characters, which could change a terminal. @returns null if it is empty */
export function cleanUserAgent(userAgent: string | undefined): string | null {
  return userAgent?.replace(/\p{Cc}+/gu, ' ') || null;
}

/**
 * Reads the browser with its main version (`Chrome 156`) and the operating system (`Windows 8.1`), by which
 * people recognise a device; null if it is unknown. A user agent may be any text.
 */
export function browserOf(userAgent: string | null): Record<'browser' | 'os', string | null> {
  const text = userAgent?.slice(0, LONGEST).trim();
  if (!text) return { browser: null, os: null };
  const parser = Bowser.getParser(text, true); // only what is asked for is parsed
  const browser = parser.getBrowser();
  const os = parser.getOS();
  const named = nameOf(os.name, os.name === 'Windows' ? os.versionName : shortVersion(os.version, 2));
  return {
    browser: nameOf(browser.name, shortVersion(browser.version, 1)),
    os: named && (FROZEN[named] ?? named),
  };
}

function nameOf(name: string | undefined, version: string | undefined): string | null {
  if (!name || name.length > LONGEST_NAME) return null;
  return version ? `${name} ${version}` : name;
}

function shortVersion(version: string | undefined, count: number): string | undefined {
  return /^[\d.]{1,20}/
    .exec(version ?? '')?.[0]
    .split('.')
    .slice(0, count)
    .join('.');
}
