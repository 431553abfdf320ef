import PostgresAdapter from '@auth/pg-adapter';
import { database } from './database.js';

export const auth = {
  adapter: PostgresAdapter(database),
  trustHost: true,
  providers: [
    {
      id: 'corp',
      name: 'Corp',
      type: 'oidc',
      issuer: process.env.CORP_URL,
      clientId: process.env.CORP_ID,
      clientSecret: process.env.CORP_SECRET,
      client: {
        id_token_signed_response_alg: 'ES256',
        token_endpoint_auth_method: 'client_secret_post',
      },
    },
  ],
  callbacks: {
    session: ({ session, user: { id, name, role } }) => ({ ...session, user: { id, name, role } }),
  },
};
