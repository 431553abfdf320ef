import type { Settings } from '../../platform/config/settings/settings.js';
import { Audiences } from '../access-tokens/audiences.js';
import { ServiceKeys } from './jwt.guard.js';

const settings = {
  serviceKeys: [
    { name: 'push-1', key: 'one', rights: ['push'] },
    { name: 'helpdesk', key: 'two', rights: ['read', 'users'] },
    { name: 'users-3', key: 'one', rights: ['users'] },
  ],
} as unknown as Settings;
const keys = new ServiceKeys(settings, new Audiences());

describe('what the holder of a service key may do', () => {
  it.each<[string, [name: string, ...rights: string[]] | undefined]>([
    ['two', ['helpdesk', 'read', 'users']],
    ['one', ['push-1', 'push', 'users']],
    ['One', undefined],
    ['', undefined],
    ['onetwo', undefined],
  ])('%j', (key, expected) => {
    const found = keys.find(key);
    expect(found && [found.name, ...found.rights]).toEqual(expected);
  });
});
