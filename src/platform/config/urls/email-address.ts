import { domainToASCII, domainToUnicode } from 'node:url';

/**
 * Returns the key by which an e-mail address is compared, everywhere: addresses with equal keys are one.
 * Letters have no case, and a domain in Unicode equals its form in Punycode (RFC 5890 §2.3.2.1).
 * The key of a prefix is a prefix of the key, unless it ends within Punycode or a composed letter.
 */
export function addressKey(address: string): string {
  const at = address.lastIndexOf('@') + 1;
  return withoutCase(address.slice(0, at)) + domainKey(address.slice(at));
}

/** Returns the key by which a domain is compared: in Unicode, since `domainToASCII` drops characters. */
export function domainKey(domain: string): string {
  return withoutCase(domain).replaceAll(/(?<=^|\.)xn--[^.]+/g, (label) => {
    const unicode = domainToUnicode(label);
    return domainToASCII(unicode) === label ? unicode : label;
  });
}

/** Only letters that differ in nothing but case get one form: the sign of kelvin is no k. */
function withoutCase(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text.toLowerCase();
  const isComposable = Array.from(text).every((letter) => letter.normalize('NFC') === letter);
  return Array.from(isComposable ? text.normalize('NFC') : text, (letter) => {
    const lower = letter.toLowerCase();
    return lower.toUpperCase() === letter.toUpperCase() ? lower : letter;
  }).join('');
}
