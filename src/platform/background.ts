import {
  Global,
  Injectable,
  Logger,
  Module,
  type DynamicModule,
  type OnApplicationShutdown,
} from '@nestjs/common';

export interface Work {
  readonly everyMs: number;
  /** Share by which the interval varies: instances that started together do not always compete. */
  readonly jitter?: number;
  /** Logged with the error, at level `debug` or this one. The next run follows after the interval. */
  readonly failure: string;
  readonly level?: 'warn';
}

/** All repeated work of an instance, except that of features and of single open connections. */
export const BACKGROUND_WORK = {
  'read-clock': { everyMs: 10_000, failure: 'the clock of the database was not read: the last offset stays' },
  'read-keys': { everyMs: 500, failure: 'the signing keys were not read: the known keys stay in use' },
  'rotate-keys': {
    everyMs: 60_000,
    failure: 'the signing keys were not rotated; the next try is in a minute',
    level: 'warn',
  },
  'read-ended-sessions': {
    everyMs: 500,
    failure: 'sign-outs were not read: the next reading covers the time',
  },
  'write-last-use': {
    everyMs: 5000,
    failure: 'the last use of sessions could not be written',
    level: 'warn',
  },
  'end-expired-sockets': { everyMs: 250, failure: 'expired sockets were not closed' },
  'write-presence': { everyMs: 1000, failure: 'presence was not written: it is in the next write' },
  'renew-presence': {
    everyMs: 10_000,
    failure: 'this instance was not renewed: without that, it soon counts as gone',
  },
  'compare-histories': { everyMs: 1000, failure: 'histories were not compared: they stay in doubt' },
  /** Finds events of instances that were killed between a commit and its notification. */
  'doubt-histories': { everyMs: 15_000, failure: 'histories were not marked for comparison' },
  /** The subscriber sends nothing else, so only a ping reveals a dead connection. */
  'ping-redis': { everyMs: 1000, failure: 'Redis did not answer: ioredis reconnects' },
  /** Tables marked as `first`, which never wait for the others. Expired rows are removed within a minute. */
  'remove-first-rows': { everyMs: 30_000, jitter: 0.25, failure: 'expired rows were not removed' },
  'remove-other-rows': { everyMs: 30_000, jitter: 0.25, failure: 'expired rows were not removed' },
  'remove-old-webhooks': {
    everyMs: 600_000,
    failure: 'cursors of former webhook addresses were not removed',
  },
} as const satisfies Record<string, Work>;

/** Repeats work: a run is skipped while the last one continues, and no error leaves it. */
@Injectable()
export class Background implements OnApplicationShutdown {
  private readonly logger = new Logger(Background.name);
  private readonly work: ReadonlyMap<string, Work>;
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly running = new Map<string, Promise<void>>();

  /** @param ofFeatures work by name */
  constructor(ofFeatures: readonly (readonly [string, Work])[] = []) {
    this.work = new Map([...Object.entries(BACKGROUND_WORK), ...ofFeatures]);
  }

  /** Starts the work. Its first run is after one interval, or also `atStart`. */
  repeat(name: string, run: () => unknown, { atStart = false } = {}): void {
    if (this.timers.has(name)) throw new Error(`${name} is repeated already`);
    const { everyMs, jitter = 0 } = this.find(name);
    const ms = everyMs * (1 + jitter * (2 * Math.random() - 1));
    const tick = (): void => {
      if (this.running.has(name)) return;
      this.running.set(
        name,
        this.attempt(name, run).finally(() => this.running.delete(name)),
      );
    };
    this.timers.set(name, setInterval(tick, ms).unref());
    if (atStart) tick();
  }

  /** Stops the work, at the latest when connections are closed. @returns resolves after the present run */
  async stop(name: string): Promise<void> {
    clearInterval(this.timers.get(name));
    await this.running.get(name);
  }

  /** Requests that are answered during a shutdown need the work, so it stops after them. */
  onApplicationShutdown(): void {
    for (const timer of this.timers.values()) clearInterval(timer);
  }

  private find(name: string): Work {
    const work = this.work.get(name);
    if (!work) throw new Error(`${name} is declared neither in BACKGROUND_WORK nor by a feature`);
    return work;
  }

  private async attempt(name: string, run: () => unknown): Promise<void> {
    try {
      await run();
    } catch (error) {
      const { failure, level } = this.find(name);
      this.logger[level ?? 'debug']({ err: error, work: name, msg: failure });
    }
  }
}

@Global()
@Module({})
export class BackgroundModule {
  /** @param ofFeatures work by name */
  static forRoot(ofFeatures: readonly (readonly [string, Work])[]): DynamicModule {
    const background = { provide: Background, useFactory: () => new Background(ofFeatures) };
    return { module: BackgroundModule, providers: [background], exports: [background] };
  }
}
