import { causes, type Cause, type Happenings } from './causes.js';
import { isUnexchanged, refusals, refusedBefore, type Clocks, type Reason } from './refusals.js';
import type { Seen } from './seen.js';

const MINUTE = 60_000;
const same = (moment: number): number => moment;
const NOTHING: Happenings = {
  clockSets: [],
  withdrawals: [],
  freezes: [],
  turns: [],
  left: [],
  overtaken: new Set(),
};

const post = (at: number, changes: Partial<Seen> = {}): Seen => ({
  at,
  begun: at,
  ended: at + 50,
  method: 'POST',
  path: '/oauth2/refresh',
  status: 200,
  delivered: true,
  proof: `proof of ${at}`,
  proved: at,
  ...changes,
});
const signIn = post(0, { path: '/oauth2/token' });
const refused = (at: number, text = 'made within the last minute'): Seen =>
  post(at, { status: 400, refusal: `invalid_dpop_proof: ${text}` });

describe('a refresh', () => {
  const why = (seen: Seen[], happenings: Partial<Happenings> = {}): (Cause | undefined)[] => [
    ...causes(seen, same, { ...NOTHING, ...happenings }).values(),
  ];

  it.each<[string, Seen[], (Cause | undefined)[]]>([
    ['after an hour', [post(60 * MINUTE)], ['its time had come']],
    ['after half an hour', [post(30 * MINUTE)], [undefined]],
    ['twice after an hour', [post(60 * MINUTE), post(60 * MINUTE + 100)], ['its time had come', undefined]],
    [
      'again, since nobody got the first answer',
      [post(60 * MINUTE, { delivered: false }), post(60 * MINUTE + 100)],
      ['its time had come', 'its time had come'],
    ],
    [
      'again, since the first proof was made before a sleep',
      [refused(60 * MINUTE), post(60 * MINUTE + 100, { proved: 60 * MINUTE }), post(115 * MINUTE)],
      ['its time had come', 'its time had come'],
    ],
    ['that is refused', [refused(60 * MINUTE)], []],
  ])('%s', (_name, seen, expected) => {
    expect(why([signIn, ...seen])).toEqual(expected);
  });

  it('counts an age from the first proof of an attempt', () => {
    const trueTime = (moment: number): number => (moment < 60 * MINUTE + 80 ? moment : moment + 60 * MINUTE);
    const seen = [
      signIn,
      refused(60 * MINUTE),
      post(60 * MINUTE + 100, { proved: 120 * MINUTE }),
      post(60 * MINUTE + 200),
    ];
    expect([...causes(seen, trueTime, NOTHING).values()]).toEqual(['its time had come', 'its time had come']);
  });

  it('counts it from before a clock was turned, if that was while that proof was on its way', () => {
    const [from, to] = [MINUTE, MINUTE + 50];
    const hour = 60 * MINUTE;
    const seen = [
      signIn,
      refused(to + 5),
      post(to + 100, { proved: to + 100 + hour }),
      post(to + 200, { proved: to + 200 + hour }),
    ];
    const trueTime = (moment: number): number => (moment < to ? moment : moment + hour);
    const all = (happenings: Partial<Happenings>): (Cause | undefined)[] => [
      ...causes(seen, trueTime, { ...NOTHING, ...happenings }).values(),
    ];
    expect(all({ turns: [{ from, to }] })).toEqual(['its time had come', 'its time had come']);
    expect(all({})).toEqual(['its time had come', undefined]);
    expect(all({ turns: [{ from: from - 500, to: from - 400 }] })).toEqual(['its time had come', undefined]);
  });

  it.each<[string, Partial<Happenings>, (Cause | undefined)[]]>([
    [
      'the clock was set forward',
      { clockSets: [{ at: MINUTE, by: 60 * MINUTE }] },
      ['its time had come', undefined],
    ],
    [
      'the clock was set back',
      { clockSets: [{ at: MINUTE, by: -1 }] },
      ['the clock had been set back', undefined],
    ],
    [
      'it was set back while the last one was on its way',
      { clockSets: [{ at: -3, by: -1 }] },
      ['the clock had been set back', undefined],
    ],
    ['it was set back before that', { clockSets: [{ at: -400, by: -1 }] }, [undefined, undefined]],
    ['it was set forward then', { clockSets: [{ at: -3, by: 60 * MINUTE }] }, [undefined, undefined]],
    [
      'the key was withdrawn',
      { withdrawals: [{ from: MINUTE, to: MINUTE }] },
      ['the key was withdrawn', undefined],
    ],
    [
      'it was withdrawn later',
      { withdrawals: [{ from: 3 * MINUTE, to: 3 * MINUTE }] },
      [undefined, undefined],
    ],
    ['a tab was frozen', { freezes: [{ from: MINUTE, to: MINUTE + 5000 }] }, [undefined, undefined]],
    [
      'an answer came to a frozen tab',
      { freezes: [{ from: 0, to: 5 * MINUTE }] },
      ['the answer came to a frozen tab', undefined],
    ],
    [
      'a tab was closed before it stored the answer',
      { left: [{ from: 60, to: 80 }] },
      ['the answer came to a tab that was gone', undefined],
    ],
    [
      'a tab was closed while the answer was on its way',
      { left: [{ from: 10, to: 20 }] },
      ['the answer came to a tab that was gone', undefined],
    ],
    ['a tab was closed before it asked', { left: [{ from: -20, to: -10 }] }, [undefined, undefined]],
    ['a tab was closed later', { left: [{ from: 200, to: 280 }] }, [undefined, undefined]],
  ])('when %s, once', (_name, happenings, expected) => {
    expect(why([signIn, post(2 * MINUTE), post(2 * MINUTE + 1000)], happenings)).toEqual(expected);
  });

  it('that overtakes another', () => {
    const one = post(2 * MINUTE);
    expect(why([signIn, one], { overtaken: new Set([one]) })).toEqual(['one that hung was overtaken']);
  });

  it('that overtakes another, and needs a second proof', () => {
    const [first, second] = [refused(2 * MINUTE), post(2 * MINUTE + 100)];
    expect(why([signIn, first, second], { overtaken: new Set([first]) })).toEqual([
      'one that hung was overtaken',
    ]);
    expect(why([signIn, first, second])).toEqual([undefined]);
  });
});

describe('a refusal', () => {
  const me = { method: 'GET', path: '/me', status: 401, exp: 3600, kid: 'one' };
  const UNTOUCHED: Clocks = { clockSets: [], turns: [], freezes: [] };
  const why = (all: Seen[], clocks: Partial<Clocks> = {}): Reason | undefined =>
    refusals(all, same, new Set(['old']), { ...UNTOUCHED, ...clocks }).get(all.at(-1)!);

  it.each<[string, Seen, Reason | undefined]>([
    ['of a token that is good', post(MINUTE, me), undefined],
    ['of none', post(MINUTE, { method: 'GET', path: '/me', status: 401 }), undefined],
    ['of one that has ended', post(60 * MINUTE, me), 'its token had ended'],
    ['of one whose key was withdrawn', post(MINUTE, { ...me, kid: 'old' }), 'its key was withdrawn'],
    ['of a proof that is new', refused(MINUTE, 'it was used before'), undefined],
    [
      'of a proof that was sent twice',
      { ...refused(MINUTE, 'it was used before'), twice: true },
      'the gate sent the proof twice',
    ],
  ])('%s', (_name, one, reason) => {
    expect(why([signIn, one])).toBe(reason);
  });

  it('of a proof that came again, since the answer to the first was lost', () => {
    const again = { ...refused(MINUTE, 'it was used before'), proof: 'one' };
    const first = (changes: Partial<Seen>): Seen => post(MINUTE - 100, { proof: 'one', ...changes });
    expect(why([signIn, first({}), again])).toBe(undefined);
    for (const lost of [{ status: 0 }, { delivered: false }, { broken: true }])
      expect(why([signIn, first(lost), again])).toBe('the browser sent the proof again');
    expect(why([signIn, first({ status: 0, ended: MINUTE + 50 }), again])).toBe(undefined);
  });

  it('of a proof of another time, where the device has another one', () => {
    const [first, second] = [refused(MINUTE), refused(MINUTE + 100)];
    const reason = 'the proof was of another time';
    expect([why([first]), why([first, second])]).toEqual([undefined, undefined]);
    const set = { clockSets: [{ at: 1000 }] };
    expect([why([first], set), why([first, second], set)]).toEqual([reason, undefined]);
    for (const clocks of [
      { clockSets: [{ at: MINUTE + 60 }] },
      { turns: [{ from: MINUTE, to: MINUTE + 40 }] },
    ])
      expect(why([first, second], clocks)).toBe(reason);
    expect(why([first], { turns: [{ from: 1000, to: 2000 }] })).toBe(undefined);
    const turns = [{ from: MINUTE - 20, to: MINUTE - 1 }];
    const later = { ...first, proved: MINUTE - 20 - 3 * 60 * MINUTE };
    expect([why([first], { turns }), why([later], { turns })]).toEqual([reason, undefined]);
  });

  it('of a proof of another time, by a tab that was just thawed, and had been frozen while clocks were turned', () => {
    const turns = [{ from: 1000, to: 1020 }];
    const thawed = (from: number, to: number): Reason | undefined =>
      why([refused(MINUTE)], { turns, freezes: [{ from, to }] });
    expect(thawed(900, MINUTE - 10)).toBe('the proof was of another time');
    expect([thawed(1100, MINUTE - 10), thawed(900, MINUTE - 400), thawed(900, MINUTE + 10)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('of the first proof of an attempt', () => {
    const [first, second, other, later] = [refused(1000), refused(1100), refused(1200), refused(9000)];
    const all = [signIn, first, second, other, later];
    const before = all.map((one) => refusedBefore(one, all));
    expect(before).toEqual([undefined, undefined, first, undefined, undefined]);
    const lost = { ...refused(1000), delivered: false };
    expect(refusedBefore(second, [lost, second])).toBeUndefined();
  });

  it('of a token that has to be exchanged', () => {
    const one = post(5 * MINUTE, { ...me, kid: 'old' });
    const told = 5 * MINUTE + 200;
    const judged = (others: Seen[], troubles: { from: number; to?: number }[] = []): boolean =>
      isUnexchanged(one, told, [signIn, one, ...others], troubles, [], same);
    expect(judged([])).toBe(true);
    expect(judged([post(5 * MINUTE + 100)])).toBe(true);
    expect(judged([refused(5 * MINUTE + 100)])).toBe(false);
    expect(judged([refused(5 * MINUTE - 1000)])).toBe(false);
    expect(judged([], [{ from: 0, to: 5 * MINUTE }])).toBe(true);
    expect(judged([], [{ from: 0 }])).toBe(false);
    const young = post(MINUTE, { ...me, kid: 'old' });
    expect(isUnexchanged(young, MINUTE + 200, [signIn, young], [], [], same)).toBe(false);
  });

  it('of the second token of a request, where the clocks were turned since that was made', () => {
    const first = post(5 * MINUTE, me);
    const second = post(6 * MINUTE, { ...me, begun: first.begun });
    const during = [{ from: second.at + 5, to: second.at + 25 }];
    const judged = (seen: Seen[], turns: { from: number; to: number }[]): boolean =>
      isUnexchanged(second, second.at + 60, [signIn, ...seen], [], turns, same);
    expect(judged([first, second], during)).toBe(false);
    expect(judged([second], during)).toBe(true);
    expect(judged([first, second], [{ from: first.at, to: first.at + 20 }])).toBe(false);
    expect(judged([first, second], [{ from: first.at - 30, to: first.at - 10 }])).toBe(true);
    expect(isUnexchanged(first, second.at + 60, [signIn, first, second], [], [], same)).toBe(false);
  });
});
