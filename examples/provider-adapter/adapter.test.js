import { test } from 'node:test';
import { adapterChecks } from 'latchkey/adapter-test';
import adapter from './adapter.js';

const checks = adapterChecks(adapter, {
  userId: 'u-1',
  accepted: () => ({ body: { id: 'u-1', name: 'Ada', mail: 'ada@corp.example' } }),
  refused: () => ({ status: 403, body: {} }),
});
for (const { name, run } of checks) void test(name, run);
