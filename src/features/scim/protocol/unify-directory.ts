import type { RequestHandler } from 'express';

const LONGEST = 2048;

/**
 * Reads the address of a directory as its administrator has entered it, with a slash too many: `//Users`,
 * `/Users/`. The router, the log and the limits see one spelling.
 */
export const unifyDirectory: RequestHandler = (request, _response, next) => {
  const [path = '', ...query] = request.url.split('?');
  if (path.length <= LONGEST && /^\/+scim\/+v2\//.test(path)) {
    const single = path.split('/').filter((part) => part !== '');
    request.url = [`/${single.join('/')}`, ...query].join('?');
  }
  next();
};
