import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'Account con cui accedi',
  identityOwn: 'Account principale',
  identitySince: 'Collegato il {when}',
  identityConnect: 'Collega {provider}',
  identityDisconnect: 'Scollega',
  identityDisconnectNamed: 'Scollega: {provider}',
  disconnectQuestion: 'Scollegare {account}?',
  disconnectEffect:
    'Non potrai più accedere con questo account. La sessione viene chiusa sui dispositivi che l’hanno usato.',
  identityConnected: '{provider} è collegato.',
  identityDisconnected: '{provider} è scollegato.',
  mergeQuestion: 'Unire {other} a {own}?',
  mergeEffect:
    '{other} è qui un altro utente. Unendoli, diventerà parte di questo: la sessione viene chiusa sui suoi dispositivi e i suoi dati in questa applicazione potrebbero dover essere trasferiti. Non si può annullare.',
  merge: 'Unisci',
  identityMerged: '{other} fa ora parte di questo utente.',
  identityTaken: 'Questo account è collegato a un altro utente.',
  identityRefused: 'Non è consentito. Forse devi prima accedere con il tuo account principale.',
  identitiesFailed: 'Al momento non è possibile mostrare gli account.',
};

export default texts;
