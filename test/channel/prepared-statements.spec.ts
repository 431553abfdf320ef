import * as append from '../../src/channel/append.sql.js';
import * as state from '../../src/channel/channel-state.sql.js';
import * as signOut from '../../src/device/sign-out.sql.js';
import { FIND_STANDING } from '../../src/features/scim/effect/standing.sql.js';
import * as push from '../../src/realtime/push/push.sql.js';
import * as refresh from '../../src/token/refresh/refresh.sql.js';
import { connect, createDatabase } from '../support/database.js';
import { use } from '../support/use.js';

/** The whole texts of the files, each with the number of its parameters. */
const STATEMENTS = [
  ['append', append.APPEND, 6],
  ['push', push.PUSH.text, 9],
  ['targets of pushes', push.FIND_TARGETS.text, 3],
  ['refresh', refresh.REFRESH.text, 11],
  ['idle ends of sessions', refresh.MOVE_IDLE_ENDS.text, 3],
  ['idle end of a session', refresh.MOVE_IDLE_END.text, 3],
  ['state of a channel', state.FIND_STATE.text, 3],
  ['states of channels', state.FIND_STATES.text, 3],
  ['look before a sign-out', signOut.HAS_OPEN_SESSION.text, 4],
  ['look before several sign-outs', signOut.HAVE_OPEN_SESSIONS.text, 4],
  ['lock of a sign-out', signOut.LOCK_USER.text, 1],
  ['end of a session', signOut.END_SESSION.text, 3],
  ['end of sessions', signOut.END_SESSIONS.text, 5],
  ['end of sign-ins of all users', signOut.END_EVERY_SESSION[0], 0],
  ['end of all sessions', signOut.END_EVERY_SESSION[1], 0],
  ['end of sessions at the provider', signOut.END_SESSIONS_AT_PROVIDER.text, 5],
  ['end of sessions beyond the limit', signOut.END_EXCESS.text, 6],
  ['standing by externalId', FIND_STANDING.externalId.text, 3],
  ['standing by userName', FIND_STANDING.userName.text, 3],
  ['signed-out devices', signOut.FIND_SIGNED_OUT_DEVICES.text, 2],
  ['lock of a sign-out of several users', signOut.LOCK_USERS.text, 1],
  ['end of sessions of several users', signOut.END_EACH_SESSION.text, 3],
  ['signed-out devices of several users', signOut.FIND_EACH_SIGNED_OUT_DEVICE.text, 2],
] as const;

describe('on the migrated schema, PostgreSQL accepts the statement', () => {
  const database = use(() => createDatabase());
  const client = use(
    () => connect(database.url),
    (one) => one.end(),
  );
  afterEach(() => client.query('DEALLOCATE ALL'));

  it.each(STATEMENTS)('%s', async (_what, text, parameters) => {
    await client.query(`PREPARE one AS ${text}`);
    const { rows } = await client.query<{ count: number }>(
      'SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements',
    );
    expect(rows).toEqual([{ count: parameters }]);
  });
});
