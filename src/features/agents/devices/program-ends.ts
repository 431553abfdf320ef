import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { ConcurrencyLimit } from '../../../platform/database/limits.js';
import type { EndCause } from '../../../platform/events.js';
import { AgentDevices, type ProgramKind } from './agent-device.store.js';

/** Milliseconds after which a call ends no further slice: proxies wait for an answer. */
const MOST_MS = 10_000;

/** Ends the sessions of a program at all of its users. */
@Injectable()
export class ProgramEnds {
  private readonly limit: ConcurrencyLimit;

  constructor(
    private readonly devices: AgentDevices,
    private readonly signOuts: SignOutService,
    @Inject(SETTINGS) { databasePoolSize }: Settings,
  ) {
    this.limit = new ConcurrencyLimit(Math.ceil(databasePoolSize / 2)); // others need connections, too
  }

  /**
   * Ends the sessions of a program, in slices, for ten seconds at most.
   * @param cause absent: a person ends them
   * @returns how many have ended, and how many are left for another call
   */
  async end(
    kind: ProgramKind,
    origin: Origin,
    cause?: EndCause,
  ): Promise<{ readonly sessions: number; readonly remaining: number }> {
    const options = cause === undefined ? {} : { cause };
    const began = performance.now();
    let sessions = 0;
    for (;;) {
      const found = await this.devices.findLive(kind);
      if (found.length === 0) return { sessions, remaining: 0 };
      const ended = await Promise.all(
        found.map((one) => this.limit.run(() => this.signOuts.signOut('session', one, origin, options))),
      );
      sessions += ended.reduce((sum, count) => sum + count, 0);
      if (performance.now() - began > MOST_MS) {
        return { sessions, remaining: await this.devices.countLive(kind) };
      }
    }
  }
}
