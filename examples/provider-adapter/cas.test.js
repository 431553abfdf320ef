import { test } from 'node:test';
import { adapterChecks } from 'latchkey/adapter-test';
import adapter from './cas.js';

const say = (answer) => () => ({ body: { serviceResponse: answer } });

const checks = adapterChecks(adapter, {
  userId: 'ada',
  accepted: say({ authenticationSuccess: { user: 'ada', attributes: { mail: ['ada@campus.example'] } } }),
  refused: say({ authenticationFailure: { code: 'INVALID_TICKET', description: 'not recognized' } }),
  codeInAddress: true,
  // CAS knows no state: it comes back because it is in the address of the service.
  callback(page, code) {
    const back = new URL(page.searchParams.get('service'));
    back.searchParams.append('ticket', code);
    return back;
  },
});
for (const { name, run } of checks) void test(name, run);
