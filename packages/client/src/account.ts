import type { LatchkeyError } from './latchkey-error.js';
import type { Device, DeviceRequest, Latchkey, RefusedProgram, User } from './latchkey.js';
import type { Post } from './service/post.js';
import type { Call } from './service/service.js';
import type { Refresher } from './tokens/refresher.js';
import type { TokenKeeper } from './tokens/tokens.js';

export type Account = Pick<
  Latchkey,
  | 'me'
  | 'devices'
  | 'renameDevice'
  | 'refusedPrograms'
  | 'allowProgram'
  | 'deviceRequests'
  | 'decideDeviceRequest'
>;

/**
 * The calls about the user and the devices. This file is loaded with the first one, and imports nothing of the main file.
 * @param Failure LatchkeyError
 * @param api calls the service with the token
 * @param post posts to the service with a proof
 * @param authorizedFetch adds the token, and asks the user to sign in again if the service wants it
 * @param isConnected whether this client's channel is connected; undefined without a channel
 */
export function makeAccount(
  Failure: typeof LatchkeyError,
  api: Call,
  keeper: TokenKeeper,
  { expectClaims }: Pick<Refresher, 'expectClaims'>,
  isConnected: () => boolean | undefined,
  post: Post,
  authorizedFetch: (request: Request) => Promise<Response>,
): Account {
  const me = shared(async () => {
    const user = await api<User>('GET', '/me');
    keeper.putProfile(user);
    expectClaims(user.claims);
    return user;
  });
  const pagesFrom = async (query: string): Promise<Device[]> => {
    const page = await api<{ devices: Device[]; next_cursor?: string }>('GET', '/devices' + query);
    const { devices, next_cursor: more } = page; // the cursor is safe in a URL
    if (!Array.isArray(devices)) throw new Failure('unexpected_answer');
    return more ? devices.concat(await pagesFrom('?cursor=' + more)) : devices;
  };
  const list = shared(() => pagesFrom(''));
  return {
    me,
    async devices() {
      const devices = await list();
      // The service notices connections late. This client knows its own, but another tab may have one, too.
      return devices.map((device) => ({
        ...device,
        online: (device.current ? isConnected() : undefined) ?? device.online,
      }));
    },
    renameDevice: (id, name) => api('PATCH', `/devices/${id}`, { device_name: name }),
    async refusedPrograms() {
      return (await api<{ programs: RefusedProgram[] }>('GET', '/devices/refused')).programs;
    },
    allowProgram: (id) => api('POST', `/devices/${id}/allow`),
    async deviceRequests() {
      return (await api<{ device_requests: DeviceRequest[] }>('GET', '/me/device-requests')).device_requests;
    },
    decideDeviceRequest: (code, approve, number) =>
      post(
        '/me/device-requests/' + encodeURIComponent(code),
        { approve, number },
        () => keeper.get()?.binding,
        authorizedFetch,
      ),
  };
}

/**
 * Shares requests between concurrent calls: calls during a request wait for the next one, which begins afterwards. So a burst costs
 * two requests, and no answer is older than its call.
 */
export function shared<Answer>(request: () => Promise<Answer>): () => Promise<Answer> {
  let running: Promise<unknown> | undefined;
  let next: Promise<Answer> | undefined;
  const begin = (): Promise<Answer> => {
    next = undefined;
    const answer = request();
    const mine = (running = answer
      .catch(() => undefined)
      .then(() => void (running === mine && (running = undefined))));
    return answer;
  };
  return () => (running ? (next ??= running.then(begin)) : begin());
}
