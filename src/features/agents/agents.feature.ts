import type { Feature } from '../../extensions.js';
import { text } from '../../platform/config/settings/parsers.js';
import { settingRows, type SettingValues } from '../../platform/config/settings/setting-row.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import type { AgentsFile } from './file/agents-file.js';
import { idJagIssuers, providerKeys } from './id-jag/id-jag.settings.js';

const settings = settingRows({
  agentsFile: {
    section: 'Programs of third parties',
    parser: text,
    doc: 'JSON file of the APIs that programs of third parties may use for a user, such as MCP clients, and of the programs that are trusted (docs/agents.md). Unset: none may.',
  },
});

declare module '../../platform/config/settings/settings.js' {
  interface Settings extends SettingValues<typeof settings> {}
}

declare module '../../audit/audit-names.js' {
  interface AuditNames extends Record<'agent_allowed' | 'agent_refused', true> {}
}

/** Returns the redirect URI of the sign-in before the question. */
export function agentCallback({ publicUrl }: Pick<Settings, 'publicUrl'>): string {
  return `${publicUrl}/agents/callback`;
}

function warningsOf({ trust }: AgentsFile): readonly string[] {
  if (!trust.isOfAll) return [];
  return ['AGENTS_FILE: trust has *, so programs of any host may ask your users. Name hosts instead.'];
}

export const agents: Feature = {
  name: 'agents',
  settings,
  providerKeys,
  ofProvider: (source) => (source.read(providerKeys, 'id_jag') ? { idJag: true } : {}),
  auditNames: ['agent_allowed', 'agent_refused'],
  // `id_jag` without the file stops the start.
  isOn: ({ agentsFile, providers }) =>
    agentsFile !== undefined || [...providers.values()].some(({ idJag }) => idJag),
  module: async (all) => (await import('./agents.module.js')).AgentsModule.forRoot(all),
  documented: { AGENTS_FILE: 'agents.json', PROVIDERS_NAME_ID_JAG: 'on' },
  check: async (all) => {
    idJagIssuers(all);
    return warningsOf((await import('./file/agents-file.js')).readAgentsFile(all));
  },
  redirectUris: (all) =>
    all.agentsFile === undefined ? [] : [{ uri: agentCallback(all), isRegistered: false }],
  entities: async () => ({
    ...(await import('./clients/used-assertion.entity.js')),
    ...(await import('./authorize/agent-request.entity.js')),
    ...(await import('./devices/agent-device.entity.js')),
  }),
  migrations: () => import('./migrations/1795910400000-agents.js'),
};
