import { makeLeave } from './sign-out.js';
import { openSession, put, tokensNow } from '../testing/tab.js';

it('ends nothing of another user, who has signed in while a token was on its way', async () => {
  let come = (_token: object): void => undefined;
  const answer = new Promise<object>((resolve) => (come = resolve));
  const { area, keeper, refresher, emitted } = openSession({ received_at: 0 }, [answer]);
  const called: string[] = [];
  const call = async <Answer>(method: string): Promise<Answer> => {
    called.push(method);
    return undefined as Answer;
  };
  const leave = makeLeave(call, keeper, refresher, () => called.push('notified'));
  const left = leave('POST', '/sign-out', true);
  put(area, tokensNow({ access_token: 'his', refresh_token: 'lkr_2', user_id: 'bob' }));
  come({ access_token: 'hers', expires_in: 3600 });
  expect(await left).toBeUndefined();
  expect([called, keeper.get()?.user_id]).toEqual([[], 'bob']);
  expect(emitted).toMatchObject([
    ['ended', 'user'],
    ['change', { userId: 'bob' }],
  ]);
  refresher.stop();
});
