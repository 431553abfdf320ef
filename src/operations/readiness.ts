import { Injectable } from '@nestjs/common';
import { Sql } from '../database/sql.js';

const PING = { name: 'ping', text: 'SELECT 1' };

/** Whether a load balancer should send requests here. */
@Injectable()
export class Readiness {
  private stopping = false;

  constructor(private readonly sql: Sql) {}

  /** From now on not ready: the service is about to stop (contract §1). */
  stop(): void {
    this.stopping = true;
  }

  get isStopping(): boolean {
    return this.stopping;
  }

  async databaseIsUp(): Promise<boolean> {
    try {
      await this.sql.query(PING, []);
      return true;
    } catch {
      return false;
    }
  }
}
