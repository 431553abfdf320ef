import type { Settings } from '../../config/settings/settings.js';
import { ServiceKeys } from './service-keys.js';

const keys = new ServiceKeys({
  serviceKeys: [
    { key: 'one', rights: ['push'] },
    { key: 'two', rights: ['read', 'users'] },
    { key: 'one', rights: ['users'] },
  ],
} as unknown as Settings);

describe('what the holder of a service key may do', () => {
  it.each<[string, string[] | undefined]>([
    ['two', ['read', 'users']],
    ['one', ['push', 'users']],
    ['One', undefined],
    ['', undefined],
    ['onetwo', undefined],
  ])('%j', (key, rights) => {
    const found = keys.rightsOf(key);
    expect(found && [...found]).toEqual(rights);
  });
});
