/** Codes and states are in addresses here, and cookies in headers: neither is for a cache or another site. */
const HEADERS = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };

/** Readable on phones, and dark if the user prefers it, without a style. */
const FOR_DEVICES =
  '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">';

/** Sends the browser to a page, by GET. */
export function redirect(address: string, cookies: readonly string[] = []): Response {
  return answer(303, null, { Location: address }, cookies);
}

/** A plain page for people. @param text without markup @param links addresses by their text */
export function failurePage(
  status: number,
  text: string,
  links: Readonly<Record<string, string>> = {},
  cookies: readonly string[] = [],
): Response {
  const ways = Object.entries(links).map(
    ([name, to]) => `<p><a href="${escaped(to)}">${escaped(name)}</a></p>`,
  );
  const page = `<!doctype html><html lang="en"><meta charset="utf-8">${FOR_DEVICES}<title>Sign-in</title><main><h1>Sign-in</h1><p>${escaped(text)}</p>${ways.join('')}</main></html>`;
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  };
  return answer(status, page, headers, cookies);
}

/** An answer that no cache keeps. */
export function answer(
  status: number,
  body: string | null = null,
  headers: Readonly<Record<string, string>> = {},
  cookies: readonly string[] = [],
): Response {
  const response = new Response(body, { status, headers: { ...HEADERS, ...headers } });
  for (const cookie of cookies) response.headers.append('Set-Cookie', cookie);
  return response;
}

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
