import request, { type Test } from 'supertest';

const TOKEN = 'a-token-of-the-directory-with-enough-characters';

/** Settings that give the provider `stub` a directory. */
export const DIRECTORY_ENV = { PROVIDERS_STUB_SCIM_TOKEN: TOKEN };

/** Calls of a directory, as its provisioning service makes them. */
export class DirectoryClient {
  constructor(
    private readonly service: { readonly url: string },
    private readonly provider = 'stub',
    private readonly token = TOKEN,
  ) {}

  /** @param path below the base address, with its query */
  send(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Test {
    const key = method.toLowerCase() as 'get';
    const agent = request(this.service.url);
    const call = agent[key](`/scim/v2/${this.provider}${path}`);
    void call.set('Authorization', `Bearer ${this.token}`);
    if (body === undefined) return call;
    return call.set('Content-Type', 'application/scim+json').send(JSON.stringify(body));
  }

  /** Creates a resource. @returns its id */
  async create(path: '/Users' | '/Groups', body: object): Promise<string> {
    const { body: created } = await this.send('POST', path, body).expect(201);
    return (created as { id: string }).id;
  }

  /** @param operations as in the body of a PATCH */
  patch(path: string, ...operations: object[]): Test {
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];
    return this.send('PATCH', path, { schemas, Operations: operations });
  }
}
