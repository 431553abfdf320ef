import adapter from './adapter.js';
import { testAdapter } from './adapter-contract.js';

testAdapter(adapter, {
  userId: 'u-1',
  accepted: () => ({ body: { id: 'u-1', name: 'Ada', mail: 'ada@corp.example' } }),
  refused: () => ({ status: 403, body: {} }),
});
