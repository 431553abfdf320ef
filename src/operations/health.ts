/** Answer of GET /health/live. */
export class Liveness {
  status!: 'ok';
}

/** Answer of GET /health/ready. */
export class Health {
  status!: 'ok' | 'stopping' | 'unavailable';

  database!: 'up' | 'down';

  /** Only with REDIS_URL. Without it the service goes on, so it does not count for the status (contract §4). */
  redis?: 'up' | 'down';
}
