import request, { type Test } from 'supertest';

/** Calls with an access token. */
export function bearer(url: string, token: string) {
  const authorize = (test: Test): Test => test.set('Authorization', `Bearer ${token}`);
  return {
    get: (path: string) => authorize(request(url).get(path)),
    post: (path: string, body?: object) => authorize(request(url).post(path)).send(body),
    patch: (path: string, body?: object) => authorize(request(url).patch(path)).send(body),
    delete: (path: string) => authorize(request(url).delete(path)),
  };
}
