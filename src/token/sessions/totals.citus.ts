import { Injectable } from '@nestjs/common';
import { Totals, type Counted } from './totals.js';

/** Totals on Citus, whose planner estimates no rows of a distributed table: each count is exact. */
@Injectable()
export class CitusTotals extends Totals {
  protected override count(counted: Counted): Promise<number> {
    return this.countExactly(counted);
  }
}
