import type { Response } from 'supertest';
import { Agent } from '../../../test/support/agent.js';
import { ISSUER } from '../../world/world.js';
import { PROGRAM } from './program.js';

/** Browser of a person who allows the program. It uses one instance, and the provider sends it back at once. */
export class Browser extends Agent {
  override origin = ISSUER;

  /** @param providerCode with which the provider sends it back */
  constructor(
    private readonly instance: string,
    private readonly providerCode: string,
  ) {
    super(instance, PROGRAM);
  }

  override get(address: string): Promise<Response> {
    const { origin, pathname, search, searchParams } = new URL(address, this.instance);
    if (origin === this.instance || origin === ISSUER) return super.get(this.instance + pathname + search);
    const answer = new URLSearchParams({ code: this.providerCode, state: searchParams.get('state')! });
    return this.get(`${searchParams.get('redirect_uri')}?${answer.toString()}`);
  }

  /** @returns the last answer: what the program receives, or a page without a way there */
  async allow(): Promise<Response> {
    const page = await this.ask({ provider: 'stub' });
    return page.status === 200 ? this.answer(page, 'yes') : page;
  }
}
