import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: '用于登录的帐户',
  identityOwn: '主帐户',
  identitySince: '关联于 {when}',
  identityConnect: '关联 {provider}',
  identityDisconnect: '取消关联',
  identityDisconnectNamed: '取消关联 {provider}',
  disconnectQuestion: '取消关联 {account}？',
  disconnectEffect: '之后将无法再用此帐户登录。用此帐户登录的设备会退出登录。',
  identityConnected: '已关联 {provider}。',
  identityDisconnected: '已取消关联 {provider}。',
  mergeQuestion: '要将 {other} 合并到 {own} 吗？',
  mergeEffect:
    '{other} 在这里是另一个用户。合并后，该用户将成为此用户的一部分：其设备会退出登录，其在此应用中的数据可能需要迁移。此操作无法撤消。',
  merge: '合并',
  identityMerged: '{other} 现已成为此用户的一部分。',
  identityTaken: '此帐户已关联到另一个用户。',
  identityRefused: '不允许此操作。您可能需要先用主帐户登录。',
  identitiesFailed: '暂时无法显示帐户。',
};

export default texts;
