/** What an adapter's author imports, as `latchkey/adapter`: types alone, and none of another package (test/install/service-package.spec.ts). */
export type { ProviderSettings } from '../config/settings/settings.js';
export type {
  AdapterMemory,
  AuthorizationRequest,
  AuthorizationUrl,
  ExchangeRequest,
  ProviderAdapter,
  ProviderIdentity,
} from './provider-adapter.js';
