export const MEDIA_TYPE = 'application/scim+json';
export const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';
export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';

/** Resources that one page has at most. */
export const MOST_RESULTS = 1000;

type Type = 'string' | 'boolean' | 'reference' | 'complex';

/** Attribute (RFC 7643 §7); what is left out has the usual value. */
interface Attribute {
  readonly type?: Type;
  readonly isMany?: true;
  readonly isRequired?: true;
  readonly isExact?: true;
  readonly isUnique?: true;
  readonly mutability?: 'immutable' | 'readOnly';
  readonly description: string;
  readonly referenceTypes?: readonly string[];
  readonly sub?: Readonly<Record<string, Attribute>>;
}

/** An entry of a list of values. */
const ENTRY = {
  value: { description: 'The value.' },
  display: { description: 'A name for people.' },
  type: { description: 'What it is for, as work or home.' },
  primary: { type: 'boolean', description: 'Whether it is the first one.' },
} as const satisfies Record<string, Attribute>;

/** What is kept of a user; other attributes are accepted and ignored. */
export const USER_ATTRIBUTES = {
  userName: { isRequired: true, isUnique: true, description: 'Name of the user, unique without case.' },
  externalId: { isExact: true, description: 'Id of the user in the directory.' },
  displayName: { description: 'Name for people.' },
  name: {
    type: 'complex',
    description: 'Parts of the name.',
    sub: {
      formatted: { description: 'The whole name.' },
      familyName: { description: 'Family name.' },
      givenName: { description: 'Given name.' },
    },
  },
  active: { type: 'boolean', isRequired: true, description: 'Whether the user may sign in.' },
  emails: { type: 'complex', isMany: true, description: 'E-mail addresses.', sub: ENTRY },
  roles: { type: 'complex', isMany: true, description: 'Roles: the claim `roles`.', sub: ENTRY },
} as const satisfies Record<string, Attribute>;

export const GROUP_ATTRIBUTES = {
  displayName: { isRequired: true, description: 'Name of the group: a value of the claim `groups`.' },
  externalId: { isExact: true, description: 'Id of the group in the directory.' },
  members: {
    type: 'complex',
    isMany: true,
    description: 'Users of the group.',
    sub: {
      value: { isExact: true, mutability: 'immutable', description: 'Id of the user.' },
      $ref: {
        type: 'reference',
        mutability: 'immutable',
        referenceTypes: ['User'],
        description: 'Address of the user.',
      },
    },
  },
} as const satisfies Record<string, Attribute>;

/** Returns the document of an attribute; `id`, `externalId` and `meta` are those of every resource. */
function documentOf([name, attribute]: [string, Attribute]): object {
  const { type = 'string', isMany, isRequired, isExact, isUnique, mutability, description } = attribute;
  const isText = type === 'string' || type === 'reference';
  return {
    name,
    type,
    multiValued: isMany ?? false,
    description,
    required: isRequired ?? false,
    ...(isText && { caseExact: isExact ?? type === 'reference' }),
    mutability: mutability ?? 'readWrite',
    returned: 'default',
    ...(isText && { uniqueness: isUnique ? 'server' : 'none' }),
    ...(attribute.referenceTypes && { referenceTypes: attribute.referenceTypes }),
    ...(attribute.sub && { subAttributes: Object.entries(attribute.sub).map(documentOf) }),
  };
}

function schema(base: string, id: string, name: string, attributes: Readonly<Record<string, Attribute>>) {
  const own = Object.entries(attributes).filter(([key]) => key !== 'externalId');
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id,
    name,
    description: `What is kept of a ${name.toLowerCase()}.`,
    attributes: own.map(documentOf),
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  };
}

/** @param base address of the directory's interface, without a trailing slash */
export function schemasOf(base: string) {
  return [
    schema(base, USER_SCHEMA, 'User', USER_ATTRIBUTES),
    schema(base, GROUP_SCHEMA, 'Group', GROUP_ATTRIBUTES),
  ];
}

export function resourceTypesOf(base: string) {
  return [
    { name: 'User', endpoint: '/Users', schema: USER_SCHEMA },
    { name: 'Group', endpoint: '/Groups', schema: GROUP_SCHEMA },
  ].map(({ name, ...type }) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: name,
    name,
    description: `The ${name.toLowerCase()}s of the directory.`,
    ...type,
    schemaExtensions: [],
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }));
}

export function serviceProviderConfigOf(base: string) {
  const unsupported = { supported: false };
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { ...unsupported, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MOST_RESULTS },
    changePassword: unsupported,
    sort: unsupported,
    etag: unsupported,
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'The setting scim_token of the provider.',
        specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}
