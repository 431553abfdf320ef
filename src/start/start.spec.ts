import { jest } from '@jest/globals';
import type { Settings } from '../platform/config/settings/settings.js';
import { VERSION } from '../platform/http/static-files.js';
import { parseSettings } from '../settings.js';
import { providerLines, readyFacts } from './start.js';

const settingsOf = (env: Record<string, string> = {}): Settings =>
  parseSettings({ SECRET_KEY: 'ab'.repeat(32), DATA_DIR: '/data', ...env });

describe('readyFacts', () => {
  it.each<[string, Record<string, string>, string]>([
    [
      'what a first start uses',
      {},
      'listening on 127.0.0.1:3000, database embedded in /data, Redis not set, providers: none',
    ],
    [
      'addresses without users and passwords',
      {
        HOST: '::',
        PORT: '80',
        DATABASE_URL: 'postgres://ada:s3cret@db.example:5433/latchkey?sslmode=require',
        REDIS_URL: 'redis://ada:s3cret@redis.example:6380/1',
      },
      'listening on [::]:80, database db.example:5433/latchkey, Redis redis.example:6380, providers: none',
    ],
    [
      'a socket and Sentinels',
      {
        DATABASE_URL: 'postgres://ada@/latchkey?host=/run/postgresql',
        REDIS_URL: 'redis+sentinel://:s3cret@one.example,two.example/main',
      },
      'listening on 127.0.0.1:3000, database /run/postgresql/latchkey, Redis main by Sentinel, providers: none',
    ],
  ])('names %s', (_what, env, facts) => {
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
    expect(readyFacts(settingsOf(env), [])).toBe(`version ${VERSION}, ${facts}`);
    expect(warned).not.toHaveBeenCalled(); // pg warns of sslmode=require
  });
});

describe('providerLines', () => {
  const corp = {
    'providers.corp.adapter': 'oidc',
    'providers.corp.url': 'https://login.corp.example',
    'providers.corp.client_id': 'latchkey',
    'providers.corp.client_secret': 's3cret',
  };
  const linesOf = (
    env: Record<string, string>,
    ownRedirectUris: Settings['ownRedirectUris'] = [],
  ): string[] => {
    const settings = { ...settingsOf({ ...corp, ...env }), ownRedirectUris };
    return providerLines(settings, [...settings.providers.values()]);
  };

  it('says what to register at each provider', () => {
    const list = 'https://app.example/callback/corp';
    expect(linesOf({ 'providers.corp.redirect_uris': list })).toEqual([
      `corp: OpenID Connect at https://login.corp.example, 2 redirect URIs to register: ${list}, http://localhost:3000/providers/corp/callback`,
    ]);
    expect(linesOf({})).toEqual([
      'corp: OpenID Connect at https://login.corp.example, 1 redirect URI to register: http://localhost:3000/providers/corp/callback, and the callback of your application',
    ]);
    expect(linesOf({}, [{ uri: 'http://localhost:3000/page', isRegistered: true }])[0]).toContain(
      ', 2 redirect URIs to register: http://localhost:3000/page, http://localhost:3000/providers/corp/callback,',
    );
    const own = 'http://localhost:3000/providers/corp/callback';
    for (const more of [{}, { 'providers.corp.redirect_uris': list }]) {
      expect(linesOf({ 'providers.corp.response_mode': 'form_post', ...more })).toEqual([
        `corp: OpenID Connect at https://login.corp.example, 1 redirect URI to register: ${own}`,
      ]);
    }
  });
});
