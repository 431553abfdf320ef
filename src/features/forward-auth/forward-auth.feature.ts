import type { RequestHandler } from 'express';
import type { Feature } from '../../extensions.js';

const PATH = '/forward-auth';

/**
 * Makes one call of all that reverse proxies ask at `/forward-auth`: they may send the method, path and
 * `Origin` of the request that they ask about (docs/forward-auth.md#the-call). These must not make the
 * request a preflight, or one of another route.
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
