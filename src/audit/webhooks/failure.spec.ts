import { toFailure, toFailureWithoutAnswer } from './failure.js';

const NOW = Date.parse('2026-11-26T03:00:00Z');

describe('an answer to a webhook', () => {
  it.each([200, 204, 299])('%i accepts the event', (status) => {
    expect(toFailure({ status, retryAfter: '60' }, NOW)).toBeUndefined();
  });

  it.each([
    [400, true, false],
    [401, true, false],
    [404, true, false],
    [422, true, false],
    [499, true, false],
    [408, false, false],
    [429, false, false],
    [410, false, true],
    [199, false, false],
    [302, false, false],
    [500, false, false],
    [503, false, false],
  ])('%i: refuses the event: %s, is gone: %s', (status, isRefusal, isGone) => {
    const reason = `status ${status}`;
    expect(toFailure({ status, retryAfter: undefined }, NOW)).toEqual({
      reason,
      isRefusal,
      isGone,
      waitS: 0,
    });
  });

  it.each([
    [429, '30', 30],
    [503, ' 30 ', 30],
    [503, 'Thu, 26 Nov 2026 03:10:00 GMT', 600],
    [503, 'Thu, 26 Nov 2026 02:00:00 GMT', 0],
    [503, 'Fri, 26 Nov 2027 03:10:00 GMT', 3600],
    [429, '3601', 3600],
    [429, '99999999999999999999', 0],
    [429, '-5', 0],
    [429, '1e9', 0],
    [429, '', 0],
    [429, 'soon', 0],
    [500, '30', 0],
    [403, '30', 0],
  ])('%i with Retry-After %j: %i s', (status, retryAfter, waitS) => {
    expect(toFailure({ status, retryAfter }, NOW)).toMatchObject({ waitS });
  });

  it('without one is no refusal', () => {
    expect(toFailureWithoutAnswer(new Error('no answer within 10 s'))).toMatchObject({ isRefusal: false });
  });
});
