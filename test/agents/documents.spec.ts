import { Agent, agentsFile, AGENTS_CONTENT, API } from './agent.js';
import { DocumentHost } from './document-host.js';
import { eventsOf } from '../support/audit.js';
import { SERVICE_KEY } from '../support/service.js';
import { claimsOf } from '../support/sign-in.js';
import { use, useService } from '../support/use.js';

describe('a program with a document', () => {
  const host = use(() => DocumentHost.start());
  const settings = (trust = ['127.0.0.1']) => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile({ ...AGENTS_CONTENT, trust }),
  });
  const { provider, service } = useService(() => settings());
  beforeAll(() => provider.signInAtOnce());
  beforeEach(() => {
    host.document = {};
    host.isDown = false;
  });
  const agent = (): Agent => new Agent(service.url, host.client);

  it('is announced in the metadata, if some are trusted', async () => {
    const read = async (url: string): Promise<unknown> =>
      (await fetch(`${url}/.well-known/oauth-authorization-server`)).json();
    expect(await read(service.url)).toMatchObject({ client_id_metadata_document_supported: true });
    const another = await service.another(settings([]));
    try {
      expect(await read(another.url)).not.toHaveProperty('client_id_metadata_document_supported');
    } finally {
      await another.close();
    }
  });

  it('asks with the name of its document and the host of its URL, and gets tokens', async () => {
    const program = agent();
    const page = await program.ask();
    expect(page.text).toContain('<bdi>A Program</bdi>');
    expect(page.text).toContain(new URL(host.clientId).host);
    const tokens = await program.allowed();
    expect(claimsOf(tokens.access_token)).toMatchObject({ aud: API, client_id: host.clientId });
    expect(host.paths).toEqual(['/program']);
  });

  it('goes on if the document changes or disappears, and cannot ask anew', async () => {
    const program = agent();
    const tokens = await program.allowed();
    host.document = { redirect_uris: ['https://elsewhere.example/'] };
    const changed = await service.another();
    try {
      await program.refresh(tokens, {}, changed.url).expect(200);
      expect((await new Agent(changed.url, host.client).authorize()).status).toBe(400);
    } finally {
      await changed.close();
    }
    host.isDown = true;
    const gone = await service.another();
    try {
      await program.refresh(tokens, {}, gone.url).expect(200);
      let answer!: Awaited<ReturnType<Agent['authorize']>>;
      const events = await eventsOf(service.databaseUrl, 1, async () => {
        answer = await new Agent(gone.url, host.client).authorize();
      });
      expect(events).toMatchObject([{ event: 'agent_refused', error: 'invalid_client' }]);
      expect([answer.status, answer.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
      expect(answer.headers['location']).toBeUndefined();
    } finally {
      await gone.close();
    }
  });

  it('ends with the trust in its host, which is not asked any more', async () => {
    const program = agent();
    const tokens = await program.allowed();
    const before = host.paths.length;
    const another = await service.another(settings(['other.example']));
    try {
      expect((await program.refresh(tokens, {}, another.url).expect(401)).body).toMatchObject({
        error: 'invalid_grant',
      });
      const page = await new Agent(another.url, host.client).authorize();
      expect([page.status, page.headers['location']]).toEqual([400, undefined]);
      expect(page.text).toContain('127.0.0.1');
    } finally {
      await another.close();
    }
    expect(host.paths).toHaveLength(before);
  });
});
