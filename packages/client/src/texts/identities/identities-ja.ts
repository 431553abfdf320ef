import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'サインインに使うアカウント',
  identityOwn: 'メインのアカウント',
  identitySince: '{when} に連携',
  identityConnect: '{provider} と連携',
  identityDisconnect: '連携を解除',
  identityDisconnectNamed: '{provider} との連携を解除',
  disconnectQuestion: '{account} との連携を解除しますか？',
  disconnectEffect:
    'このアカウントではサインインできなくなります。このアカウントでサインインしたデバイスはサインアウトされます。',
  identityConnected: '{provider} と連携しました。',
  identityDisconnected: '{provider} との連携を解除しました。',
  mergeQuestion: '{other} を {own} に統合しますか？',
  mergeEffect:
    '{other} は、ここでは別のユーザーです。統合すると、このユーザーの一部になります。そのユーザーのデバイスはサインアウトされ、このアプリケーション内のデータは移動が必要になることがあります。この操作は元に戻せません。',
  merge: '統合',
  identityMerged: '{other} はこのユーザーの一部になりました。',
  identityTaken: 'このアカウントは別のユーザーと連携しています。',
  identityRefused: '許可されていません。先にメインのアカウントでサインインする必要があるかもしれません。',
  identitiesFailed: '現在、アカウントを表示できません。',
};

export default texts;
