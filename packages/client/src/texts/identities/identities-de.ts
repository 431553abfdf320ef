import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'Konten, mit denen Sie sich anmelden',
  identityOwn: 'Hauptkonto',
  identitySince: 'Verbunden am {when}',
  identityConnect: '{provider} verbinden',
  identityDisconnect: 'Trennen',
  identityDisconnectNamed: 'Trennen: {provider}',
  disconnectQuestion: '{account} trennen?',
  disconnectEffect:
    'Dieses Konto kann Sie dann nicht mehr anmelden. Geräte, die damit angemeldet sind, werden abgemeldet.',
  identityConnected: '{provider} ist verbunden.',
  identityDisconnected: '{provider} ist getrennt.',
  mergeQuestion: '{other} mit {own} zusammenführen?',
  mergeEffect:
    '{other} ist hier ein anderer Benutzer. Beim Zusammenführen wird er Teil von diesem: Seine Geräte werden abgemeldet, und seine Daten in dieser Anwendung müssen vielleicht übertragen werden. Das lässt sich nicht rückgängig machen.',
  merge: 'Zusammenführen',
  identityMerged: '{other} gehört jetzt zu diesem Benutzer.',
  identityTaken: 'Dieses Konto ist mit einem anderen Benutzer verbunden.',
  identityRefused: 'Das ist nicht erlaubt. Vielleicht müssen Sie sich zuerst mit Ihrem Hauptkonto anmelden.',
  identitiesFailed: 'Die Konten lassen sich gerade nicht anzeigen.',
};

export default texts;
