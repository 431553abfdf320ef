import type { CheckReport } from '../../../platform/check-report.js';
import { findCall } from '../../../provider/transport/provider-answer.js';
import { SEVERAL_OF_MINE, SEVERAL_OTHERS } from './advice.js';
import { StepFailed, type Steps } from './steps.js';
import { isCurrent, readStreams, toConfiguration, type Stream, type Wanted } from './stream.js';
import type { TransmitterCalls } from './transmitter-calls.js';

/**
 * Creates or updates the stream; there is never a second one.
 * @param url the configuration endpoint
 */
export async function connectStream(
  calls: TransmitterCalls,
  url: string,
  wanted: Wanted,
  steps: Steps,
  report: CheckReport,
): Promise<Stream> {
  const streams = await steps.run('stream', () => listStreams(calls, url));
  const mine = streams.filter(({ endpoint }) => endpoint === wanted.endpoint);
  if (mine.length > 1) report.add('warning', 'stream', `${mine.length} ${SEVERAL_OF_MINE}`);
  if (mine.length === 0 && streams.length > 1) {
    const ids = steps.list(streams.map(({ id, endpoint }) => `${id} (${endpoint})`));
    throw new StepFailed('stream', `${SEVERAL_OTHERS}: ${ids}`);
  }
  const found = mine[0] ?? streams[0];
  if (found && isCurrent(found, wanted)) {
    report.add('ok', 'stream', `${steps.shown(found.id)} is up to date`);
    return found;
  }
  const written = await steps.run('stream', () => writeStream(calls, url, wanted, found));
  const moved = found && found.endpoint !== wanted.endpoint;
  const before = moved ? `, which pushed to ${steps.shown(found.endpoint ?? 'no address')}` : '';
  report.add('ok', 'stream', `${found ? 'updated' : 'created'} ${steps.shown(written.id)}${before}`);
  return written;
}

async function listStreams(calls: TransmitterCalls, url: string): Promise<readonly Stream[]> {
  try {
    return readStreams(await calls.send('GET', url));
  } catch (error) {
    if (findCall(error)?.status === 404) return [];
    throw error;
  }
}

async function writeStream(calls: TransmitterCalls, url: string, wanted: Wanted, found: Stream | undefined) {
  const configuration = toConfiguration(wanted);
  const send = async (method: 'POST' | 'PATCH' | 'PUT', body: object): Promise<Stream> =>
    readStreams(await calls.send(method, url, body))[0]!;
  if (!found) return send('POST', { ...configuration, description: 'Latchkey' });
  const body = { stream_id: found.id, ...configuration };
  return send('PATCH', body).catch((error: unknown) => {
    // some transmitters know PUT only
    if ([404, 405, 501].includes(findCall(error)?.status ?? 0)) return send('PUT', body);
    throw error;
  });
}
