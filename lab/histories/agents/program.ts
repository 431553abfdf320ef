import { hash } from 'node:crypto';
import { programDeviceId } from '../../../src/platform/http/parameters/uuid.js';
import { AGENTS, AGENTS_CONTENT, agentsFile, API } from '../../../test/support/agent.js';

/** Program of all users who have allowed one, and the only API that it may use. */
export const PROGRAM = AGENTS.web;

/** Its device, with each user. */
export const PROGRAM_DEVICE = programDeviceId(
  hash('sha256', JSON.stringify([PROGRAM.client_id, API, '']), 'buffer'),
);

/** @returns settings of a service that knows the program; its tokens carry all claims */
export function programEnv(): Record<string, string> {
  const [orders] = AGENTS_CONTENT.resources;
  const resources = [{ ...orders, claims: ['roles', 'n', 'plan', 'seats'] }];
  return { AGENTS_FILE: agentsFile({ ...AGENTS_CONTENT, resources }) };
}
