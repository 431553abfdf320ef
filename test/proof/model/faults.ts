import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuthService } from '../../../src/auth/auth.service.js';
import { StateService } from '../../../src/auth/state.service.js';
import { UsersService } from '../../../src/auth/users.service.js';
import { IdempotencyStore } from '../../../src/channel/idempotency.store.js';
import { SETTINGS } from '../../../src/config/settings.module.js';
import type { Settings } from '../../../src/config/settings.js';
import { DeviceService } from '../../../src/device/device.service.js';
import { SignOutService } from '../../../src/device/sign-out.service.js';
import type { AccessTokenClaims } from '../../../src/token/access-token-claims.js';
import { AccessTokenVerifier } from '../../../src/token/access-token.verifier.js';
import { DpopProofs } from '../../../src/token/dpop-proofs.js';
import { readHeader } from '../../../src/token/jose-header.js';
import { KeyService } from '../../../src/token/key.service.js';
import { KeyStore } from '../../../src/token/key.store.js';
import { parseRefreshToken } from '../../../src/token/refresh-token.js';
import type { SessionScope } from '../../../src/token/session.store.js';
import { TokenService } from '../../../src/token/token.service.js';
import type { Command } from './commands.js';
import {
  ANOTHER_KEY,
  AT_THE_END,
  NO_EVENT,
  REFUSED,
  SENT_AGAIN,
  SERVED,
  STILL_THERE,
  type Sign,
} from './sign.js';
import type { World } from './world.js';

type Query = (sql: string, values: unknown[]) => Promise<unknown[]>;
type Plant = (world: World) => void;

/** Changes something of each instance, until `jest.restoreAllMocks()`. */
function each<Service>(type: Type<Service>, change: (service: Service, query: Query) => void): Plant {
  return ({ instances }) => {
    for (const { app } of instances) {
      const database = app.get(DataSource);
      change(app.get(type), (sql, values) => database.query(sql, values));
    }
  };
}

type Caller = Parameters<SignOutService['signOut']>[1];

/** Sessions of one scope end where those of another should. */
const mistaken = (change: (scope: SessionScope, of: Caller) => SessionScope): Plant =>
  each(SignOutService, (service) => {
    const signOut = service.signOut.bind(service);
    jest
      .spyOn(service, 'signOut')
      .mockImplementation((scope, of, ...rest) => signOut(change(scope, of), of, ...rest));
  });

type Presented = { readonly token: string; readonly claims: AccessTokenClaims };
type Judge = (presented: Presented) => Promise<boolean>;

/** What the database is asked of an access token. */
const judged = (change: (isLive: Judge, query: Query) => Judge): Plant =>
  each(AccessTokenVerifier, (verifier, query) => {
    const open = verifier as unknown as { isLive: Judge };
    const isLive = open.isLive.bind(verifier);
    jest.spyOn(open, 'isLive').mockImplementation(change(isLive, query));
  });

/** A fault that the service could have, in a few lines: to see that the model finds it. */
interface Fault {
  readonly plant: Plant;
  /** In what it has to show: anything else that fails is no find. */
  readonly sign: Sign;
  /** Where it shows only after commands that seldom follow each other: the ones that are drawn. Left out: all. */
  readonly of?: readonly Command[];
}

/** Commands that bring a token. */
const OF_A_TOKEN = [
  'useToken',
  'refresh',
  'listDevices',
  'rename',
  'removeDevice',
  'signOut',
  'introspect',
  AT_THE_END,
];

export const FAULTS: Readonly<Record<string, Fault>> = {
  'a state is not spent': {
    plant: each(StateService, (states) => {
      const consume = states.consume.bind(states);
      jest.spyOn(states, 'consume').mockImplementation(async (state) => {
        const signIn = await consume(state);
        await states.save(state, signIn);
        return signIn;
      });
    }),
    sign: { at: ['exchange'], ...SERVED },
  },
  'the redirect URI is not compared': {
    plant: each(AuthService, (auth) => {
      const exchange = auth.exchange.bind(auth);
      jest.spyOn(auth, 'exchange').mockImplementation((params, ...rest) => {
        const { redirect_uri: given, ...others } = params;
        return exchange(given === undefined ? params : others, ...rest);
      });
    }),
    sign: { at: ['exchange'], ...SERVED },
  },
  'sign-out from all leaves one session': {
    plant: mistaken((scope, { sessionId }) => (scope === 'all' && sessionId !== null ? 'others' : scope)),
    sign: { at: OF_A_TOKEN, ...SERVED },
  },
  'sign-out from others ends the caller’s, too': {
    plant: mistaken((scope) => (scope === 'others' ? 'all' : scope)),
    sign: { at: OF_A_TOKEN, ...REFUSED },
  },
  'sign-out from the device leaves its other sessions': {
    plant: mistaken((scope, { sessionId }) => (scope === 'device' && sessionId !== null ? 'session' : scope)),
    sign: { at: OF_A_TOKEN, ...SERVED },
    of: ['signIn', 'signOut', 'removeDevice', 'useToken'],
  },
  'revocation ends every session of the device': {
    plant: mistaken((scope, { deviceId }) => (scope === 'session' && deviceId !== null ? 'device' : scope)),
    sign: { at: OF_A_TOKEN, ...REFUSED },
  },
  'signed-out devices are not announced': {
    plant: each(SignOutService, (service) => {
      jest.spyOn(service as unknown as { announce(): Promise<void> }, 'announce').mockResolvedValue();
    }),
    sign: { at: ['listen', 'push'], ...NO_EVENT },
  },
  'a refresh extends the refresh token': {
    plant: each(TokenService, (tokens, query) => {
      const refresh = tokens.refresh.bind(tokens);
      jest.spyOn(tokens, 'refresh').mockImplementation(async (token, call) => {
        const refreshed = await refresh(token, call);
        const sql = `UPDATE refresh_tokens SET expires_at = now() + interval '30 days' WHERE session_id = $1`;
        await query(sql, [parseRefreshToken(token)!.session.sessionId]);
        return refreshed;
      });
    }),
    sign: { at: OF_A_TOKEN, ...SERVED },
    of: ['signIn', 'refresh', 'turnClock'],
  },
  'refresh tokens of one instance live an hour longer': {
    plant: ({ instances }) => {
      const settings = instances[1]!.app.get<Settings>(SETTINGS);
      jest.replaceProperty(settings, 'refreshTokenTtl', settings.refreshTokenTtl + 3600);
    },
    sign: { at: OF_A_TOKEN, ...SERVED },
    of: ['signIn', 'refresh', 'turnClock'],
  },
  'a refresh token’s expiry ends its access token': {
    plant: judged((isLive, query) => async (presented) => {
      const { sub, sid } = presented.claims;
      const sql = 'SELECT FROM refresh_tokens WHERE user_id = $1 AND session_id = $2 AND expires_at > now()';
      return (await isLive(presented)) && (await query(sql, [sub, sid])).length > 0;
    }),
    sign: { at: OF_A_TOKEN, ...REFUSED },
    of: ['signIn', 'refresh', 'useToken', 'turnClock'],
  },
  'access tokens of sessions that were signed out are good': {
    plant: judged((_isLive, query) => async ({ token }) => {
      return (await query('SELECT FROM access_tokens WHERE token = $1', [token])).length > 0;
    }),
    sign: { at: OF_A_TOKEN, ...SERVED },
  },
  'a user may rename another one’s device': {
    plant: each(DeviceService, (devices, query) => {
      const rename = devices.rename.bind(devices);
      jest.spyOn(devices, 'rename').mockImplementation(async (userId, id, name) => {
        const sql =
          'SELECT user_id AS owner FROM devices WHERE device_id = $2 ORDER BY user_id <> $1 LIMIT 1';
        const [row] = (await query(sql, [userId, id])) as { owner: string }[];
        return rename(row?.owner ?? userId, id, name);
      });
    }),
    sign: { at: ['rename'], ...SERVED },
  },
  'a removed device stays on the list': {
    plant: each(DeviceService, (devices) => {
      const signOuts = devices['signOuts'];
      jest.spyOn(devices, 'remove').mockImplementation(async (session, deviceId) => {
        await devices.rename(session.userId, deviceId, 'removed'); // `not_found`, if there is none
        await signOuts.signOut('device', { ...session, deviceId });
      });
    }),
    sign: { at: ['listDevices', 'removeDevice'], ...STILL_THERE },
    of: ['signIn', 'removeDevice', 'listDevices'],
  },
  'a deleted user’s devices are kept': {
    plant: each(UsersService, (users) => {
      jest.spyOn(users, 'remove').mockImplementation((userId) => users.signOut(userId));
    }),
    sign: { at: ['listDevices'], ...STILL_THERE },
    of: ['signIn', 'deleteUser', 'listDevices'],
  },
  'a used proof is taken again': {
    plant: each(DpopProofs, (proofs) => {
      const judge = proofs.judge.bind(proofs);
      jest.spyOn(proofs, 'judge').mockImplementation(async (call) => {
        const proof = await judge(call);
        return proof && { ...proof, jti: randomUUID() };
      });
    }),
    sign: { at: ['refresh'], ...SERVED },
    of: ['signIn', 'refresh', 'useToken'],
  },
  'the token of a revoked key is good': {
    plant: each(KeyService, (keys) => {
      jest
        .spyOn(keys, 'verificationKey')
        .mockImplementation((token) => keys['ring']['keys'].get(readHeader(token)?.kid ?? '')?.publicKey);
    }),
    sign: { at: OF_A_TOKEN, ...SERVED },
    of: ['signIn', 'useToken', 'rotateKey', 'revokeKey'],
  },
  'a new key signs at once': {
    plant: () => {
      const store = KeyStore.prototype as unknown as Record<
        'make' | 'makeNext',
        (...args: unknown[]) => unknown
      >;
      jest.spyOn(store, 'makeNext').mockImplementation(function (this: typeof store, manager) {
        return this.make(manager, 0);
      });
    },
    sign: { at: ['rotateKey', 'signIn', 'exchange', 'refresh', AT_THE_END], ...ANOTHER_KEY },
  },
  'an Idempotency-Key is forgotten after an hour': {
    plant: each(IdempotencyStore, (keys) => {
      const once = keys.once.bind(keys);
      jest.spyOn(keys, 'once').mockImplementation((asked, work) => once({ ...asked, ttl: 3600 }, work));
    }),
    sign: { at: ['push'], ...SENT_AGAIN },
    of: ['signIn', 'push', 'turnClock'],
  },
};

/** No fault of that kind: each exchange crashes, which must not be taken for one. */
export const CRASH: Plant = each(StateService, (states) => {
  jest.spyOn(states, 'consume').mockRejectedValue(new Error('planted'));
});
