import { userIdOf } from '../../user/user-id.js';
import { UsersController } from './users.controller.js';
import type { UsersService } from './users.service.js';

const DEVICE = '0FE1DEA5-0000-4000-8000-00000000000A';

describe('what an application’s backend asks about users', () => {
  let asked: unknown[];
  let controller: UsersController;
  beforeEach(() => {
    asked = [];
    controller = new UsersController({
      signOut: (...call: unknown[]) => Promise.resolve(void asked.push(['signOut', ...call])),
      remove: (...call: unknown[]) => Promise.resolve(void asked.push(['remove', ...call])),
    } as Partial<UsersService> as UsersService);
  });

  // Contract §3: a device_id comes in any case, and is kept in lower case.
  it.each<[string, object, string | undefined]>([
    ['everywhere', {}, undefined],
    ['on a device', { device_id: DEVICE }, DEVICE.toLowerCase()],
  ])('is signed out %s', async (_where, body, deviceId) => {
    await controller.signOutUser('u', body);
    expect(asked).toEqual([['signOut', 'u', deviceId]]);
  });

  it('is signed out, or removed, by either id', async () => {
    await controller.signOutProviderUser({ provider: 'corp', provider_user_id: 'ada' });
    await controller.removeUser('u');
    expect(asked).toEqual([
      ['signOut', userIdOf('corp', 'ada')],
      ['remove', 'u'],
    ]);
  });
});
