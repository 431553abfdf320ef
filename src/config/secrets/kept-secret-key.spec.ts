import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keptSecretKey } from './kept-secret-key.js';
import { Refused } from '../settings/kinds.js';

describe('a generated key', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = join(mkdtempSync(join(tmpdir(), 'latchkey-key-')), 'data');
  });
  afterEach(() => rmSync(join(dataDir, '..'), { recursive: true }));

  it('is kept, for its owner only, and found again', () => {
    const first = keptSecretKey(dataDir);
    expect(first.created).toBe(join(dataDir, 'secret-key'));
    expect(statSync(join(dataDir, 'secret-key')).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o077).toBe(0);
    expect(readdirSync(dataDir)).toEqual(['secret-key']);
    expect(readFileSync(join(dataDir, 'secret-key'), 'utf8')).toMatch(/^[0-9a-f]{64}$/);
    const again = keptSecretKey(dataDir);
    expect(again.created).toBeUndefined();
    expect(again.key.derive('x')).toEqual(first.key.derive('x'));
  });

  it('is never replaced, even if the file holds no key', () => {
    keptSecretKey(dataDir);
    writeFileSync(join(dataDir, 'secret-key'), '');
    expect(() => keptSecretKey(dataDir)).toThrow(Refused);
    expect(readFileSync(join(dataDir, 'secret-key'), 'utf8')).toBe('');
  });
});
