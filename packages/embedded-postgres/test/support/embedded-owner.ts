import { startEmbeddedPostgres } from '../../src/embedded-postgres.js';

// A process that owns an embedded PostgreSQL, as the service does. It reports to its parent, and stops at a message.
const [dataDir] = process.argv.slice(2);

try {
  const database = await startEmbeddedPostgres({
    dataDir: dataDir!,
    log: (line) => process.send?.({ log: line }),
  });
  process.send?.({ url: database.url });
  process.once('message', () => void database.stop().then(() => process.disconnect()));
} catch (error) {
  process.send?.({ error: String(error) }, () => process.disconnect());
}
