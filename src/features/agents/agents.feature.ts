import type { Feature } from '../../extensions.js';
import { text } from '../../platform/config/settings/parsers.js';
import { settingRows, type SettingValues } from '../../platform/config/settings/setting-row.js';

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

export const agents: Feature = {
  name: 'agents',
  settings,
  auditNames: ['agent_allowed', 'agent_refused'],
  isOn: ({ agentsFile }) => agentsFile !== undefined,
  module: async () => ({ module: (await import('./agents.module.js')).AgentsModule }),
  check: async (all) => void (await import('./file/agents-file.js')).readAgentsFile(all),
  entities: () => import('./clients/used-assertion.entity.js'),
  migrations: () => import('./migrations/1795910400000-agents.js'),
};
