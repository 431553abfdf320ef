import type { IdentityTexts } from './account-texts.js';

const texts: IdentityTexts = {
  identities: 'Accounts that sign you in',
  identityOwn: 'Main account',
  identitySince: 'Connected on {when}',
  identityConnect: 'Connect {provider}',
  identityDisconnect: 'Disconnect',
  identityDisconnectNamed: 'Disconnect {provider}',
  disconnectQuestion: 'Disconnect {account}?',
  disconnectEffect: 'It cannot sign you in any more. Devices that it has signed in are signed out.',
  identityConnected: '{provider} is connected.',
  identityDisconnected: '{provider} is disconnected.',
  mergeQuestion: 'Merge {other} into {own}?',
  mergeEffect:
    '{other} signs in here as another user. If you merge, that user becomes part of this one: its devices are signed out, and its data in this application may have to be moved. This cannot be undone.',
  merge: 'Merge',
  identityMerged: '{other} is now part of this user.',
  identityTaken: 'This account is connected to another user.',
  identityRefused: 'This is not allowed. Perhaps you have to sign in with your main account first.',
  identitiesFailed: 'The accounts cannot be shown at the moment.',
};

export default texts;
