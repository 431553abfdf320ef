import { jest } from '@jest/globals';
import { Logger, type ArgumentsHost } from '@nestjs/common';
import { OAuthError, type ErrorCode } from '../../platform/errors/oauth-error.js';
import { ProviderRefusal } from '../../provider/transport/provider-answer.js';
import { ClientErrorFilter } from './client-error.filter.js';
import { ErrorForClient } from './client-request.js';

const client = { redirectUri: 'https://app.example/cb', state: null };

/** What the filter does to a response, and what it logs. */
function filtered(
  thrown: unknown,
  { isOfBrowser = true, accepted = 'html' } = {},
): { response: { sent: unknown[]; locals: object }; logged: unknown[] } {
  const logged: unknown[] = [];
  for (const level of ['debug', 'warn', 'error'] as const) {
    jest
      .spyOn(Logger.prototype, level)
      .mockImplementation((entry: unknown) => void logged.push({ level, entry }));
  }
  const sent: unknown[] = [];
  const note = (...what: unknown[]) => (sent.push(what.length === 1 ? what[0] : what), response);
  const response = {
    app: { locals: {} },
    locals: {} as { error?: string },
    sent,
    status: note,
    setHeader: note,
    set: () => response,
    removeHeader: () => response,
    type: note,
    json: note,
    send: note,
    end: () => sent.push('end'),
  };
  const request = { id: 'r1', accepts: () => accepted };
  const http = { getRequest: () => request, getResponse: () => response };
  const host = { switchToHttp: () => http } as unknown as ArgumentsHost;
  const filter = new ClientErrorFilter(() => isOfBrowser);
  filter.catch(thrown, host);
  return { response: { sent, locals: response.locals }, logged };
}

function answerTo(cause?: unknown): { response: object; logged: unknown[] } {
  return filtered(new ErrorForClient(client, 'https://id.example', 'server_error', { cause }));
}

describe('an error of which a client is told', () => {
  afterEach(() => void jest.restoreAllMocks());

  it.each<[string, unknown, string]>([
    ['without a cause', undefined, 'debug'],
    ['when the provider said no', new ProviderRefusal('access_denied', 'x'), 'warn'],
    ['when the request was wrong', new OAuthError('invalid_grant', 'x'), 'warn'],
    ['when something of ours is away', new OAuthError('server_error', 'x'), 'error'],
    ['when something else went wrong', new Error('x'), 'error'],
  ])('is logged %s', (_name, cause, level) => {
    const entry = { request_id: 'r1', msg: 'error for the client: server_error', err: cause };
    expect(answerTo(cause).logged).toStrictEqual([{ level, entry }]);
  });
});

// RFC 6749 §4.1.2.1: the user is informed if the browser must not be sent back.
describe('an error of which no client can be told', () => {
  afterEach(() => void jest.restoreAllMocks());

  it.each<[string, OAuthError, number]>([
    ['as it is', new OAuthError('invalid_request', 'no such address'), 400],
    // 401 would ask the browser for credentials (RFC 9110 §15.5.2).
    ['without a challenge', new OAuthError('invalid_grant', 'the state is gone'), 400],
    ['where it is a fault of ours', new OAuthError('server_error', 'away'), 500],
  ])('is a page for a browser, and nothing else: %s', (_how, error, status) => {
    const { sent, locals } = filtered(error).response;
    expect(sent.filter((one) => typeof one === 'number').at(-1)).toBe(status);
    expect(sent.at(-1)).toMatch(/^<!doctype html>/);
    if (status < 500) expect(sent.at(-1)).toContain(error.description);
    expect(locals).toEqual({ error: error.error });
  });

  it.each([
    ['programs', { isOfBrowser: false }],
    ['who wants it', { accepted: 'json' }],
  ])('is JSON for %s', (_who, way) => {
    const error = new OAuthError('invalid_grant', 'the state is gone');
    expect(filtered(error, way).response.sent).toEqual([401, 'json', error.body]);
  });

  it.each<[ErrorCode, string, string[], string[]]>([
    ['server_error', 'away', ['try again in a moment'], ['away', 'developers']],
    ['slow_down', 'too many', ['try again in a moment'], ['too many', 'developers']],
    ['invalid_grant', 'used <b>', ['finished already', '<code>used &lt;b&gt;</code>'], ['in a moment']],
    ['payload_too_large', 'too large', ['begin again', '<code>too large</code>'], ['finished already']],
    ['invalid_request', 'client_id is required', ['Add this parameter', 'not complete'], ['taken too long']],
    ['invalid_request', 'client_id must be text', ['Correct this parameter'], ['finished already']],
    ['invalid_request', 'redirect_uri is not on the allow-list', ['Add it to REDIRECT_URIS'], []],
  ])('says on the page of %s (%s) what to do', (code, description, present, absent) => {
    const page = String(filtered(new OAuthError(code, description)).response.sent.at(-1));
    expect(page).toContain('<title>Sign-in is not possible</title>');
    for (const text of present) expect(page).toContain(text);
    for (const text of absent) expect(page).not.toContain(text);
  });
});
