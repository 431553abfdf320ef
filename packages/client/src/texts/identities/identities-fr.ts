import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'Comptes qui vous connectent',
  identityOwn: 'Compte principal',
  identitySince: 'Associé le {when}',
  identityConnect: 'Associer {provider}',
  identityDisconnect: 'Dissocier',
  identityDisconnectNamed: 'Dissocier : {provider}',
  disconnectQuestion: 'Dissocier {account} ?',
  disconnectEffect:
    'Ce compte ne pourra plus vous connecter. Les appareils connectés avec lui seront déconnectés.',
  identityConnected: '{provider} est associé.',
  identityDisconnected: '{provider} est dissocié.',
  mergeQuestion: 'Fusionner {other} avec {own} ?',
  mergeEffect:
    '{other} est ici un autre utilisateur. En fusionnant, il fera partie de celui-ci : ses appareils seront déconnectés, et ses données dans cette application devront peut-être être transférées. C’est irréversible.',
  merge: 'Fusionner',
  identityMerged: '{other} fait maintenant partie de cet utilisateur.',
  identityTaken: 'Ce compte est associé à un autre utilisateur.',
  identityRefused:
    'Ce n’est pas autorisé. Vous devez peut-être d’abord vous connecter avec votre compte principal.',
  identitiesFailed: 'Les comptes ne peuvent pas être affichés pour le moment.',
};

export default texts;
