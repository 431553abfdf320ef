import { createInterface, type Interface } from 'node:readline';
import { CannotRun } from '../cannot-run.js';
import { invitation, type Person, type Return } from './person.js';

/** A person whose browser ends at a callback elsewhere, and who pastes its address from the address bar. */
export class PastingPerson implements Person {
  private lines: Interface | undefined;
  private pasted: AsyncIterator<string> | undefined;

  /** @param planned how many sign-ins there will be @param wait seconds for each */
  constructor(
    readonly redirectUri: string,
    private readonly planned: number,
    private readonly wait: number,
    private readonly say: (line: string) => void,
  ) {}

  async signIn(address: URL): Promise<Return> {
    if (!this.pasted) this.say(invitation(this.planned));
    this.lines ??= createInterface({ input: process.stdin }); // not earlier: an open input keeps the process alive
    this.pasted ??= this.lines[Symbol.asyncIterator]();
    this.say(`Open in a browser: ${address.href}\nSign in, and paste the address that the browser ends at:`);
    const timer = setTimeout(() => this.lines?.close(), this.wait * 1000);
    try {
      for (;;) {
        const { done, value } = await this.pasted.next();
        if (done) throw new CannotRun('no address of the callback was pasted');
        const url = value.trim();
        if (URL.canParse(url)) return { url, method: 'GET' };
        this.say('That is not an address. Please paste all of it, from http to its end:');
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async leave(): Promise<void> {
    this.lines?.close();
  }
}
