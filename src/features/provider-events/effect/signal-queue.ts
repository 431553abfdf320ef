import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { ConcurrencyLimit, DatabaseBusy, OneAtATime } from '../../../platform/database/limits.js';

/** Signals that wait at most; later ones are to be sent again. */
const MOST_WAITING = 1000;

/** Most connections are for requests of users, and no subject with many sessions makes others wait. */
@Injectable()
export class SignalQueue {
  private readonly bySubject = new OneAtATime('too many signals about one user');
  private readonly limit: ConcurrencyLimit;

  constructor(@Inject(SETTINGS) { databasePoolSize }: Settings) {
    this.limit = new ConcurrencyLimit(Math.ceil(databasePoolSize / 4));
  }

  /** @throws DatabaseBusy if too many wait */
  run<Result>(provider: string, subject: string, work: () => Promise<Result>): Promise<Result> {
    if (this.limit.waiting >= MOST_WAITING) throw new DatabaseBusy('too many signals');
    return this.bySubject.run(`${provider} ${subject}`, () => this.limit.run(work));
  }
}
