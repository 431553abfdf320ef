import { errorOf, isAnswer, isSuccess, type Reply } from './reply.js';

/**
 * One code for several attempts that must fail, so that a person need not sign in for each. A provider may drop a code
 * after a failed attempt: so an `invalid_grant` for a code that was sent before proves nothing, and the attempt is repeated
 * with a fresh code.
 */
export class LiveCode {
  private code: string | undefined;
  private shown = false;

  /** @param fresh gets a code by one more sign-in */
  constructor(private readonly fresh: () => Promise<string>) {}

  /** The reply to an attempt; if it is refused, that is not because its code was used before. */
  async attempt(send: (code: string) => Promise<Reply>): Promise<Reply> {
    const wasShown = this.shown;
    const reply = await this.show(send);
    const isDropped = isAnswer(reply) && errorOf(reply) === 'invalid_grant';
    if (!(wasShown && isDropped)) return reply;
    this.drop();
    return this.show(send);
  }

  private async show(send: (code: string) => Promise<Reply>): Promise<Reply> {
    this.code ??= await this.fresh();
    this.shown = true;
    const reply = await send(this.code);
    if (isSuccess(reply)) this.drop();
    return reply;
  }

  private drop(): void {
    this.code = undefined;
    this.shown = false;
  }
}
