import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded-postgres.js';

/** Starts of a test in this process, with what they log. */
export class Starts {
  readonly log: string[] = [];
  private readonly started: { stop(): Promise<unknown> }[] = [];
  private logged: (line: string) => void = () => undefined;

  async start(options: Omit<Parameters<typeof startEmbeddedPostgres>[0], 'log'>): Promise<EmbeddedPostgres> {
    const log = (text: string): void => {
      this.log.push(text);
      this.logged(text);
    };
    return this.add(await startEmbeddedPostgres({ ...options, log }));
  }

  /** Stops it with the others. @returns the thing itself */
  add<Thing extends { stop(): Promise<unknown> }>(thing: Thing): Thing {
    this.started.push(thing);
    return thing;
  }

  /** Resolves with the next logged line that matches. */
  line(pattern: RegExp): Promise<string> {
    return new Promise((resolve) => {
      this.logged = (text) => pattern.test(text) && resolve(text);
    });
  }

  /** Stops all, and forgets what they have logged. */
  async stop(): Promise<void> {
    for (const one of this.started.splice(0)) await one.stop();
    this.log.length = 0;
  }
}
