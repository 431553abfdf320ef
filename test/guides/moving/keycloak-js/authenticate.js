import { createRemoteJWKSet, jwtVerify } from 'jose';

const issuer = `${process.env.KEYCLOAK_URL}/realms/latchkey`;
const keys = createRemoteJWKSet(new URL(`${issuer}/protocol/openid-connect/certs`));

/** Sets `req.user`. */
export async function authenticate(req, res, next) {
  const [, token = ''] = (req.headers.authorization ?? '').split(' ');
  const verified = await jwtVerify(token, keys, { issuer }).catch(() => undefined);
  if (!verified) return res.sendStatus(401);
  const { sub, realm_access: access } = verified.payload;
  req.user = { id: sub, roles: access?.roles ?? [] };
  next();
}
