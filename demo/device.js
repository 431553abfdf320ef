// The device fields of a sign-in (spec §2.4), as this browser fills them.

const KEY = 'latchkey-demo.device_id';

/** The id of this browser: made once, kept for good. */
export function deviceId() {
  const known = localStorage.getItem(KEY);
  if (known) return known;
  const made = crypto.randomUUID();
  localStorage.setItem(KEY, made);
  return made;
}

/** For example `Firefox on macOS`. */
export function deviceName() {
  const agent = navigator.userAgent;
  return `${firstMatch(agent, BROWSERS) ?? 'Browser'} on ${firstMatch(agent, SYSTEMS) ?? 'an unknown system'}`;
}

// The first that matches is meant: most browsers also claim to be the ones below them.
const BROWSERS = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];
const SYSTEMS = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
];

function firstMatch(text, table) {
  return table.find(([pattern]) => pattern.test(text))?.[1];
}
