import type { Device, User } from './device-list.js';
import { inTurn } from './in-turn.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Latchkey } from './latchkey.js';
import type { Call } from './service.js';
import type { Leave } from './sign-out.js';
import type { TokenKeeper } from './tokens.js';

export type Account = Pick<Latchkey, 'me' | 'devices' | 'renameDevice' | 'removeDevice'>;

/**
 * The calls about the user and the devices.
 * @param api calls the service with the token
 * @param isConnected of the channel of this client; undefined while it has none
 */
export function makeAccount(
  api: Call,
  leave: Leave,
  keeper: TokenKeeper,
  isConnected: () => boolean | undefined,
): Account {
  const me = inTurn(async () => {
    const user = await api<User>('GET', '/me');
    keeper.know(user);
    return user;
  });
  const pagesFrom = async (query: string): Promise<Device[]> => {
    const page = await api<{ devices: Device[]; next_cursor?: string }>('GET', '/devices' + query);
    const { devices, next_cursor: more } = page; // the cursor is safe in a URL
    if (!Array.isArray(devices)) throw new LatchkeyError('unexpected_answer');
    return more ? devices.concat(await pagesFrom('?cursor=' + more)) : devices;
  };
  const list = inTurn(() => pagesFrom(''));
  return {
    me,
    async devices() {
      const devices = await list();
      // The service hears of a connection some seconds late, and of a lost one up to a minute. Of this device we know better;
      // but while this client has no channel, another tab of it may have one.
      return devices.map((device) => ({
        ...device,
        online: (device.current ? isConnected() : undefined) ?? device.online,
      }));
    },
    renameDevice: (id, name) => api('PATCH', `/devices/${id}`, { device_name: name }),
    removeDevice: (id) => leave('DELETE', `/devices/${id}`, id === keeper.get()?.device_id),
  };
}
