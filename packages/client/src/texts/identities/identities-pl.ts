import type { IdentityTexts } from './identities-texts.js';

const texts: IdentityTexts = {
  identities: 'Konta, którymi się logujesz',
  identityOwn: 'Konto główne',
  identitySince: 'Połączono: {when}',
  identityConnect: 'Połącz: {provider}',
  identityDisconnect: 'Odłącz',
  identityDisconnectNamed: 'Odłącz: {provider}',
  disconnectQuestion: 'Odłączyć {account}?',
  disconnectEffect:
    'Nie będzie można logować się tym kontem. Urządzenia zalogowane za jego pomocą zostaną wylogowane.',
  identityConnected: 'Połączono konto: {provider}.',
  identityDisconnected: 'Odłączono konto: {provider}.',
  mergeQuestion: 'Scalić {other} z {own}?',
  mergeEffect:
    '{other} to tutaj inny użytkownik. Po scaleniu stanie się częścią tego: jego urządzenia zostaną wylogowane, a jego dane w tej aplikacji być może trzeba będzie przenieść. Tego nie można cofnąć.',
  merge: 'Scal',
  identityMerged: '{other} należy teraz do tego użytkownika.',
  identityTaken: 'To konto jest połączone z innym użytkownikiem.',
  identityRefused: 'To nie jest dozwolone. Być może trzeba najpierw zalogować się kontem głównym.',
  identitiesFailed: 'W tej chwili nie można wyświetlić kont.',
};

export default texts;
