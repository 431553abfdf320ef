import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { collect } from '../src/collect.js';
import type { Evidence } from '../src/evidence.js';
import { LoopbackPerson } from '../src/sign-in/loopback-person.js';
import { evaluate, tableReport, type Report } from '../src/report.js';
import { RULES } from '../src/rules.js';
import { codeStrength } from '../src/rules/code.js';
import { https } from '../src/rules/https.js';
import { matchesSourceExpression } from '../src/rules/authorization-page.js';
import { ADVISED, BROKEN } from './support/broken-providers.js';
import { check, idsOf, runChecker, type Checked, type JsonReport } from './support/checker.js';
import {
  authorize,
  CLIENT,
  ContractProvider,
  exchange,
  refusal,
  type Faults,
} from './support/contract-provider.js';
import { ProviderRegistry } from '../../../src/provider/provider.registry.js';
import { freePort } from '../../../test/support/free-port.js';
import { signInFrom, submitForm } from './support/person.js';
import { startTestService, type TestService } from '../../../test/support/service.js';
import { use } from '../../../test/support/use.js';

const credentials = ['--client-id', CLIENT.id, '--client-secret', CLIENT.secret];
const idsOfLevel = (wanted: string): string[] =>
  RULES.filter(({ level }) => level === wanted).map(({ id }) => id);

/** Checks a provider with these faults; nothing that is printed may hold a secret. */
async function checkFaulty(
  faults: Faults = {},
  ...more: string[]
): Promise<Checked & { report: JsonReport }> {
  const provider = await ContractProvider.start(faults);
  try {
    const checked = await check([provider.url, ...credentials, '--json', ...more]);
    for (const secret of [CLIENT.secret, ...provider.issued.filter((code) => code.length > 6)]) {
      expect(checked.stdout + checked.stderr).not.toContain(secret);
    }
    return { ...checked, report: JSON.parse(checked.stdout) as JsonReport };
  } finally {
    await provider.close();
  }
}

describe('a provider that keeps the contract', () => {
  it('passes, without a browser if none is needed', async () => {
    const { code, report, stderr } = await checkFaulty();
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(report).toMatchObject({ version: 1, ok: true, error: null });
    expect(report.results.map(({ id }) => id)).toEqual(RULES.map(({ id }) => id));
    expect(idsOf(report, 'skipped')).toEqual(['code-expiry']);
    expect(idsOf(report, 'pass')).toHaveLength(RULES.length - 1);
  });

  it.each([
    ['encodes every character', 'a+b/c=d&e#f%g h%41', encodeURIComponent],
    ['writes a space as +', 'a b+c', (code: string) => new URLSearchParams({ '': code }).toString().slice(1)],
  ])('may have any code that it encodes: %s', async (_name, odd, encode) => {
    const encoding: Faults = {
      authorize: (query, good) => {
        const reply = authorize(query, good);
        const old = good.issued.pop()!;
        const code = `${old}${odd}`;
        good.issued.push(code);
        good.codes.set(code, good.codes.get(old)!);
        const { Location = '', ...others } = reply.headers ?? {};
        return { ...reply, headers: { ...others, Location: Location.replace(old, () => encode(code)) } };
      },
    };
    const { code, report } = await checkFaulty(encoding);
    expect([idsOf(report, 'fail'), idsOf(report, 'advice')]).toEqual([[], []]);
    expect(code).toBe(0);
  });

  it('may drop a code after a failed attempt', async () => {
    const dropping: Faults = {
      exchange: (form, good) => {
        const code = form.get('code') ?? '';
        const isSpent = code !== '' && !good.codes.has(code);
        const reply = isSpent ? refusal(400, 'invalid_grant') : exchange(form, good);
        good.codes.delete(code);
        return reply;
      },
    };
    const { code, report } = await checkFaulty(dropping);
    expect(idsOf(report, 'fail')).toEqual([]);
    expect(idsOf(report, 'advice')).toEqual([]);
    expect(idsOf(report, 'skipped')).toEqual(['code-expiry']);
    expect(code).toBe(0);
  });

  it.each<[string, Record<string, string>]>([
    [
      'a list of ancestors with the application',
      { 'Content-Security-Policy': 'frame-ancestors https://*.app.example' },
    ],
    ['any ancestor', { 'Content-Security-Policy': "default-src 'none'; frame-ancestors *" }],
  ])('may send %s', async (_name, headers) => {
    const redirectUri = 'https://www.app.example/callback';
    const { code } = await checkFaulty(withHeaders(headers), '--redirect-uri', redirectUri);
    expect(code).toBe(0);
  });

  it('may send null for an optional field, and refuse a state that is not hex and a redirect URI with a query', async () => {
    const strict: Faults = {
      authorize: (query, good) =>
        /^[0-9a-f]+$/.test(query.get('state')!) && !query.get('redirect_uri')!.includes('?')
          ? authorize(query, good)
          : { status: 400 },
      exchange: (form, good) => {
        const { body, ...reply } = exchange(form, good);
        return { ...reply, body: { ...(body as object), ...(reply.status === 200 && { avatar_url: null }) } };
      },
    };
    const { code, report } = await checkFaulty(strict);
    expect(code).toBe(0);
    expect(idsOf(report, 'advice')).toEqual([]);
    expect(idsOf(report, 'skipped')).toEqual(['state-any-text', 'redirect-query', 'code-expiry']);
  });

  it('may ask for its page by way of another one, with a cookie', async () => {
    const byAnotherPage: Faults = {
      authorize: (query, good, cookie) => {
        if (cookie === 'session=1') return authorize(query, good);
        return {
          status: 302,
          headers: { Location: `?${query.toString()}`, 'Set-Cookie': 'session=1; HttpOnly' },
        };
      },
    };
    expect((await checkFaulty(byAnotherPage)).code).toBe(0);
  });
});

function withHeaders(headers: Record<string, string>): Faults {
  return {
    authorize: (query, good) => {
      const reply = authorize(query, good);
      return { ...reply, headers: { ...reply.headers, ...headers } };
    },
  };
}

describe('a broken provider', () => {
  it('exists for every required rule, and for every advice but the slow one and https', () => {
    expect(new Set(BROKEN.map(({ rule }) => rule))).toEqual(new Set(idsOfLevel('required')));
    const advised = idsOfLevel('advice').filter((id) => id !== 'code-expiry' && id !== 'https');
    expect(new Set(ADVISED.map(({ rule }) => rule))).toEqual(new Set(advised));
  });

  it.each(BROKEN)('fails by $rule alone: $fault', async ({ rule, ...faults }) => {
    const { code, report } = await checkFaulty(faults);
    expect(idsOf(report, 'fail')).toEqual([rule]);
    expect(idsOf(report, 'advice')).toEqual([]);
    expect(code).toBe(1);
    expect(report.ok).toBe(false);
    const { clause, seen, mend } = report.results.find(({ id }) => id === rule)!;
    expect(clause).toMatch(/^§/);
    expect(seen).not.toBe('');
    expect(mend).not.toBeNull();
  });

  it.each(ADVISED)('gets the advice of $rule alone, and passes: $fault', async ({ rule, ...faults }) => {
    const { code, report } = await checkFaulty(faults);
    expect(idsOf(report, 'fail')).toEqual([]);
    expect(idsOf(report, 'advice')).toEqual([rule]);
    expect(code).toBe(0);
  });

  it.each([
    ['+', 'percent-encode the code: + as %2B'],
    ['&', 'percent-encode the code: & as %26'],
    ['%', 'percent-encode the code: % as %25'],
    ['%41', 'percent-encode the code: % as %25'],
  ])('is told which character of a code to encode: %s', async (characters, advice) => {
    const faults = BROKEN.find(({ fault }) => fault === `does not encode ${characters}`)!;
    const { report } = await checkFaulty(faults);
    const { seen, mend } = report.results.find(({ id }) => id === 'redirect-form')!;
    expect(seen).toMatch(/^a [+&%] in the code that is not encoded/);
    expect(mend).toContain(advice);
  });

  it('answers with a head that is too long, and the check says so', async () => {
    const { code, report } = await checkFaulty(withHeaders({ 'X-Long': 'x'.repeat(17_000) }));
    expect(code).toBe(1);
    const { seen } = report.results.find(({ id }) => id === 'authorization-page')!;
    expect(seen).toContain('headers over 16 KiB');
  });

  it('cannot make the report show its secrets', async () => {
    const echoing: Faults = {
      exchange: (form) => ({
        status: 400,
        body: { error: form.get('client_secret'), error_description: 'no' },
      }),
    };
    const { code, report } = await checkFaulty(echoing);
    expect(code).toBe(1);
    expect(report.results.find(({ id }) => id === 'exchange-success')!.seen).toBe('400 [redacted]');
  });

  it('cannot write to the terminal', async () => {
    const { stdout } = await checkFaulty(withHeaders({ 'Content-Type': 'text/html; \u009b31m' }));
    expect(stdout).toMatch(/^[\x20-\x7e\n§]+$/);
  });
});

describe('what no provider on this machine can show', () => {
  // fetch reads heads of 16 KiB, so only a pasted address can bring such a code.
  it.each([
    [16_384, 'pass'],
    [16_385, 'fail'],
  ])('a code of %i characters: %s', (length, verdict) => {
    expect(
      codeStrength.run({ codes: ['aB'.repeat(length).slice(0, length)] } as unknown as Evidence).verdict,
    ).toBe(verdict);
  });

  it.each([
    ['http://login.example', 'fail'],
    ['https://login.example', 'pass'],
    ['http://localhost:3000', 'pass'],
    ['http://127.0.0.1.example', 'fail'],
  ])('%s: %s', (providerUrl, verdict) => {
    expect(https.run({ providerUrl } as Evidence).verdict).toBe(verdict);
  });

  it.each([
    ['*', true],
    ['https:', true],
    ['http:', true],
    ['https://app.example', true],
    ['*.example', true],
    ["'none'", false],
    ['wss:', false],
    ['https://other.example', false],
    ['https://app.example:8443', false],
    ['app.example.evil', false],
    ['*.app.example', false],
  ])('frame-ancestors %s allows https://app.example: %s', (source, allows) => {
    expect(matchesSourceExpression(source, new URL('https://app.example/callback'))).toBe(allows);
  });
});

describe('codes, ten minutes later (--slow)', () => {
  async function checkSlowly(expires: boolean): Promise<Report> {
    const provider = await ContractProvider.start();
    const nobody = {
      redirectUri: 'http://127.0.0.1:1/callback',
      signIn: () => Promise.reject(new Error()),
      leave: async () => {},
    };
    const options = {
      providerUrl: provider.url,
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      redirectUri: undefined,
      json: false,
      slow: true,
      wait: 1,
    };
    const sleep = async (ms: number): Promise<void> => {
      expect(ms).toBeGreaterThan(600_000);
      if (expires) provider.codes.clear();
    };
    try {
      return evaluate(await collect(options, nobody, sleep), []);
    } finally {
      await provider.close();
    }
  }

  it.each([
    [true, 'pass'],
    [false, 'advice'],
  ])('expired: %s, verdict: %s', async (expires, verdict) => {
    const { ok, results } = await checkSlowly(expires);
    expect(results.find(({ id }) => id === 'code-expiry')!.verdict).toBe(verdict);
    expect(ok).toBe(true);
  });
});

describe('a login page', () => {
  const service = use(() => startTestService());

  const ada = { login: 'ada', password: 'analytical-engine' };
  const argsFor = ({ url, app }: TestService, ...more: string[]): string[] => {
    const { clientId, clientSecret } = app.get(ProviderRegistry).get('mock').settings;
    const provider = `${url}/providers/mock/`;
    return ['check-provider', provider, '--client-id', clientId, '--client-secret', clientSecret, ...more];
  };

  it('needs four sign-ins from one address: the sample provider passes', async () => {
    let lastPage: Promise<string> | undefined;
    const { code, stdout, stderr } = await runChecker(argsFor(service, '--json'), (address) => {
      lastPage = signInFrom(address, ada);
    });
    expect(stderr).toContain('sign in 4 times');
    const report = JSON.parse(stdout) as JsonReport;
    expect(idsOf(report, 'fail')).toEqual([]);
    expect(idsOf(report, 'advice')).toEqual([]);
    expect(idsOf(report, 'skipped')).toEqual(['redirect-status', 'code-expiry']);
    expect(await lastPage).toContain('You can close this page');
    expect(code).toBe(0);
  });

  it('needs sign-ins by hand, with pasted addresses, if the callback is not ours', async () => {
    const redirectUri = 'https://app.example/callback?keep=1';
    const answered: Promise<void>[] = [];
    const { code, stdout } = await runChecker(
      argsFor(service, '--redirect-uri', redirectUri),
      (address, stdin) => {
        if (answered.length === 0) stdin.write('what?\n');
        answered.push(submitForm(address, ada).then((url) => void stdin.write(`${url}\n`)));
      },
    );
    expect(answered).toHaveLength(4);
    expect(stdout).toContain('That is not an address.');
    expect(stdout).toMatch(/\n30 hold, 0 fail, 0 advice, 2 skipped\n$/);
    expect(code).toBe(0);
  });

  it('at which nobody signs in gives no verdict: exit code 2', async () => {
    const loopback = await check(argsFor(service, '--wait', '1').slice(1));
    expect(loopback.code).toBe(2);
    expect(loopback.stderr).toContain('nobody came back from the login page within 1 s');
    const ended = await runChecker(
      argsFor(service, '--redirect-uri', 'https://app.example/callback'),
      (_address, stdin) => stdin.end(),
    );
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('no address of the callback was pasted');
  });

  it('that answers the form with 307 is found', async () => {
    const provider = await ContractProvider.start({
      authorize: () => ({
        status: 200,
        headers: { 'Content-Type': 'text/html; charset=utf-8' },
        body: '<form>',
      }),
    });
    try {
      const { stdout, code } = await runChecker(
        ['check-provider', provider.url, ...credentials, '--json'],
        (address) => {
          void fetch(`${address}callback?error=access_denied&state=1`, {
            method: 'POST',
            body: 'a=1',
          }).catch(() => undefined);
        },
      );
      expect(idsOf(JSON.parse(stdout) as JsonReport, 'fail')).toEqual([
        'redirect-status',
        'redirect-form',
        'state-echo',
      ]);
      expect(code).toBe(1);
    } finally {
      await provider.close();
    }
  });
});

describe("the loopback callback's listener", () => {
  const first = new URL('http://login.example/1');
  const second = new URL('http://login.example/2');
  const open = (url: string): Promise<Response> => fetch(url, { redirect: 'manual' });

  it('leads from one sign-in to the next, also if the browser was reloaded', async () => {
    const person = await LoopbackPerson.listen(2, 10, () => undefined);
    const callback = `${person.redirectUri}?code=a`;
    const start = new URL('/', callback).href;
    expect((await open(start)).headers.get('location')).toBeNull();

    const back = person.signIn(first);
    expect((await open(start)).headers.get('location')).toBe(first.href);
    expect((await open(new URL('/favicon.ico', callback).href)).status).toBe(404);
    const opened = open(callback);
    expect(await back).toEqual({ url: callback, method: 'GET' });

    const again = person.signIn(second);
    expect((await opened).headers.get('location')).toBe(second.href);
    expect((await open(callback)).headers.get('location')).toBe(second.href);
    const last = open(`${person.redirectUri}?code=b`);
    await again;
    await person.leave();
    expect(await (await last).text()).toContain('You can close this page');
  });
});

describe('examples/contract-provider', () => {
  const file = fileURLToPath(new URL('../../../examples/contract-provider/provider.js', import.meta.url));

  it('is a complete provider in 65 lines, and passes', async () => {
    expect(readFileSync(file, 'utf8').trimEnd().split('\n').length).toBe(65);
    const port = await freePort();
    const env = { PATH: process.env['PATH'], PORT: String(port), CLIENT_SECRET: CLIENT.secret };
    const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(child.stdout, 'data');
      const url = `http://127.0.0.1:${port}`;
      const { code, stdout } = await runChecker(['check-provider', url, ...credentials], (address) => {
        void signInFrom(address, { login: 'ada', password: 'analytical-engine' });
      });
      expect(stdout).toMatch(/ 0 fail, 0 advice, /);
      expect(code).toBe(0);
    } finally {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    }
  });
});

describe('the command line', () => {
  const url = 'http://127.0.0.1:9';
  it.each([
    ['no URL', [...credentials]],
    ['no client secret', [url, '--client-id', CLIENT.id]],
    ['an unknown option', [url, ...credentials, '--quick']],
    ['no URL at all', ['login.example', ...credentials]],
    ['a URL with a query', [`${url}/?a=1`, ...credentials]],
    ['a URL with a password', ['http://a:b@login.example', ...credentials]],
    ['a redirect URI with a fragment', [url, ...credentials, '--redirect-uri', 'https://a.example/#b']],
    ['a time that is not a number', [url, ...credentials, '--wait', 'long']],
  ])('with %s: usage, and exit code 2', async (_name, args) => {
    expectUsage(await check(args));
  });

  function expectUsage({ code, stdout, stderr }: Checked): void {
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^check-provider: .+\n\nUsage: latchkey check-provider <url>/);
    expect(stderr).not.toContain(CLIENT.secret);
    expect(stderr).not.toMatch(/^\s+at /m);
  }

  it('shows its usage', async () => {
    for (const { code, stdout } of [await runChecker(['check-provider', '--help']), await check(['-h'])]) {
      expect(code).toBe(0);
      expect(stdout).toMatch(/^Usage: /);
    }
  });

  it('with an unreachable provider: exit code 2, in JSON, too', async () => {
    const away = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await check([away, ...credentials, '--json']);
    expect(code).toBe(2);
    expect(stderr).toBe('check-provider: the provider cannot be reached: no answer (ECONNREFUSED)\n');
    expect(JSON.parse(stdout)).toEqual({
      version: 1,
      provider: null,
      ok: false,
      results: [],
      error: 'the provider cannot be reached: no answer (ECONNREFUSED)',
    });
  });
});

describe('the table', () => {
  it('has a line for each rule, with clause, verdict, what was seen and how to fix it; in colour if wanted', async () => {
    const provider = await ContractProvider.start(BROKEN.find(({ rule }) => rule === 'frame-options-deny'));
    try {
      const { stdout, code } = await runChecker(['check-provider', provider.url, ...credentials]);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^FAIL +§4\.5\.1 \(4\) +the page sends no X-Frame-Options: DENY +X-Frame-Options: DENY -> leave the header out/m,
      );
      expect(stdout.split('\n').filter((line) => line.includes('§'))).toHaveLength(RULES.length);
      expect(stdout).not.toContain('\u001b');
    } finally {
      await provider.close();
    }
    const result = {
      id: 'a',
      clause: '§1',
      title: 't',
      level: 'required',
      verdict: 'pass',
      seen: 's',
      mend: null,
    } as const;
    expect(tableReport({ provider: 'p', ok: true, results: [result] }, true)).toContain(
      '\u001b[32mpass   \u001b[0m',
    );
  });
});
