import { FaultHttp, SLOW_DATABASE, FaultTally } from './fault-http.js';
import { FaultPerson, type Damage } from './fault-person.js';
import { reportFault } from './faults.js';

const PAUSE_MS = 100;

/**
 * Sign-ins, refreshes, pushes and sockets that go on while something is broken. Afterwards it asks for everything that
 * was acknowledged: each token must work, and each push must have come once and in order to a socket that was there all
 * the time, and to one that comes now and asks for the whole history.
 */
export class FaultLoad {
  readonly tally = new FaultTally();
  private readonly http: FaultHttp;
  private readonly people: FaultPerson[];
  private ended = false;
  private work: Promise<unknown> = Promise.resolve();

  private constructor(urls: readonly string[], people: number, ca?: string) {
    this.http = new FaultHttp(this.tally, ca);
    const addresses = urls.map((url) => url.replace('//localhost:', '//127.0.0.1:'));
    this.people = Array.from({ length: people }, (_, i) => new FaultPerson(this.http, addresses, i, ca));
  }

  /**
   * Resolves once everybody has signed in and listens.
   * @param urls of instances, or of the proxy before them; requests go to them in turn
   * @param people each sends some 20 requests a second
   * @param ca what to trust at `https:` addresses
   */
  static async start(urls: readonly string[], people = 8, ca?: string): Promise<FaultLoad> {
    const load = new FaultLoad(urls, people, ca);
    await Promise.all(load.people.map((person) => person.begin()));
    load.work = Promise.all(load.people.map((person) => person.run(() => load.ended, PAUSE_MS)));
    return load;
  }

  /** Resolves after so many more successes: work goes on (again). */
  async successes(count: number): Promise<void> {
    const { tally } = this;
    const succeeded = (): number => tally.requests - tally.failed;
    const wanted = succeeded() + count;
    while (succeeded() < wanted && !this.ended) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Failures that are not those of a busy machine, whose database takes too long: `<kind of request> <status>`. */
  unexcused(): string[] {
    return [...this.tally.failures.keys()].filter((failure) => !failure.endsWith(SLOW_DATABASE));
  }

  /** Ends the load, reports it, and expects all that was acknowledged, once and in order: the service must be well again. */
  async finish(fault: string, notes?: string): Promise<void> {
    await this.end();
    const longestGapMs = this.tally.longestGap();
    const damages = await Promise.all(this.people.map((person) => person.damage()));
    const sum = (of: (damage: Damage) => number): number => damages.reduce((all, one) => all + of(one), 0);
    const { requests, failed } = this.tally;
    const lost = sum((damage) => damage.lost);
    const doubled = sum((damage) => damage.doubled);
    const acknowledged = this.people.reduce((all, person) => all + person.acknowledged, 0);
    expect(acknowledged).toBeGreaterThan(0);
    reportFault({
      fault,
      requests,
      failed,
      longestGapMs,
      acknowledged,
      lost,
      doubled,
      ...(notes !== undefined && { notes }),
    });
    const disordered = sum((damage) => damage.disordered);
    expect({ lost, doubled, disordered }).toEqual({ lost: 0, doubled: 0, disordered: 0 });
  }

  /** Also where a test has failed: leaves no socket, and no request under way. */
  async close(): Promise<void> {
    await this.end();
    for (const person of this.people) person.close();
    this.http.close();
  }

  private async end(): Promise<void> {
    this.ended = true;
    await this.work;
  }
}
