import express, { type Request } from 'express';
import { knownRouteOf, rememberRoute, type Route } from './known-routes.js';

describe('known routes', () => {
  const app = express();
  const request = (method: string, path: string, of = app) =>
    ({ app: of, method, path }) as unknown as Request;
  const route = (path: string, method = 'get') => ({ path, methods: { [method]: true } }) as unknown as Route;
  const known = (...args: Parameters<typeof request>) => knownRouteOf(request(...args))?.path;

  it('are those of the same method and path, in the same application', () => {
    rememberRoute(request('GET', '/me'), route('/me'));
    expect(known('GET', '/me')).toBe('/me');
    expect(known('HEAD', '/me')).toBeUndefined();
    expect(known('GET', '/me/')).toBeUndefined();
    expect(known('GET', '/me', express())).toBeUndefined();
  });

  it('are none that have parameters: there would be one for each value', () => {
    rememberRoute(request('DELETE', '/devices/1'), route('/devices/:device_id', 'delete'));
    expect(known('DELETE', '/devices/1')).toBeUndefined();
  });

  it.each(['/devices/:device_id', '/files/*path', '/files{/:name}'])(
    'are none that have parameters, also where %s is asked for: the handler would be given none',
    (path) => {
      rememberRoute(request('GET', path), route(path));
      expect(known('GET', path)).toBeUndefined();
    },
  );

  it('are those that answer the method: HEAD is answered by GET', () => {
    rememberRoute(request('HEAD', '/sign-out'), route('/sign-out', 'post'));
    rememberRoute(request('HEAD', '/devices'), route('/devices'));
    expect(known('HEAD', '/sign-out')).toBeUndefined();
    expect(known('HEAD', '/devices')).toBe('/devices');
  });
});
