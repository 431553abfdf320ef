import { causes, type Cause, type Happenings } from './causes.js';
import { refusals, refusedBefore, type Reason } from './refusals.js';
import type { Seen } from './seen.js';

const MINUTE = 60_000;
const same = (moment: number): number => moment;
const NOTHING: Happenings = { clockSets: [], withdrawals: [], freezes: [], turns: [], overtaken: new Set() };

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

  it('counts it from that proof where a clock was turned before its request arrived, whose time may be wrong else', () => {
    const seen = [
      signIn,
      { ...refused(60 * MINUTE + 10), proved: 2 * MINUTE },
      post(60 * MINUTE + 100),
      post(60 * MINUTE + 200),
    ];
    const turns = [{ from: 60 * MINUTE - 50, to: 60 * MINUTE }];
    expect(why(seen, { turns })).toEqual(['its time had come', 'its time had come']);
    expect(why(seen)).toEqual(['its time had come', undefined]);
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
      'the key was withdrawn',
      { withdrawals: [{ from: MINUTE, to: MINUTE }] },
      ['the key was withdrawn', undefined],
    ],
    [
      'it was withdrawn later',
      { withdrawals: [{ from: 3 * MINUTE, to: 3 * MINUTE }] },
      [undefined, undefined],
    ],
    [
      'a tab was frozen',
      { freezes: [{ from: MINUTE, to: 5 * MINUTE }] },
      ['the answer came to a frozen tab', undefined],
    ],
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

  it.each<[string, Seen, Reason | undefined]>([
    ['of a token that is good', post(MINUTE, me), undefined],
    ['of one that has ended', post(60 * MINUTE, me), 'its token had ended'],
    ['of one whose key was withdrawn', post(MINUTE, { ...me, kid: 'old' }), 'its key was withdrawn'],
    ['of a proof that is new', refused(MINUTE, 'it was used before'), undefined],
    ['of a proof of another time', refused(MINUTE), 'the proof was of another time'],
    [
      'of a proof that was sent twice',
      { ...refused(MINUTE, 'it was used before'), twice: true },
      'the gate sent the proof twice',
    ],
    [
      'of a proof that came again',
      { ...refused(MINUTE, 'it was used before'), proof: signIn.proof! },
      'the browser sent the proof again',
    ],
  ])('%s', (_name, one, reason) => {
    expect(refusals([signIn, one], same, new Set(['old'])).get(one)).toBe(reason);
  });

  it('of the first proof of an attempt', () => {
    const [first, second, later] = [refused(1000), refused(1100), refused(9000)];
    const all = [signIn, first, second, later];
    expect(all.map((one) => refusedBefore(one, all))).toEqual([undefined, undefined, first, undefined]);
  });
});
