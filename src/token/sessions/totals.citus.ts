import { Injectable } from '@nestjs/common';
import { Totals, type Counted } from './totals.js';

/** Totals on Citus: each count is exact, since the planner estimates no rows of a distributed table. */
@Injectable()
export class CitusTotals extends Totals {
  protected override count(counted: Counted): Promise<number> {
    return this.countExactly(counted);
  }
}
