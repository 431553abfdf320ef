import { createHash, randomUUID } from 'node:crypto';
import express, { type Express, type Request } from 'express';
import type { Server } from 'node:http';
import { Pool, type PoolClient } from 'pg';
import { decodeJwt, jwtVerify, SignJWT } from 'jose';

const SECRET = new TextEncoder().encode('a secret for access tokens of the stand-in');

/** Its client at the provider. */
interface Client {
  readonly issuer: string;
  readonly id: string;
  readonly secret: string;
}

/**
 * Answers `supabase-js` as Supabase does, as far as the application of `supabase/` asks: sign-in with Google (implicit flow), the user,
 * and the table `notes` by PostgREST, with row-level security in a real PostgreSQL. Supabase Auth itself cannot be installed from a
 * registry.
 */
export class SupabaseStandIn {
  private readonly states = new Map<string, { readonly to: string; readonly verifier: string }>();
  private readonly server: Server;
  private readonly pool: Pool;

  constructor(
    databaseUrl: string,
    private readonly port: number,
    private readonly client: Client,
  ) {
    this.pool = new Pool({ connectionString: databaseUrl });
    this.server = this.routes().listen(port);
  }

  get url(): string {
    return `http://localhost:${this.port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await this.pool.end();
  }

  private routes(): Express {
    const app = express();
    app.use((request, response, next) => {
      response.set({
        'Access-Control-Allow-Origin': '*',
        'Access-Control-Allow-Headers': request.get('Access-Control-Request-Headers') ?? '*',
        'Access-Control-Allow-Methods': 'GET, POST',
      });
      if (request.method === 'OPTIONS') response.status(204).end();
      else next();
    });
    app.get('/auth/v1/authorize', (request, response) => {
      const [state, verifier] = [randomUUID(), randomUUID() + randomUUID()];
      this.states.set(state, { to: request.query['redirect_to'] as string, verifier });
      const { issuer, id } = this.client;
      const query = new URLSearchParams({
        client_id: id,
        response_type: 'code',
        scope: 'openid email profile',
        redirect_uri: `${this.url}/auth/v1/callback`,
        state,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      });
      response.redirect(`${issuer}/auth?${query.toString()}`);
    });
    app.get('/auth/v1/callback', async (request, response) => {
      const { to, verifier } = this.states.get(request.query['state'] as string)!;
      const id = await this.signIn(request.query['code'] as string, verifier);
      const tokens = { access_token: await this.accessToken(id), refresh_token: randomUUID() };
      const hash = new URLSearchParams({ ...tokens, expires_in: '3600', token_type: 'bearer' });
      response.redirect(`${to}#${hash.toString()}`);
    });
    app.get('/auth/v1/user', async (request, response) => {
      const { sub } = await claimsOf(request);
      response.json(await this.user(sub!));
    });
    app.post('/auth/v1/logout', (_, response) => void response.status(204).end());
    app.get('/rest/v1/notes', async (request, response) => {
      const { rows } = await this.asUser(request, (db) => db.query('SELECT text FROM notes ORDER BY id'));
      response.json(rows);
    });
    app.post('/rest/v1/notes', express.json(), async (request, response) => {
      const { text } = request.body as { text: string };
      await this.asUser(request, (db) => db.query('INSERT INTO notes (text) VALUES ($1)', [text]));
      response.status(201).end();
    });
    return app;
  }

  /** @returns the id of the user, who is created at the first sign-in */
  private async signIn(code: string, verifier: string): Promise<string> {
    const { issuer, id, secret } = this.client;
    const answer = await fetch(`${issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: id,
        client_secret: secret,
        redirect_uri: `${this.url}/auth/v1/callback`,
        code,
        code_verifier: verifier,
      }),
    });
    const { id_token: token } = (await answer.json()) as { id_token: string };
    const { sub, email, preferred_username: name } = decodeJwt(token);
    const found = await this.pool.query<{ user_id: string }>(
      "SELECT user_id FROM auth.identities WHERE provider = 'google' AND provider_id = $1",
      [sub],
    );
    if (found.rows[0]) return found.rows[0].user_id;
    const made = await this.pool.query<{ user_id: string }>(
      `WITH made AS (INSERT INTO auth.users (email, raw_user_meta_data) VALUES ($2, $3) RETURNING id)
       INSERT INTO auth.identities (provider, provider_id, user_id, identity_data)
       SELECT 'google', $1, id, $3 FROM made RETURNING user_id`,
      [sub, email, { sub, name }],
    );
    return made.rows[0]!.user_id;
  }

  private async user(id: string): Promise<Record<string, unknown>> {
    const { rows } = await this.pool.query(
      `SELECT id, email, raw_app_meta_data AS app_metadata, raw_user_meta_data AS user_metadata
       FROM auth.users WHERE id = $1`,
      [id],
    );
    return { ...rows[0], aud: 'authenticated', role: 'authenticated' };
  }

  private async accessToken(id: string): Promise<string> {
    const { app_metadata } = await this.user(id);
    return new SignJWT({ role: 'authenticated', app_metadata })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setSubject(id)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(SECRET);
  }

  /** As PostgREST does it. */
  private async asUser<T>(request: Request, work: (db: PoolClient) => Promise<T>): Promise<T> {
    const claims = await claimsOf(request);
    const db = await this.pool.connect();
    try {
      await db.query('BEGIN');
      await db.query("SELECT set_config('request.jwt.claims', $1, true)", [JSON.stringify(claims)]);
      await db.query('SET LOCAL ROLE authenticated');
      return await work(db);
    } finally {
      await db.query('COMMIT');
      db.release();
    }
  }
}

const claimsOf = async (request: Request): Promise<{ sub?: string }> =>
  (await jwtVerify(request.get('Authorization')!.replace('Bearer ', ''), SECRET)).payload;
