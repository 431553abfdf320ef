import { randomUUID } from 'node:crypto';
import type { Cluster } from './cluster.js';

interface Answered {
  readonly call: string;
  readonly status: number;
  readonly milliseconds: number;
}

/** People who sign in, refresh and are pushed to, again and again, until told to stop. */
export class SignInLoad {
  readonly answered: Answered[] = [];
  private ended = false;
  private readonly people: Promise<void[]>;

  constructor(
    private readonly cluster: Cluster,
    private readonly url: string,
    count: number,
  ) {
    this.people = Promise.all(Array.from({ length: count }, () => this.person()));
  }

  /** What was not answered with success. */
  failed(): Answered[] {
    return this.answered.filter(({ status }) => status >= 300);
  }

  /** The longest that anybody waited for an answer, from the answer with this number on. */
  longest(from = 0): number {
    return Math.max(0, ...this.answered.slice(from).map(({ milliseconds }) => milliseconds));
  }

  async stop(): Promise<void> {
    this.ended = true;
    await this.people;
  }

  private async person(): Promise<void> {
    while (!this.ended) {
      const { state } = await this.ask('GET', '/oauth2/authorize?provider=stub');
      const signIn = { code: randomUUID(), state, device_id: randomUUID(), device_name: 'Laptop' };
      const { refresh_token, user_id } = await this.ask('POST', '/oauth2/token', signIn);
      await this.ask('POST', '/oauth2/refresh', { refresh_token });
      await this.timed('/push', () => this.cluster.push({ url: this.url }, { user_id, event: 'news' }));
    }
  }

  private async ask(method: string, path: string, body?: object): Promise<Record<string, string>> {
    const { body: answer } = await this.timed(path, async () => {
      const json = body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
      const response = await fetch(this.url + path, { method, ...json });
      return { status: response.status, body: (await response.json()) as Record<string, string> };
    });
    return answer;
  }

  private async timed<Answer extends { status: number }>(
    call: string,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    const began = performance.now();
    const answer = await work();
    this.answered.push({ call, status: answer.status, milliseconds: performance.now() - began });
    return answer;
  }
}
