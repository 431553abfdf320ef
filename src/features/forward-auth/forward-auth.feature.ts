import type { RequestHandler } from 'express';
import type { Feature } from '../../extensions.js';

const PATH = '/forward-auth';

/**
 * Makes one call of all below `/forward-auth`: proxies may send method, path and `Origin` of another request
 * (docs/forward-auth.md#the-call), which must make neither a preflight nor another route of it.
 */
const unifyForwarded: RequestHandler = (request, _response, next) => {
  const { url } = request;
  if (url.startsWith(PATH) && /^[/?]?$/.test(url.charAt(PATH.length))) {
    const query = url.indexOf('?');
    request.method = 'GET';
    request.url = query === -1 ? PATH : PATH + url.slice(query);
    delete request.headers.origin;
  }
  next();
};

export const forwardAuth: Feature = {
  name: 'forward-auth',
  isOn: () => true,
  middleware: async () => unifyForwarded,
  module: async () => ({ module: (await import('./forward-auth.module.js')).ForwardAuthModule }),
};
