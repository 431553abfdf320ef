import fc from 'fast-check';
import { deviceId, name } from './sign-in.js';
import type { Session, Specification, User } from './specification.js';
import { at, expectRefusal, step } from './step.js';
import { SERVICE_KEY, type Answer, type At, type World } from './world.js';

/** What an application's backend does about a user. */
interface Args {
  readonly at: At;
  readonly name: string;
}

const ask = (to: At, method: string, path: string, world: World, body?: object): Promise<Answer> =>
  world.call(to, method, path, { bearer: SERVICE_KEY, ...(body && { body }) });

export const endUser = step<Args & { device: 0 | 1 | undefined; byIdentity: boolean }>(
  'endUser',
  { at, name, device: fc.constantFrom(undefined, undefined, 0, 1), byIdentity: fc.boolean() },
  {
    needs: isKnown,
    async run(args, model, world) {
      const user = model.userNamed('stub', world.nameOf(args.name));
      const device = args.byIdentity || args.device === undefined ? undefined : deviceId(args.device);
      const identity = { provider: 'stub', provider_user_id: world.nameOf(args.name) };
      const path = args.byIdentity ? '/users/sign-out' : `/users/${idOf(user)}/sign-out`;
      const body = args.byIdentity ? identity : device === undefined ? {} : { device_id: device };
      const answer = await ask(args.at, 'POST', path, world, body);
      if (!user || (device !== undefined && !user.devices.has(device)))
        return expectRefusal(answer, 'not_found');
      const ofThese = (one: Session): boolean =>
        one.user === user && (device === undefined || one.deviceId === device);
      const sessions = model.end(model.sessions.filter(ofThese));
      expect(answer).toMatchObject({ status: 200, body: { sessions } });
    },
  },
);

export const deleteUser = step<Args>(
  'deleteUser',
  { at, name },
  {
    needs: isKnown,
    async run(args, model, world) {
      const user = model.userNamed('stub', world.nameOf(args.name));
      const answer = await ask(args.at, 'DELETE', `/users/${idOf(user)}`, world);
      if (!user) return expectRefusal(answer, 'not_found');
      expect(answer.status).toBe(204);
      model.remove(user);
    },
  },
);

function isKnown({ sessions }: Specification): boolean {
  return sessions.length > 0;
}

const NOBODY = '99999999-9999-4999-8999-999999999999';

export function idOf(user: User | undefined): string {
  return user?.id ?? NOBODY;
}
