import { jest } from '@jest/globals';
import { Logger, type ArgumentsHost } from '@nestjs/common';
import { OAuthError } from '../../errors/oauth-error.js';
import { ProviderRefusal } from '../../provider/provider-answer.js';
import { ClientErrorFilter } from './client-error.filter.js';
import { ErrorForClient } from './error-for-client.js';

const client = { redirectUri: 'https://app.example/cb', state: null };
const ADDRESS = 'https://app.example/cb?error=server_error&iss=https%3A%2F%2Fid.example';

/** What the filter does to a response, and what it logs. */
function answerTo(cause?: unknown): { response: object; logged: unknown[] } {
  const logged: unknown[] = [];
  for (const level of ['debug', 'warn', 'error'] as const) {
    jest
      .spyOn(Logger.prototype, level)
      .mockImplementation((entry: unknown) => void logged.push({ level, entry }));
  }
  const response = {
    locals: {} as { error?: string },
    sent: [] as unknown[],
    status: (code: number) => (response.sent.push(code), response),
    setHeader: (...header: unknown[]) => (response.sent.push(header), response),
    end: () => response.sent.push('end'),
  };
  const http = { getRequest: () => ({ id: 'r1' }), getResponse: () => response };
  const error = new ErrorForClient(client, 'https://id.example', {
    error: 'server_error',
    ...(cause !== undefined && { cause }),
  });
  new ClientErrorFilter(() => true).catch(error, { switchToHttp: () => http } as unknown as ArgumentsHost);
  return { response: { sent: response.sent, locals: response.locals }, logged };
}

describe('an error of which a client is told', () => {
  afterEach(() => void jest.restoreAllMocks());

  it('goes to the client', () => {
    expect(answerTo().response).toEqual({
      sent: [302, ['Location', ADDRESS], 'end'],
      locals: { error: 'server_error' },
    });
  });

  it.each<[string, unknown, string]>([
    ['without a cause', undefined, 'debug'],
    ['when the provider said no', new ProviderRefusal('access_denied', 'x'), 'warn'],
    ['when the request was wrong', new OAuthError('invalid_grant', 'x'), 'warn'],
    ['when something of ours is away', new OAuthError('server_error', 'x'), 'error'],
    ['when something else went wrong', new Error('x'), 'error'],
  ])('is logged %s', (_name, cause, level) => {
    const entry = {
      request_id: 'r1',
      msg: 'a client is told: server_error',
      ...(cause !== undefined && { err: cause }),
    };
    expect(answerTo(cause).logged).toEqual([{ level, entry }]);
  });
});
