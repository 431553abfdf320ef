import { CrowdOfSignIns } from '../../test/support/crowd.js';
import { query } from '../../test/support/database.js';
import type { Tokens } from '../../test/support/sign-in.js';
import { post } from './call.js';
import { patiently } from './patiently.js';
import type { World } from './world.js';

const PEOPLE = 6; // at each instance
const REFRESHED = 5;

export class SignInLoad {
  acknowledged = 0;
  lost = 0;

  constructor(private readonly world: World) {}

  async beside<Result>(work: () => Promise<Result>): Promise<Result> {
    const told: Tokens[] = [];
    const crowds = this.world.urls.map((url) => new CrowdOfSignIns(url, PEOPLE, told));
    try {
      return await work();
    } finally {
      await Promise.all(crowds.map((crowd) => crowd.stop()));
      await this.lookFor(told);
    }
  }

  private async lookFor(told: readonly Tokens[]): Promise<void> {
    const tokens = told.map(({ access_token }) => access_token);
    const found = 'SELECT count(*)::int AS n FROM access_tokens WHERE token = ANY ($1)';
    const [row] = await query<{ n: number }>(this.world.databaseUrl(), found, [tokens]);
    this.acknowledged += tokens.length;
    this.lost += tokens.length - row!.n;
    for (const { refresh_token } of told.slice(-REFRESHED)) {
      for (const url of this.world.urls) {
        const status = await patiently(async () => {
          const answer = await post(`${url}/oauth2/refresh`, { refresh_token }).answer;
          if (answer?.status === 500) throw new Error('an acknowledged refresh token got 500');
          return answer?.status;
        });
        if (status !== 200) throw new Error(`an acknowledged refresh token got ${status}`);
      }
    }
  }
}
