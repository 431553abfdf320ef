import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'Accounts waarmee je inlogt',
  identityOwn: 'Hoofdaccount',
  identitySince: 'Gekoppeld op {when}',
  identityConnect: '{provider} koppelen',
  identityDisconnect: 'Ontkoppelen',
  identityDisconnectNamed: 'Ontkoppelen: {provider}',
  disconnectQuestion: '{account} ontkoppelen?',
  disconnectEffect: 'Je kunt er niet meer mee inloggen. Apparaten die ermee zijn ingelogd, worden uitgelogd.',
  identityConnected: '{provider} is gekoppeld.',
  identityDisconnected: '{provider} is ontkoppeld.',
  mergeQuestion: '{other} samenvoegen met {own}?',
  mergeEffect:
    '{other} is hier een andere gebruiker. Na het samenvoegen hoort die bij deze: de apparaten ervan worden uitgelogd, en de gegevens ervan in deze toepassing moeten misschien worden overgezet. Dit kan niet ongedaan worden gemaakt.',
  merge: 'Samenvoegen',
  identityMerged: '{other} hoort nu bij deze gebruiker.',
  identityTaken: 'Dit account is aan een andere gebruiker gekoppeld.',
  identityRefused: 'Dat is niet toegestaan. Misschien moet je eerst met je hoofdaccount inloggen.',
  identitiesFailed: 'De accounts kunnen op dit moment niet worden getoond.',
};

export default texts;
