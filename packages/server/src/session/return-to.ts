/** Characters of the address, which is kept in a cookie. */
const LONGEST = 1000;

/**
 * Returns the absolute address of a path of the application, to which the browser is sent after a sign-in or a sign-out. Anything else
 * leads to the home page: an address of another site (`//other`, `/\other`), a path that becomes one (`/..//other`), and the
 * handlers themselves, which would make a circle.
 * @param origin of the application
 * @param prefix path of the handlers
 * @param basePath path of the application: added to a path that is not below it
 */
export function returnAddress(
  path: string | null | undefined,
  origin: string,
  prefix: string,
  basePath = '',
): string {
  const home = `${origin}${basePath}/`;
  // Browsers remove tabs and line breaks from addresses, and take `\` for `/` (WHATWG URL §4.4).
  if (!path || !/^\/(?!\/)[^\\\p{Cc}]*$/u.test(path)) return home;
  if (!URL.canParse(path, origin)) return home;
  const url = new URL(path, origin);
  if (url.origin !== origin || url.pathname.startsWith('//')) return home;
  if (!`${url.pathname}/`.startsWith(`${basePath}/`)) url.pathname = basePath + url.pathname;
  const isHandler = `${decoded(url.pathname)}/`.startsWith(`${prefix}/`);
  return isHandler || url.href.length > LONGEST ? home : url.href;
}

/** Routers compare decoded paths. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
