import { Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import type { EndCause } from '../../../platform/events.js';
import { AgentDevices, type ProgramKind } from './agent-device.store.js';

/** Ends a program for all users. */
@Injectable()
export class ProgramEnds {
  constructor(
    private readonly devices: AgentDevices,
    private readonly signOuts: SignOutService,
  ) {}

  /**
   * Ends all live sessions of a kind, page by page; it may be repeated after a failure.
   * @param cause absent: a person ends them
   * @returns number of sessions that this call has ended
   */
  async endAll(kind: ProgramKind, origin: Origin, cause?: EndCause): Promise<number> {
    let ended = 0;
    for (let found = await this.devices.findLive(kind); found.length > 0;) {
      ended += await this.signOuts.endEach(found, origin, cause);
      found = await this.devices.findLive(kind);
    }
    return ended;
  }
}
