import { handshakeReader } from './first-message.js';
import { overlapping, staleRequests, TIME_PASSES, wrongEvents, type Trouble } from './judgement.js';
import type { Seen } from './seen.js';

const same = (moment: number): number => moment;
const HOUR = 3_600_000;

const request = (begun: number, changes: Partial<Seen> = {}): Seen => ({
  begun,
  at: begun + 20,
  method: 'GET',
  path: '/me',
  exp: 10 * 3600,
  ended: begun + 50,
  status: 200,
  ...changes,
});
const refresh = (at: number, ended: number | undefined, changes: Partial<Seen> = {}): Seen => {
  const { exp: _, ...rest } = request(at);
  return { ...rest, method: 'POST', path: '/oauth2/refresh', at, ended: ended!, ...changes };
};

/** The token of these requests ends at 10:00. */
describe('a request with a token that ends', () => {
  const end = 10 * HOUR;

  it.each<[string, number, Seen[], number]>([
    ['in half an hour', end - HOUR / 2, [], 0],
    ['in four minutes', end - 240_000, [], 1],
    ['a second ago', end + 1000, [], 1],
    [
      'a second ago, waiting for a refresh that began in trouble',
      end + 1000,
      [refresh(end - 9000, end + 2000)],
      0,
    ],
    ['a second ago, after a refresh that began in trouble', end + 1000, [refresh(end - 9000, end)], 1],
    [
      'a second ago, when the service has said to wait',
      end + 1000,
      [refresh(end - 2000, end - 1900, { status: 503, retryAfter: 5 })],
      0,
    ],
    [
      'a second ago, when a proof was refused and another one taken',
      end + 1000,
      [
        refresh(end - 200, end - 150, { status: 400, refusal: 'invalid_dpop_proof', proof: 'one' }),
        refresh(end - 100, end - 50, { proof: 'two' }),
      ],
      1,
    ],
    [
      'a second ago, after the service has said to wait',
      end + 1000,
      [refresh(end - 8000, end - 7000, { status: 503, retryAfter: 5 })],
      1,
    ],
  ])('%s', (_name, begun, refreshes, count) => {
    const troubles = [{ what: 'network', from: end - 9500, to: end - 8500 }];
    expect(staleRequests([...refreshes, request(begun)], troubles, same).stale).toHaveLength(count);
  });

  it('while there is trouble, or there was while it was under way', () => {
    const late = request(end + 1000, { at: end + 5000 });
    const judged = (times: Omit<Trouble, 'what'>, before: Seen[] = []): number =>
      staleRequests([...before, late], [{ what: 'network', ...times }], same).stale.length;
    expect(judged({ from: end + 4000, to: end + 4500 })).toBe(0);
    expect(judged({ from: end + 4000 })).toBe(0);
    expect(judged({ from: end + 6000 })).toBe(1);
    // Its token was taken before the browser asked whether it may be sent.
    const { exp: _, ...rest } = request(end + 1000);
    const preflight = { ...rest, at: end + 3000, method: 'OPTIONS' };
    expect(judged({ from: end + 4000 }, [preflight])).toBe(1);
    expect(judged({ from: end + 2000, to: end + 2500 }, [preflight])).toBe(0);
  });

  it('while the clock is turned, but not afterwards', () => {
    const turned = { what: TIME_PASSES, from: end, to: end + 1000 };
    const [during, after] = [request(end + 900), request(end + 1100)];
    const waited = request(end + 900, { at: end + 5000 });
    const judged = staleRequests([during, after, waited], [turned], same);
    expect(judged).toEqual({ stale: [after, waited], excused: new Map([[TIME_PASSES, 1]]) });
  });

  it('by the true time, not by the clock of the machine', () => {
    const one = request(end - HOUR);
    expect(staleRequests([one], [], (moment) => moment + HOUR).stale).toEqual([one]);
  });

  it('of a socket as well', () => {
    const one = request(end, { method: 'WS', path: '/socket.io/' });
    expect(staleRequests([one], [], same).stale).toEqual([one]);
  });
});

describe('two refreshes', () => {
  const count = (later: Seen): object => {
    const { overlaps, resent, overtaken } = overlapping([refresh(1000, 2000, { proof: 'one' }), later], same);
    return { overlaps: overlaps.length, resent, overtaken: overtaken.size };
  };

  it.each([
    ['at once', refresh(1500, 1600, { proof: 'two' }), { overlaps: 1, resent: 0, overtaken: 0 }],
    ['one after the other', refresh(2000, 2100), { overlaps: 0, resent: 0, overtaken: 0 }],
    ['the same one twice', refresh(1500, 1600, { proof: 'one' }), { overlaps: 1, resent: 0, overtaken: 0 }],
  ])('%s', (_name, later, counts) => {
    expect(count(later)).toEqual(counts);
  });

  it('of which the second is the first again, since its answer was lost', () => {
    const again = refresh(1500, 1600, { proof: 'one' });
    const resent = (changes: Partial<Seen>): number =>
      overlapping([refresh(1000, 1400, { proof: 'one', ...changes }), again], same).resent;
    expect([resent({}), resent({ status: 0 }), resent({ delivered: false })]).toEqual([0, 1, 1]);
  });

  it('right after the one before was given up, which the gate may not have noticed yet', () => {
    const overlaps = (at: number, changes: Partial<Seen>): number =>
      overlapping([refresh(1000, 2000, changes), refresh(at, 2100)], same).overlaps.length;
    expect(overlaps(1950, { delivered: false })).toBe(0);
    expect(overlaps(1950, { delivered: true })).toBe(1);
    expect(overlaps(1850, { delivered: false })).toBe(1);
  });

  it('at once, right after one that hung had been given up, and long after that', () => {
    const hung = refresh(1000, 14_000);
    const [soon, late] = [
      [refresh(14_100, 14_300), refresh(14_200, 14_300)],
      [refresh(18_100, 18_300), refresh(18_200, 18_300)],
    ];
    expect(overlapping([hung, ...soon], same)).toMatchObject({ overlaps: [], overtaken: new Set([soon[1]]) });
    expect(overlapping([hung, ...late], same).overlaps).toHaveLength(1);
  });

  it('at once, right after the device slept, though the one before was answered just before that', () => {
    const overSleep = (moment: number): number => (moment < 1200 ? moment : moment + HOUR);
    const all = [refresh(1000, 1100), refresh(1300, 1900), refresh(1500, 1600)];
    expect(overlapping(all, overSleep)).toMatchObject({ overlaps: [all.slice(1)], overtaken: new Set() });
  });

  it('of which the first one hangs', () => {
    const hanging = refresh(1000, undefined);
    expect(overlapping([hanging, refresh(9000, 9100)], same).overlaps).toHaveLength(1);
    const late = refresh(14_000, 14_100);
    expect(overlapping([hanging, late], same)).toMatchObject({ overlaps: [], overtaken: new Set([late]) });
  });

  it('at once, where somebody has waited for two in a row for longer than for one', () => {
    const jumps = (moment: number): number => moment + (moment < 1100 ? 0 : moment < 1400 ? 11_000 : 15_000);
    const first = refresh(1000, 1150, { delivered: false });
    const all = [first, refresh(1350, 1600), refresh(1450, 1500)];
    expect(overlapping(all, jumps)).toMatchObject({ overlaps: [], overtaken: new Set([all[2]]) });
    expect(overlapping(all, same).overlaps).toEqual([all.slice(1)]);
    expect(overlapping(all.slice(1), jumps).overlaps).toEqual([all.slice(1)]);
  });

  it('of which the second was on its way when the first was answered, both after others that had hung', () => {
    const jumps = (moment: number): number => moment + (moment < 1100 ? 0 : moment < 1400 ? 11_000 : 15_000);
    const hung = [refresh(1000, 1150, { delivered: false }), refresh(1350, 1600, { delivered: false })];
    const overtaken = (at: number, clock: (moment: number) => number, before = hung): number => {
      const all = [...before, refresh(1650, 1680), refresh(at, at + 30)];
      return overlapping(all, clock).overtaken.size;
    };
    expect([overtaken(1690, jumps), overtaken(1980, jumps)]).toEqual([1, 1]);
    expect([overtaken(1981, jumps), overtaken(1690, same), overtaken(1690, jumps, [])]).toEqual([0, 0, 0]);
  });

  it('at once, after others that each had a token', () => {
    const answered = Array.from({ length: 30 }, (_, n) => refresh(1000 + 400 * n, 1100 + 400 * n));
    const two = [refresh(13_000, 13_200), refresh(13_010, 13_100)];
    expect(overlapping([...answered, ...two], same).overlaps).toEqual([two]);
  });

  it('at once, of which one is of a tab that was frozen for long, and is thawed', () => {
    const two = [refresh(13_000, 13_200), refresh(13_010, 13_100)];
    const overlaps = (from: number, to?: number, thawing?: number): number =>
      overlapping(two, same, [{ from, ...(to && { to }), ...(thawing && { thawing }) }]).overlaps.length;
    expect([overlaps(1000, 13_005), overlaps(1000, 13_200, 13_005)]).toEqual([0, 0]);
    expect(overlaps(1000, 13_200, 13_020)).toBe(1); // it was frozen yet
    expect([overlaps(1000, 12_000), overlaps(5000, 13_005), overlaps(1000)]).toEqual([1, 1, 1]);
  });

  it.each([undefined, 14_500])('at once, both while one hangs until %p', (ended) => {
    const all = [refresh(1000, ended), refresh(14_000, 14_100), refresh(14_050, 14_100)];
    expect(overlapping(all, same).overlaps).toEqual([all.slice(1)]);
  });

  it('at once, after one that was given up before the device slept: nobody has waited over that', () => {
    const overSleep = (moment: number): number => (moment < 1200 ? moment : moment + HOUR);
    const two = [refresh(1350, 2600), refresh(1750, 1800)];
    const all = [refresh(1000, 1050, { delivered: false }), ...two];
    expect(overlapping(all, overSleep).overlaps).toEqual([two]);
  });
});

it.each([
  [[5, 6, 8], undefined],
  [[5, 6, 6, 8], 'twice: 5,6,6,8'],
  [[6, 5, 8], 'out of order: 6,5,8'],
  [[5, 8], 'never: 6'],
])('events %j', (got, wrong) => {
  expect(wrongEvents(4, got, new Set([3, 4, 5, 6, 8]))).toBe(wrong);
});

it.each([20, 200, 70_000])(
  'the token of a handshake is read from frames, however they are cut: %i bytes',
  (size) => {
    const token = 'x'.repeat(size);
    const bytes = Buffer.concat([frame('3'), frame(`40${JSON.stringify({ token })}`), frame('42["more"]')]);
    const read = handshakeReader();
    const found: (string | undefined)[] = [];
    for (let begin = 0; begin < bytes.length; begin += 7) found.push(read(bytes.subarray(begin, begin + 7)));
    expect(found.filter((one) => one !== undefined)).toEqual([token]);
  },
);

/** A masked frame (RFC 6455 §5.2). */
function frame(text: string): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const payload = Buffer.from(text).map((byte, n) => byte ^ mask[n % 4]!);
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x81;
  head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, mask, payload]);
}
