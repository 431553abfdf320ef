import { DeviceList, DeviceView } from '../../src/device/devices.dto.js';
import { EXAMPLE } from '../examples.js';
import type { Operations } from '../operation.js';
import { SignedOut } from '../../src/auth/sign-out/sign-out.dto.js';
import { Me } from '../../src/user/me.controller.js';

const tag = 'The caller';

const DEVICE = {
  device_id: EXAMPLE.deviceId,
  device_name: "Ada's laptop",
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  created_at: EXAMPLE.time,
  last_seen_at: EXAMPLE.time,
  current: true,
  signed_in: true,
  online: false,
};

export const CALLER: Operations = {
  'GET /me': {
    id: 'me',
    tag,
    summary: 'Who the caller is',
    description: 'As the provider described them at their last sign-in.',
    answers: {
      200: {
        description: 'The user.',
        types: [Me],
        examples: {
          Ada: {
            user_id: EXAMPLE.userId,
            username: 'Ada Lovelace',
            email: 'ada@example.com',
            avatar_url: null,
            created_at: EXAMPLE.time,
          },
        },
      },
    },
    errors: ['not_found'],
  },
  'GET /devices': {
    id: 'devices',
    tag,
    summary: 'The caller’s devices',
    description:
      'Newest use first, 100 a page. A device that is used between two pages moves to the first one.',
    answers: {
      200: {
        description: 'A page of devices.',
        types: [DeviceList],
        examples: {
          'one device': { devices: [DEVICE] },
          'more than 100 devices': {
            devices: [DEVICE],
            next_cursor: `1735732800000000-${EXAMPLE.deviceId}`,
          },
        },
      },
    },
    parameters: { cursor: `1735732800000000-${EXAMPLE.deviceId}` },
  },
  'PATCH /devices/{device_id}': {
    id: 'renameDevice',
    tag,
    summary: 'Rename a device',
    description: 'Each renaming is an event in the user’s history, so it is limited for each user.',
    answers: {
      200: { description: 'The device.', types: [DeviceView], examples: { renamed: DEVICE } },
    },
    errors: ['not_found'],
    bodies: { 'a name': { device_name: "Ada's laptop" } },
    parameters: { device_id: EXAMPLE.deviceId },
  },
  'DELETE /devices/{device_id}': {
    id: 'removeDevice',
    tag,
    summary: 'Sign a device out and forget it',
    answers: { 204: { description: 'It is gone.' } },
    errors: ['not_found'],
    parameters: { device_id: EXAMPLE.deviceId },
  },
  'POST /sign-out': {
    id: 'signOut',
    tag,
    summary: 'Sign out',
    description:
      '`current` (the default): every session of the caller’s device, or the caller’s session where it has none. `others`: everything else. `all`: both. Devices stay listed. Access tokens are refused and sockets closed within a second, on every instance.',
    answers: {
      200: {
        description:
          'Signed out; with `provider_logout`, where the browser signs out at the provider as well.',
        types: [SignedOut],
        examples: {
          'at the provider, too': { redirect_url: 'https://login.example/logout?client_id=latchkey' },
        },
      },
      204: { description: 'Signed out.' },
    },
    bodies: {
      'this device': { scope: 'current' },
      'all other devices': { scope: 'others' },
      'everywhere, and at the provider': {
        scope: 'all',
        provider_logout: { redirect_uri: 'https://app.example/goodbye' },
      },
    },
  },
};
